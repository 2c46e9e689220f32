import CKioskTLS
import Glibc
import KioskPlatform
import Logging
import Synchronization

/// The certificate of a server, read again when its file changes: a renewed one holds for the next connections.
final class TLSServer: Sendable {
    private struct Context: ~Copyable {
        let raw: OpaquePointer
        deinit { kiosk_tls_server_close(raw) }
    }

    private struct State: ~Copyable, @unchecked Sendable {
        // Sendable because OpenSSL counts the references to a context atomically, and the state is used under its lock.
        var context: Context
        var version: [Int64]
    }

    private let certificate: String, key: String
    private let state: Mutex<State>

    /// - Throws: ``WebError`` if OpenSSL is missing, or the files cannot be used.
    init(certificate: String, key: String) throws(WebError) {
        (self.certificate, self.key) = (certificate, key)
        let version = Self.version(certificate, key)
        state = Mutex(State(context: try Self.open(certificate, key), version: version))
    }

    private static func version(_ paths: String...) -> [Int64] {
        paths.flatMap { path in stat(at: path).map { [$0.modified, Int64($0.st_size)] } ?? [] }
    }

    private static func open(_ certificate: String, _ key: String) throws(WebError) -> Context {
        var problem = [CChar](repeating: 0, count: 512)
        guard let raw = kiosk_tls_server_open(certificate, key, &problem, problem.count) else {
            throw WebError("[web] tls-certificate: \(problem.text)")
        }
        return Context(raw: raw)
    }

    /// Returns the TLS of a socket, whose handshake is to come; nil without memory.
    func accept(_ socket: SharedDescriptor) -> TLSTransport? {
        let version = Self.version(certificate, key)
        let tls = state.withLock { state in
            if version != state.version {
                state.version = version
                do throws(WebError) { state.context = try Self.open(certificate, key) } catch {
                    Logger(label: "web").error("\(error); the former certificate goes on")
                }
            }
            return kiosk_tls_open(state.context.raw, socket.raw).map { Int(bitPattern: $0) }
        }
        return tls.flatMap { OpaquePointer(bitPattern: $0) }.map { TLSTransport($0, socket) }
    }
}

/// A socket with TLS. One thread uses it.
final class TLSTransport: HTTPTransport, @unchecked Sendable {
    // Sendable because its connection's thread alone uses it.
    private let tls: OpaquePointer
    private let socket: SharedDescriptor
    var descriptor: Int32 { socket.raw }
    var isSecure: Bool { true }

    fileprivate init(_ tls: OpaquePointer, _ socket: SharedDescriptor) { (self.tls, self.socket) = (tls, socket) }

    deinit { kiosk_tls_close(tls) }

    /// Makes the handshake; false if it fails, or takes longer.
    func shakeHands(until deadline: HostTime) -> Bool {
        while true {
            let result = kiosk_tls_handshake(tls)
            if result == 1 { return true }
            guard waits(result, until: deadline) else { return false }
        }
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, until deadline: HostTime) -> Int {
        while true {
            let result = kiosk_tls_read(tls, buffer.baseAddress!, Int32(clamping: buffer.count))
            if result >= 0 { return Int(result) }
            guard waits(result, until: deadline) else { return -1 }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, patience: MediaTime) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let result = kiosk_tls_write(tls, bytes.baseAddress! + sent, Int32(clamping: bytes.count - sent))
            if result > 0 { sent += Int(result) } else if !waits(result, until: .now + patience) { return false }
        }
        return true
    }

    func end() {
        kiosk_tls_end(tls)
        shutdown(socket.raw, Int32(SHUT_WR))
    }

    private func waits(_ need: Int32, until deadline: HostTime) -> Bool {
        switch need {
        case KIOSK_TLS_READABLE.rawValue: socket.waits(for: POLLIN, until: deadline)
        case KIOSK_TLS_WRITABLE.rawValue: socket.waits(for: POLLOUT, until: deadline)
        default: false
        }
    }
}
