import CKioskPlatform
import Glibc
import KioskCommands
import KioskPlatform
import RemoteClient

/// A client of the control socket: its unanswered requests, and its unsent answers.
final class ControlConnection {
    private let socket: Descriptor
    var descriptor: Int32 { socket.raw }
    /// The topics that it observes.
    var topics: Set<ControlTopic> = []
    /// Whether the connection has ended and must be dropped.
    private(set) var isOver = false

    private var lines = LineBuffer()
    /// Unanswered lines.
    private var received: [String] = []
    private var effect: (id: JSONValue, check: @Sendable () -> Result<ControlAnswer, ControlRefusal>?)?

    /// Bytes to send, and a descriptor that goes with the first of them.
    private struct Piece {
        var bytes: [UInt8]
        var sent = 0
        var attachment: SharedDescriptor?
    }
    private var unsent: [Piece] = []
    private var unsentBytes = 0
    /// When the client last sent something.
    private(set) var heardAt = HostTime.now
    /// When the client last took some of the unsent bytes.
    private var tookAt = HostTime.now
    /// Whether to read nothing more, and to end once everything is sent.
    private var isEnding = false

    private static let mostUnsent = 4 << 20

    init(_ socket: consuming Descriptor) { self.socket = socket }

    /// The events for poll(2). Nothing is read while a request is pending or an answer unsent: a client that does not read gets no more
    /// answers.
    var awaited: Int16 {
        if !unsent.isEmpty { return Int16(POLLOUT) }
        return effect == nil && received.isEmpty && !isEnding ? Int16(POLLIN) : 0
    }

    /// When there is work even without an event.
    var deadline: HostTime? { unsent.isEmpty ? nil : tookAt + ControlSocket.longestWrite + .milliseconds(1) }

    /// Whether the client waits for nothing: no event, no answer.
    var isIdle: Bool { topics.isEmpty && effect == nil && received.isEmpty && unsent.isEmpty }

    var awaitsEffect: Bool { effect != nil }

    // MARK: Receiving

    func receive() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count < 0 { return isOver = errno != EAGAIN && errno != EINTR }
        if count == 0 { return isOver = true }
        heardAt = .now
        received += lines.append(buffer.prefix(count)).filter { line in line.contains { !$0.isWhitespace } }
    }

    /// Returns the next line to answer; nil if there is none yet.
    func nextLine() -> String? {
        if effect != nil || isOver || !unsent.isEmpty { return nil }
        if !received.isEmpty { return received.removeFirst() }
        if lines.isOverlong, !isEnding {
            isEnding = true
            send(ControlRefusal(code: "line-too-long", message: "a line has \(LineBuffer.longest) bytes at most").line)
        }
        return nil
    }

    /// Answers the request with this id once `check` returns a result.
    func wait(for check: @escaping @Sendable () -> Result<ControlAnswer, ControlRefusal>?, id: JSONValue) {
        effect = (id, check)
        checkEffect()
    }

    /// Answers the request that waits for its effect, if `check` has a result.
    func checkEffect() {
        guard let (id, check) = effect, let result = check() else { return }
        effect = nil
        switch result {
        case .success(let answer): send(answer, id: id)
        case .failure(let refusal): send(refusal.answering(id).line)
        }
    }

    // MARK: Sending

    /// Sends an answer, with its bytes as a file in memory.
    func send(_ answer: ControlAnswer, id: JSONValue) {
        guard let bytes = answer.attachment else { return send(answer.line(id: id)) }
        guard let file = Descriptor(adopting: bytes.withUnsafeBytes { kiosk_memory_file("kiosk", $0.baseAddress, $0.count) }) else {
            return send(ControlRefusal(id: id, code: "no-memory", message: "\(SystemError())").line)
        }
        send(answer.line(id: id), attaching: SharedDescriptor(file))
    }

    /// Sends a line, now or once the client takes it.
    func send(_ line: String) { send(line, attaching: nil) }

    private func send(_ line: String, attaching attachment: SharedDescriptor?) {
        if unsent.isEmpty { tookAt = .now }
        let piece = Piece(bytes: Array((line + "\n").utf8), attachment: attachment)
        unsentBytes += piece.bytes.count
        unsent.append(piece)
        flush()
    }

    /// Sends as much as the client takes.
    func flush() {
        while !unsent.isEmpty, !isOver {
            let piece = unsent[0]
            let count = piece.bytes[piece.sent...].withUnsafeBytes {
                kiosk_send(descriptor, $0.baseAddress!, $0.count, piece.attachment?.raw ?? -1)
            }
            if count <= 0 {
                if count < 0, errno == EINTR { continue }
                return isOver = count == 0 || errno != EAGAIN
            }
            tookAt = .now
            unsentBytes -= count
            (unsent[0].sent, unsent[0].attachment) = (piece.sent + count, nil)
            if unsent[0].sent == piece.bytes.count { unsent.removeFirst() }
        }
    }

    /// Ends the connection if the client does not read, or has received its last answer.
    func checkLimits() {
        if unsentBytes > Self.mostUnsent || (!unsent.isEmpty && HostTime.now - tookAt > ControlSocket.longestWrite) { isOver = true }
        if isEnding, unsent.isEmpty { isOver = true }
    }

    func end() { isOver = true }
}
