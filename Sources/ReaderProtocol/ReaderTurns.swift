import KioskPlatform

/// Which messages a reader may send now. The player tells it of each order that it sends, and shows it each message that comes.
package struct ReaderTurns: Sendable {
    /// What waits for its answer.
    private enum Question: Sendable { case opening(OpenOrder.Role), seeking, catchingUp, selecting, previewing }

    private var question: (serial: UInt32, what: Question)?
    private var isReady = false, isDescribed = false
    /// Requests without an answer.
    private var requests: Set<UInt32> = []

    static let mostRequests = 4

    package init() {}

    /// Whether every order has been answered.
    package var isAnswered: Bool { question == nil }

    /// An order is sent.
    package mutating func sent(_ order: ReaderOrder, serial: UInt32) {
        switch order {
        case .open(let order): question = (serial, .opening(order.role))
        case .seek: question = (serial, .seeking)
        case .catchUp: question = (serial, .catchingUp)
        case .select: question = (serial, .selecting)
        case .preview: question = (serial, .previewing)
        case .grant(let request), .refuse(let request, _): requests.remove(request)
        case .listen, .close, .cancel: break
        }
    }

    /// Whether a message may come now; it has been taken then.
    package mutating func take(_ message: ReaderMessage, serial: UInt32) throws(ReaderLie) {
        guard mayCome(message, serial) else { throw .turn(message.name) }
        switch message {
        case .ready: isReady = true
        case .described: isDescribed = true
        case .landed, .failed, .result: question = nil
        case .request(let number, _): requests.insert(number)
        default: break
        }
    }

    private func mayCome(_ message: ReaderMessage, _ serial: UInt32) -> Bool {
        if case .ready = message { return !isReady }
        if case .log = message { return true }
        guard isReady else { return false }
        switch (message, question?.serial == serial ? question?.what : nil) {
        case (.problem, _), (.ended, _), (.damage, _), (.note, _): return true
        case (.request(let number, _), _): return requests.count < Self.mostRequests && !requests.contains(number)
        case (.failed, .some): return true
        case (.described, .opening(.play)): return !isDescribed
        case (.landed(let landing), .opening(.play)): return isDescribed && landing.time != nil
        case (.landed(let landing), .seeking): return landing.time != nil
        case (.landed, .catchingUp), (.selected, .selecting): return true
        case (.landed(let landing), .selecting): return landing.selection != nil
        case (.result(.previews), .opening(.previews)), (.result(.preview), .previewing), (.result(.thumbnail), .opening(.thumbnail)),
            (.result(.cover), .opening(.cover)), (.result(.noCover), .opening(.cover)), (.result(.list), .opening(.list)),
            (.result(.file), .opening(.file)), (.result(.noFile), .opening(.file)), (.result(.missing), .opening(.inventory)):
            return true
        default: return false
        }
    }
}

extension ReaderMessage {
    /// What it is called in a line about it.
    fileprivate var name: String {
        switch self {
        case .ready: "that it is ready"
        case .described: "a description"
        case .selected: "tracks"
        case .failed: "a failure"
        case .landed: "a landing"
        case .problem, .ended, .damage: "a problem"
        case .note: "a note"
        case .log: "a line of its log"
        case .request: "a request"
        case .result: "a result"
        }
    }
}

/// How often something may happen: so many times a second, and some more at once. What is over that is slowed, or left out and counted.
package struct Allowance: Sendable {
    private let interval: MediaTime
    private let burst: Int
    /// When all of the burst is there again.
    private var isFullAt = HostTime(nanoseconds: 0)
    /// How often there was none.
    package private(set) var excess = 0

    package init(aSecond rate: Int, burst: Int) {
        (interval, self.burst) = (MediaTime(nanoseconds: 1_000_000_000 / Int64(max(rate, 1))), max(burst, 1))
    }

    /// Whether it may happen at `now`; it has then.
    package mutating func take(at now: HostTime) -> Bool {
        guard now >= next else {
            excess += 1
            return false
        }
        isFullAt = max(isFullAt, now) + interval
        return true
    }

    /// When it may happen next.
    package var next: HostTime { isFullAt - interval * Int64(burst - 1) }
}
