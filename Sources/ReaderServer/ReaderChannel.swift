import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import Synchronization

/// The reader's end of its socket. The player does not trust the reader's messages; the reader trusts the player's.
///
/// A thread of its own receives (`orders`), so ``ReaderOrder/cancel`` and the answers to requests come while the reader reads a source.
/// ``listen(_:)`` starts it. Before that, the thread that calls ``first()`` receives.
final class ReaderChannel: Sendable {
    /// An order, and its descriptor if it has one.
    typealias Order = (order: ReaderOrder, serial: UInt32, descriptor: SharedDescriptor?)

    private struct State {
        var orders: [Order] = []
        var answers: [UInt32: Result<OpenedFile, FileFailure>] = [:]
        var addresses: [UInt32: [String]] = [:]
        /// Memory of a display, by the number of its request; nil if there is none.
        var lent: [UInt32: (Int, SharedDescriptor)?] = [:]
        /// The results of writing the bytes of a film, in order.
        var written: [Int32] = []
        var lastRequest: UInt32 = 0
        /// Whether no more orders come, and whether the other end is closed.
        var isClosed = false, isGone = false
    }

    private let socket: SharedDescriptor
    /// Ends the reading when the player wants nothing more from it.
    let interruption = Interruption()
    private let state = Monitor(State())
    /// Held while a message is sent, so its datagrams stay together.
    private let sending = Mutex(())

    init(_ socket: SharedDescriptor) { self.socket = socket }

    // MARK: Sending

    /// Sends the player a message; any thread. Blocks while the player reads too slowly. The message is lost once the player has gone.
    func send(_ message: ReaderMessage, serial: UInt32 = 0, descriptor: Int32 = -1) {
        guard let datagrams = try? message.datagrams(serial: serial) else { return }
        let isSent = sending.withLock { _ in
            for datagram in datagrams {
                var sent: Int
                repeat { sent = kiosk_send(socket.raw, datagram, datagram.count, descriptor) } while sent < 0 && errno == EINTR
                if sent < 0 { return false }
            }
            return true
        }
        if !isSent { close() }
    }

    /// Requests a file from the player, and blocks until the answer.
    func ask(for path: String, in folder: String?) -> Result<OpenedFile, FileFailure> {
        let number = state.withLock { state in
            state.lastRequest &+= 1
            return state.lastRequest
        }
        send(.request(number, .file(path: path, folder: folder)))
        return state.wait { $0.isClosed ? .failure(.interrupted) : $0.answers.removeValue(forKey: number) } ?? .failure(.interrupted)
    }

    /// Requests a font from the player, and blocks until the answer; nil if there is none. Calls `onAsked` once the request is sent.
    func ask(for font: FontWish, onAsked: () -> Void) -> OpenedFile? {
        let number = state.withLock { state in
            state.lastRequest &+= 1
            return state.lastRequest
        }
        send(.request(number, .font(font)))
        onAsked()
        let answer = state.wait { $0.isClosed ? .failure(.interrupted) : $0.answers.removeValue(forKey: number) } ?? .failure(.interrupted)
        return try? answer.get()
    }

    /// Requests the addresses of a host from the player, and blocks until the answer, at most for ``nameLimit``; none if the host is
    /// unknown.
    func addresses(of name: String) -> [String] {
        let number = state.withLock { state in
            state.lastRequest &+= 1
            return state.lastRequest
        }
        send(.request(number, .name(name)))
        return state.wait(until: .now + Self.nameLimit) { $0.isClosed ? [] : $0.addresses.removeValue(forKey: number) } ?? []
    }

    /// Requests memory of a display from the player, and blocks until the answer; nil if there is none. Calls `onAsked` once the request is
    /// sent.
    func borrow(_ offer: PlaneOffer, onAsked: () -> Void) -> (Int, SharedDescriptor)? {
        let number = state.withLock { state in
            state.lastRequest &+= 1
            return state.lastRequest
        }
        send(.request(number, .plane(offer)))
        onAsked()
        return state.wait { $0.isClosed ? .some(nil) : $0.lent.removeValue(forKey: number) } ?? nil
    }

    /// Longer than name services take to report an unknown name.
    private static let nameLimit = MediaTime.seconds(12)

    // MARK: Receiving

