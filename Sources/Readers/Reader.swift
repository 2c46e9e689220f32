import CKioskPlatform
import CReader
import CSandbox
import Glibc
import KioskPlatform
import KioskReaderProtocol
import Synchronization

/// How a reader process has ended.
package enum ReaderExit: Hashable, Sendable {
    /// It has called exit(3) with this status.
    case exited(Int32)
    /// A signal has ended it.
    case signalled(Int32)
    /// The zygote has ended, and all its processes with it.
    case lost
}

/// The other end of a reader's socket, and the means to end the reader: a process, or a thread of this one. It sends and receives
/// datagrams, and does not interpret them.
package final class Reader: Sendable {
    /// The outcome of a receive call.
    package enum Event: Sendable {
        /// Nothing within the time.
        case nothing
        case datagram([UInt8], SharedDescriptor?)
        /// The other end is closed.
        case end
    }

    private let socket: SharedDescriptor
    private let process: ReaderProcess?
    private let thread: Readers.ThreadLife?
    /// The clock of its processor time (``FairTime``); a thread may have none.
    let clock: clockid_t?
    /// The pipe with a process's standard error.
    private let complaints: SharedDescriptor?

    /// Wraps a forked process that waits for its descriptors.
    init(_ process: ReaderProcess) {
        (self.process, thread, socket, clock) = (process, nil, process.socket, FairTime.clock(ofProcess: process.pid))
        var ends: [Int32] = [-1, -1]
        guard kiosk_pipe(&ends, O_NONBLOCK) == 0 else {
            complaints = nil
            return
        }
        complaints = SharedDescriptor(Descriptor(ends[0]))
        let its = Descriptor(ends[1])
        give(Int32(KIOSK_READER_LOG), its.raw)
    }

    /// Wraps a thread that serves the other end of `socket`; `clock` is that of its processor time.
    init(_ clock: clockid_t?, thread socket: SharedDescriptor, _ life: Readers.ThreadLife) {
        (self.socket, process, thread, complaints, self.clock) = (socket, nil, life, nil, clock)
    }

    deinit { end() }

    /// Ends it. From any thread.
    package func end() {
        process?.kill()
        thread?.isLeft()
        shutdown(socket.raw, Int32(SHUT_RDWR))
    }

    /// Returns how a process has ended; nil if it has not by `deadline`, and for a thread.
    package func exit(until deadline: HostTime) -> ReaderExit? { process?.exit(until: deadline) }

    /// Sends a datagram, which is lost if the other end is closed.
    package func send(_ datagram: [UInt8], _ descriptor: Int32 = -1) {
        var sent: Int
        repeat { sent = kiosk_send(socket.raw, datagram, datagram.count, descriptor) } while sent < 0 && errno == EINTR
    }

    /// Cancels the current order and all later ones. From any thread.
    package func cancel() { for datagram in (try? ReaderOrder.cancel.datagrams()) ?? [] { send(datagram) } }

    /// Sends a descriptor with its number in the reader. Before the first order.
    package func give(_ number: Int32, _ descriptor: Int32) { send([UInt8(clamping: number)], descriptor) }

    /// Waits for the next datagram until `deadline`.
    package func receive(until deadline: HostTime) -> Event {
        let wait = max(0, (deadline - .now).nanoseconds)
        var polled = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, Int32(clamping: (wait + 999_999) / 1_000_000)) > 0 else { return .nothing }
        var buffer = [UInt8](repeating: 0, count: Datagram.longest)
        var raw: Int32 = -1
        let count = kiosk_receive(socket.raw, &buffer, buffer.count, &raw)
        let descriptor = raw >= 0 ? SharedDescriptor(Descriptor(raw)) : nil
        if count < 0, errno == EINTR { return .nothing }
        return count > 0 ? .datagram(Array(buffer[..<count]), descriptor) : .end
    }

    /// The first two lines of its standard error, on one line.
    package var lastWords: String {
        guard let complaints else { return "" }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = max(0, read(complaints.raw, &buffer, buffer.count))
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).prefix(2).joined(separator: " ").printable
    }
}

extension ControlPage {
    /// The report of the reader's sandbox.
    var refusals: kiosk_sandbox_refusals {
        kiosk_sandbox_refusals(sandboxReport.assumingMemoryBound(to: kiosk_sandbox_report.self))
    }
}
