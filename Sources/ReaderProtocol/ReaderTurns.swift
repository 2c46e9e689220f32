import KioskMedia
import KioskPlatform

/// The rules for the messages that a reader may send. The player reports each order that it sends, and passes each message that comes.
package struct ReaderTurns: Sendable {
    /// The order that waits for its answer.
    private enum Question: Sendable { case opening(OpenOrder.Role), seeking, catchingUp, selecting, subtitles, previewing }

    private var question: (serial: UInt32, what: Question)?
    private var isReady = false, isDescribed = false
    /// The requests without an answer.
    private var requests: Set<UInt32> = []
    /// Whether the opening order lets the reader ask for a device of the player, or for a reader with libavfilter or libass.
    private var mayLeave = (toDevice: false, toDeinterlacer: false, toText: false)
    /// Whether it may draw subtitles, and request fonts.
    private var maySubtitle = false
    /// Whether it may request addresses of hosts.
    private var mayAskForNames = false
    /// Whether its pictures may lie in surfaces, and whether it makes a film.
    private var mayHaveSurfaces = false, mayMakeFilm = false
    /// Whether it may request memory of a display.
    private var mayUsePlanes = false

    static let mostRequests = 4

    package init() {}

    /// Whether every order has been answered.
    package var isAnswered: Bool { question == nil }

    /// Records an order.
    package mutating func sent(_ order: ReaderOrder, serial: UInt32) {
        switch order {
        case .open(let order):
            question = (serial, .opening(order.role))
            (mayAskForNames, mayHaveSurfaces) = (order.needsNetwork, order.usesDevices && order.role == .play)
            (mayMakeFilm, mayUsePlanes) = (order.role.isFilm, order.role == .play)
            maySubtitle = order.subtitles != nil && order.role == .play
            mayLeave = (
                order.decoder.elsewhere?.isEmpty == false, !order.needsFilters && order.deinterlacing != .off,
                maySubtitle && order.subtitles?.hasText == false
            )
        case .seek: question = (serial, .seeking)
        case .catchUp: question = (serial, .catchingUp)
        case .select: question = (serial, .selecting)
        case .subtitles: question = (serial, .subtitles)
        case .preview: question = (serial, .previewing)
        case .grant(let request), .refuse(let request, _): requests.remove(request)
        case .close, .cancel, .addresses, .planes, .lend, .film: break
        }
    }

    /// Accepts a message, or throws if it may not come now.
    package mutating func take(_ message: ReaderMessage, serial: UInt32) throws(ReaderLie) {
        guard mayCome(message, serial) else { throw .turn(message.name) }
        switch message {
        case .ready: isReady = true
        case .described: isDescribed = true
        case .landed, .failed, .result: question = nil
        case .request(_, .name), .request(_, .plane), .request(_, .font): break
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
        case (.request(let number, .file), _): return requests.count < Self.mostRequests && !requests.contains(number)
        case (.request(_, .name), _): return mayAskForNames
        case (.request(_, .plane), _): return mayUsePlanes
        case (.surface, _): return mayHaveSurfaces
        case (.film, _): return mayMakeFilm
        case (.subtitle, _), (.cue, _): return maySubtitle
        case (.request(_, .font), _): return maySubtitle
        case (.request(_, .subtitles), .opening(.play)): return mayLeave.toText && !isDescribed
        case (.request(_, .device), .opening(.play)): return mayLeave.toDevice && !isDescribed
        case (.request(_, .deinterlacer), .opening(.play)): return mayLeave.toDeinterlacer && !isDescribed
        case (.failed, .some): return true
        case (.described, .opening(.play)): return !isDescribed
        case (.landed(let landing), .opening(.play)): return isDescribed && landing.time != nil
        case (.landed(let landing), .seeking): return landing.time != nil
        case (.landed, .catchingUp), (.selected, .selecting), (.landed, .subtitles), (.selected, .subtitles): return true
        case (.landed(let landing), .selecting): return landing.selection != nil
        case (.result(.previews), .opening(.previews)), (.result(.preview), .previewing), (.result(.thumbnail), .opening(.thumbnail)),
            (.result(.cover), .opening(.cover)), (.result(.noCover), .opening(.cover)), (.result(.times), .opening(.times)),
            (.result(.file), .opening(.file)),
            (.result(.noFile), .opening(.file)):
            return true
        default: return false
        }
    }
}

extension ReaderMessage {
    /// The name of the message in an error.
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
        case .surface: "a surface"
        case .film: "news of a film"
        case .subtitle, .cue: "a subtitle"
        }
    }
}