    /// Returns a descriptor sent before the first order, and its number; nil if there is no further one.
    func gift() -> (number: UInt8, SharedDescriptor)? {
        // An order is longer, and stays in the socket.
        var (byte, raw, room, length): (UInt8, Int32, (UInt8, UInt8), Int) = (0, -1, (0, 0), -1)
        repeat { length = recv(socket.raw, &room, 2, Int32(MSG_PEEK)) } while length < 0 && errno == EINTR
        guard length == 1, kiosk_receive(socket.raw, &byte, 1, &raw) == 1, raw >= 0 else { return nil }
        return (byte, SharedDescriptor(Descriptor(raw)))
    }

    /// Receives the first order on the calling thread; nil if the player has gone.
    func first() -> (order: OpenOrder, serial: UInt32)? {
        var orders = Assembly<ReaderOrder>()
        guard let (order, serial, _) = receive(&orders), case .open(let open) = order else { return nil }
        return (open, serial)
    }

    /// Receives on a thread of its own from now on. Calls `onOrder` there after each order, and when the player has gone.
    func listen(_ onOrder: @escaping @Sendable () -> Void = {}) {
        Thread("orders") { [self] in
            var orders = Assembly<ReaderOrder>()
            while let (order, serial, descriptor) = receive(&orders) {
                take(order, serial, descriptor)
                onOrder()
            }
            close()
            state.signal { $0.isGone = true }
            onOrder()
        }.detach()
    }

    /// Returns the next order; nil if there is none, also after the end (``isClosed``).
    func takeOrder() -> Order? {
        state.withLock { $0.orders.isEmpty ? nil : $0.orders.removeFirst() }
    }

    /// Waits for the next order; nil if the player has gone.
    func nextOrder() -> Order? {
        state.wait { state -> Order?? in
            if !state.orders.isEmpty { return state.orders.removeFirst() }
            return state.isClosed ? .some(nil) : nil
        } ?? nil
    }

    /// Waits for the result of the last `write` of a film: 0 or an errno; nil if the player has gone.
    func nextWritten() -> Int32? {
        state.wait { state -> Int32?? in
            if !state.written.isEmpty { return state.written.removeFirst() }
            return state.isClosed ? .some(nil) : nil
        } ?? nil
    }

    var hasOrder: Bool { state.withLock { !$0.orders.isEmpty } }

    var isClosed: Bool { state.withLock(\.isClosed) }
    var isGone: Bool { state.withLock(\.isGone) }

    /// Waits until the player has gone.
    func waitUntilGone() { _ = state.wait { $0.isGone ? true : nil } }

    private func take(_ order: ReaderOrder, _ serial: UInt32, _ descriptor: SharedDescriptor?) {
        switch order {
        case .cancel: interruption.cancel()
        case .close: close()
        case .grant(let number):
            var answer = Result<OpenedFile, FileFailure>.failure(.system(EBADF))
            var status = stat()
            if let descriptor, fstat(descriptor.raw, &status) == 0 {
                answer = .success(OpenedFile(descriptor, FileVersion(status)))
            }
            state.signal { $0.answers[number] = answer }
        case .refuse(let number, let failure): state.signal { $0.answers[number] = .failure(failure) }
        case .lend(let number, let buffer): state.signal { $0.lent[number] = .some(descriptor.map { (buffer, $0) }) }
        case .film(.written(let code)): state.signal { $0.written.append(code) }
        case .addresses(let number, let addresses): state.signal { $0.addresses[number] = addresses }
        default: state.signal { $0.orders.append((order, serial, descriptor)) }
        }
    }

    private func close() {
        interruption.cancel()
        state.signal { $0.isClosed = true }
    }

    private func receive(_ orders: inout Assembly<ReaderOrder>) -> (ReaderOrder, UInt32, SharedDescriptor?)? {
        var buffer = [UInt8](repeating: 0, count: Datagram.longest)
        while true {
            var raw: Int32 = -1
            let count = kiosk_receive(socket.raw, &buffer, buffer.count, &raw)
            if count < 0, errno == EINTR { continue }
            let descriptor = raw >= 0 ? SharedDescriptor(Descriptor(raw)) : nil
            if count <= 0 { return nil }
            // Both are of one build: an unreadable message is a fault, and the end.
            let whole: (message: ReaderOrder, serial: UInt32)?
            do throws(WireError) { whole = try orders.add(buffer[..<count]) } catch { return nil }
            if let whole { return (whole.message, whole.serial, descriptor) }
        }
    }
}
