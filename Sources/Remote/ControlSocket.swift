import CKioskPlatform
import Glibc
import KioskCommands
import KioskPlatform
import KioskVocabulary
import Logging
import RemoteClient

/// The socket for commands of other programs to a running player: a Unix stream socket, with lines of JSON in both directions.
///
/// One thread accepts, reads and answers (``ControlServer``). It carries out the requests of one client in order. A request whose answer
/// waits for its effect does not delay other clients. Limits keep the cost low: at most 16 clients, and the longest silent one gives way to
/// the next, unless it waits for something. A client is dropped after a line of more than 64 KiB. It is also dropped if it reads nothing
/// for two seconds, or leaves more than 4 MB unread. The file's mode, 0660, controls the access.
package final class ControlSocket: Sendable {
    /// Carries out a request on the socket's thread; must not block.
    package typealias Handler = @Sendable (ControlRequest) throws(ControlRefusal) -> ControlReply
    /// Returns events for polled changes since the last call. Called on the socket's thread about once a second while a client observes;
    /// must not block.
    package typealias Changes = @Sendable () -> [(ControlTopic, [String: JSONValue])]

    private let path: String
    private let shared = ControlShared()
    private let thread: Thread

    static let longestWrite = MediaTime.seconds(2)

    /// Starts to listen at `path`, whose folder is there, or can be made in an existing one. Replaces a stale socket of another process;
    /// not another kind of file, and not a socket in use.
    ///
    /// - Throws: ``ControlError`` if that fails.
    package static func open(
        _ path: String, changes: @escaping Changes = { [] }, handler: @escaping Handler
    ) throws(ControlError) -> ControlSocket {
        guard var address = SocketAddress(path) else { throw ControlError("\(path): a socket's path has 1 to 107 bytes") }
        let folder = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
        if mkdir(folder, 0o750) != 0, errno != EEXIST { throw ControlError("make the folder \(folder)", code: errno) }
        try removeStale(path)
        guard let listener = Descriptor(socket: AF_UNIX, SOCK_STREAM) else { throw ControlError("make a socket", code: errno) }
        guard address.withPointer({ bind(listener.raw, $0, $1) }) == 0 else { throw ControlError("bind a socket to \(path)", code: errno) }
        // Nobody can connect before listen(2).
        guard chmod(path, 0o660) == 0, listen(listener.raw, 8) == 0 else {
            let code = errno
            unlink(path)
            throw ControlError("listen on \(path)", code: code)
        }
        return ControlSocket(path, SharedDescriptor(listener), changes, handler)
    }

    /// Removes a socket without a listener.
    private static func removeStale(_ path: String) throws(ControlError) {
        guard let status = stat(at: path, followsLinks: false) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ControlError("\(path) is not a socket: remove it, or name another path")
        }
        guard var address = SocketAddress(path), let client = Descriptor(socket: AF_UNIX, SOCK_STREAM) else { return }
        let isRefused = address.withPointer { connect(client.raw, $0, $1) } != 0 && errno == ECONNREFUSED
        guard isRefused else { throw ControlError("\(path): another player listens there: name another path, or \"off\"") }
        unlink(path)
    }

    private init(
        _ path: String, _ listener: SharedDescriptor, _ changes: @escaping Changes, _ handler: @escaping Handler
    ) {
        self.path = path
        let shared = shared
        thread = Thread("control-socket") {
            var server = ControlServer(listener, shared, changes: changes, handler)
            while !shared.isStopping { server.step() }
        }
    }

    /// Sends an event to the clients that observe `topic`. From any thread; returns at once.
    package func publish(_ topic: ControlTopic, _ members: @autoclosure () -> [String: JSONValue]) {
        guard shared.isObserved else { return }
        shared.post(topic, members())
    }

    /// Ends all connections and removes the file. Waits at most two seconds for a running request.
    package func close() {
        shared.stop()
        unlink(path)
        if !thread.join(until: .now + Self.longestWrite) { thread.detach() }
    }
}

extension ControlSocketChoice {
    /// The path for a player to listen at: the chosen path; else in the folder of the user's session, else in the service's, if writable.
    /// nil if it does not listen.
    package var listeningPath: String? {
        switch self {
        case .off: nil
        case .path(let path): path
        case .automatic: Self.ofSession ?? (access(Self.serviceFolder, W_OK | X_OK) == 0 ? Self.ofService : nil)
        }
    }

    /// Why there is no ``listeningPath``; nil if there is one, or none is wanted.
    package var obstacle: String? {
        guard self == .automatic, Self.ofSession == nil, access(Self.serviceFolder, W_OK | X_OK) != 0 else { return nil }
        let reason = SystemError()
        return "XDG_RUNTIME_DIR is not set, and \(Self.serviceFolder) cannot be written to: \(reason); [control] socket can name a path"
    }
}
