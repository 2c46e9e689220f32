import Glibc
import KioskPlatform

/// The body of a request, read piece by piece on the connection's thread.
///
/// A client has 20 s, and another second for each kilobyte: one that sends a byte now and then does not keep its connection.
final class HTTPBody {
    private let transport: any HTTPTransport
    /// What came with the head.
    private var early: ArraySlice<UInt8>
    /// The unread bytes.
    private(set) var left: Int
    /// Whether the client waits for `100 Continue`.
    private var isAwaited: Bool
    private let begin = HostTime.now
    private var received = 0

    private let allowance: MediaTime
    private static let slowest = 1024

    init(_ transport: any HTTPTransport, early: ArraySlice<UInt8>, length: Int, isAwaited: Bool, allowance: MediaTime = .seconds(20)) {
        (self.transport, self.early, left) = (transport, early.prefix(length), length)
        (self.isAwaited, self.allowance) = (isAwaited, allowance)
    }

    /// Returns the next bytes, at most `most`; nil at the end, and if the client breaks off.
    func next(atMost most: Int = 65536) -> [UInt8]? {
        guard left > 0 else { return nil }
        if !early.isEmpty {
            let piece = Array(early.prefix(most))
            early = early.dropFirst(piece.count)
            count(piece.count)
            return piece
        }
        if isAwaited {
            isAwaited = false
            guard HTTPWriter(transport: transport).write("HTTP/1.1 100 Continue\r\n\r\n") else { return nil }
        }
        let deadline = begin + allowance + .seconds(Double(received / Self.slowest))
        let size = min(most, left)
        var count = 0
        let piece = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
            count = transport.read(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: size), until: deadline)
            filled = max(0, count)
        }
        guard count > 0 else { return nil }
        self.count(count)
        return piece
    }

    private func count(_ bytes: Int) {
        left -= bytes
        received += bytes
    }

    /// Returns all of it, which is at most `most` bytes; nil if the client breaks off.
    func all() -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(left)
        while left > 0 {
            guard let piece = next() else { return nil }
            bytes += piece
        }
        return bytes
    }

    /// Reads and drops a short rest, so that the connection can go on; false if the connection has to end.
    func discard() -> Bool {
        if left > 0, isAwaited || left > 65536 { return false }
        return all() != nil
    }
}
