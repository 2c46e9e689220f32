import CPlatform
import Glibc
import Logging
import Platform

/// The socket by which other programs ask a running player for something: a Unix stream socket, lines of JSON both ways.
///
/// One thread accepts, reads and answers, one request after the other. Nothing that clients do costs the player more than that: there are
/// 16 of them at most, a line of more than 64 KiB is the last one of its client, and a client that does not take its answer within two
/// seconds is dropped. Who may open the file may ask: its mode is 0660.
package final class ControlSocket: Sendable {
    /// Carries out a request, on the socket's thread.
    package typealias Handler = @Sendable (ControlRequest.Command) throws(ControlRefusal) -> ControlAnswer

    private let path: String
    private let wakeUp = WakeUp()
    private let isStopping = Monitor(false)
    private let thread: Thread

    private static let mostClients = 16
    private static let longestWrite = MediaTime.seconds(2)

    /// Begins to listen at `path`, in a folder that is there or can be made in one that is. A file that another process has left there is
    /// replaced, unless it is no socket or somebody listens on it.
    ///
    /// - Throws: ``ControlError`` where that cannot be done.
    package static func open(_ path: String, handler: @escaping Handler) throws(ControlError) -> ControlSocket {
        guard var address = SocketAddress(path) else { throw ControlError("\(path): a socket's path has 1 to 107 bytes") }
        let folder = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
        if mkdir(folder, 0o750) != 0, errno != EEXIST { throw ControlError("make the folder \(folder)", code: errno) }
        try removeStale(path)
        let listener = OwnedDescriptor(
            adopting: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
        guard listener.raw >= 0 else { throw ControlError("make a socket", code: errno) }
        guard address.withPointer({ bind(listener.raw, $0, $1) }) == 0 else { throw ControlError("bind a socket to \(path)", code: errno) }
        // Nobody can connect before it listens.
        guard chmod(path, 0o660) == 0, listen(listener.raw, 8) == 0 else {
            let code = errno
            unlink(path)
            throw ControlError("listen on \(path)", code: code)
        }
        return ControlSocket(path, listener, handler)
    }

    /// Removes a socket on which nobody listens.
    private static func removeStale(_ path: String) throws(ControlError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ControlError("\(path) is there and no socket: remove it, or name another path")
        }
        let client = OwnedDescriptor(
            adopting: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
        guard var address = SocketAddress(path), client.raw >= 0 else { return }
        let isRefused = address.withPointer { connect(client.raw, $0, $1) } != 0 && errno == ECONNREFUSED
        guard isRefused else { throw ControlError("\(path): another player listens there: name another path, or \"off\"") }
        unlink(path)
    }

    private init(_ path: String, _ listener: consuming OwnedDescriptor, _ handler: @escaping Handler) {
        self.path = path
        let raw = dup(listener.raw)
        let (wakeUp, isStopping) = (wakeUp, isStopping)
        thread = Thread("control-socket") {
            var server = ControlServer(OwnedDescriptor(adopting: raw), handler)
            while !isStopping.withLock({ $0 }) { server.step(wakeUp) }
        }
    }

    /// Ends all conversations and removes the file. Waits for a request that is being carried out, two seconds at most.
    package func close() {
        isStopping.withLock { $0 = true }
        wakeUp.wake()
        unlink(path)
        if !thread.join(until: .now + Self.longestWrite) { thread.detach() }
    }

    /// What the thread owns.
    private struct ControlServer: ~Copyable {
        private let listener: OwnedDescriptor
        private let handler: Handler
        private var clients: [Client] = []

        private final class Client {
            let descriptor: Int32
            var lines = LineBuffer()
            init(_ descriptor: Int32) { self.descriptor = descriptor }
            deinit { Glibc.close(descriptor) }
        }

        init(_ listener: consuming OwnedDescriptor, _ handler: @escaping Handler) {
            self.listener = listener
            self.handler = handler
        }

        /// Waits for something to happen and does what follows.
        mutating func step(_ wakeUp: WakeUp) {
            var entries = [wakeUp.pollDescriptor, pollfd(fd: listener.raw, events: Int16(POLLIN), revents: 0)]
            entries += clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            wakeUp.wait(for: &entries, until: .now + .seconds(3600))
            let ready = zip(clients, entries.dropFirst(2)).filter { $1.revents != 0 }.map(\.0)
            for client in ready where !serve(client) { clients.removeAll { $0 === client } }
            if entries[1].revents != 0 { accept() }
        }

        private mutating func accept() {
            let descriptor = Glibc.accept(listener.raw, nil, nil)
            guard descriptor >= 0 else {
                // Without descriptors the client stays in the queue, and poll would say so at once.
                if errno == EMFILE || errno == ENFILE { usleep(100_000) }
                return
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            let client = Client(descriptor)
            if clients.count < mostClients { return clients.append(client) }
            _ = send(
                ControlRefusal(code: "too-many-clients", message: "\(mostClients) programs are connected: try again later").line, to: client
            )
        }

        /// Reads what a client has sent and answers it; false where the conversation is over.
        private func serve(_ client: Client) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = buffer.withUnsafeMutableBytes { recv(client.descriptor, $0.baseAddress, $0.count, 0) }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            if count == 0 { return false }
            for line in client.lines.append(buffer.prefix(count)) where line.contains(where: { !$0.isWhitespace }) {
                if !answer(line, client) { return false }
            }
            guard client.lines.isOverlong else { return true }
            _ = send(ControlRefusal(code: "line-too-long", message: "a line has \(LineBuffer.longest) bytes at most").line, to: client)
            return false
        }

        private func answer(_ line: String, _ client: Client) -> Bool {
            do throws(ControlRefusal) {
                let request = try ControlRequest(line: line)
                do throws(ControlRefusal) {
                    let answer = try handler(request.command)
                    return send(answer.line(id: request.id), attaching: answer.attachment, to: client)
                } catch {
                    var refusal = error
                    refusal.id = request.id
                    throw refusal
                }
            } catch {
                return send(error.line, to: client)
            }
        }

        /// Sends a line, with bytes in memory of their own; false where the client does not take it in time.
        private func send(_ line: String, attaching bytes: [UInt8]? = nil, to client: Client) -> Bool {
            var attachment: OwnedDescriptor?
            if let bytes {
                let raw = bytes.withUnsafeBytes { kiosk_memory_file("kiosk", $0.baseAddress, $0.count) }
                if raw < 0 { return send(ControlRefusal(code: "no-memory", message: String(cString: strerror(errno))).line, to: client) }
                attachment = OwnedDescriptor(adopting: raw)
            }
            let text = Array((line + "\n").utf8)
            let deadline = HostTime.now + ControlSocket.longestWrite
            var (sent, descriptor) = (0, attachment?.raw ?? -1)
            while sent < text.count {
                let count = text[sent...].withUnsafeBytes { kiosk_send(client.descriptor, $0.baseAddress!, $0.count, descriptor) }
                if count > 0 {
                    sent += count
                    descriptor = -1
                } else {
                    guard count < 0, errno == EAGAIN || errno == EINTR, HostTime.now < deadline else { return false }
                    var entry = pollfd(fd: client.descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&entry, 1, 100)
                }
            }
            return true
        }
    }
}
