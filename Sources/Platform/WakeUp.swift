import CPlatform
import Glibc

/// Wakes a thread that waits in poll(2). The corresponding C function is `eventfd`.
public final class WakeUp: Sendable {
    /// Readable from a ``wake()`` to the next ``drain()`` or ``wait(until:)``. Signal handlers may write(2) the number 1 to it as 8 bytes.
    public let descriptor: Int32

    /// Makes one. Traps when the process is out of file descriptors: nothing could be played then.
    public init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        precondition(descriptor >= 0, "eventfd: errno \(errno)")
    }

    deinit { close(descriptor) }

    /// Ends the present or the next ``wait(for:until:)``. From any thread.
    public func wake() { eventfd_write(descriptor, 1) }

    /// What a set of descriptors given to ``wait(for:until:)`` begins with.
    public var pollDescriptor: pollfd { pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0) }

    /// Waits until ``wake()`` was called, one of `descriptors` is ready or `deadline` has passed, up to 1 ms late; may also return
    /// for no reason. `descriptors` begins with ``pollDescriptor``.
    public func wait(for descriptors: inout [pollfd], until deadline: HostTime) {
        let remaining = (deadline - HostTime.now).nanoseconds
        let milliseconds = min(max(0, (remaining + 999_999) / 1_000_000), 3_600_000)
        let count = poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        if count <= 0 { for index in descriptors.indices { descriptors[index].revents = 0 } }
        if descriptors[0].revents != 0 { _ = drain() }
    }

    /// Whether ``wake()`` was called since the last call, for those who wait for ``descriptor`` by themselves.
    public func drain() -> Bool {
        var value: eventfd_t = 0
        return eventfd_read(descriptor, &value) == 0
    }

    /// Waits until ``wake()`` was called or `deadline` has passed, up to 1 ms late; may also return for no reason.
    public func wait(until deadline: HostTime) {
        var descriptors = [pollDescriptor]
        wait(for: &descriptors, until: deadline)
    }
}
