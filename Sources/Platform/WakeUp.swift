import CKioskPlatform
import Glibc

/// Wakes a thread that waits in poll(2). The corresponding C function is `eventfd`.
package final class WakeUp: Sendable {
    /// Readable from a ``wake()`` to the next ``drain()`` or ``wait(until:)``. Signal handlers may write(2) the number 1 to it as 8 bytes.
    package let descriptor: Int32

    /// Makes one. Traps when the process has no file descriptor left: nothing can be played then.
    package init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        precondition(descriptor >= 0, "eventfd: errno \(errno)")
    }

    deinit { close(descriptor) }

    /// Ends the present or the next ``wait(for:until:)``. From any thread.
    package func wake() { eventfd_write(descriptor, 1) }

    /// The first entry of the descriptors given to ``wait(for:until:)``.
    package var pollDescriptor: pollfd { pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0) }

    /// Waits until ``wake()`` was called, one of `descriptors` is ready or `deadline` has passed, up to 1 ms late; may also return
    /// spuriously. `descriptors` begins with ``pollDescriptor``. The corresponding C function is `poll`.
    package func wait(for descriptors: inout [pollfd], until deadline: HostTime) {
        let remaining = (deadline - HostTime.now).nanoseconds
        let milliseconds = min(max(0, (remaining + 999_999) / 1_000_000), 3_600_000)
        let count = poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        if count <= 0 { for index in descriptors.indices { descriptors[index].revents = 0 } }
        if descriptors[0].revents != 0 { _ = drain() }
    }

    /// Whether ``wake()`` was called since the last call, for callers that poll ``descriptor`` themselves.
    package func drain() -> Bool {
        var value: eventfd_t = 0
        return eventfd_read(descriptor, &value) == 0
    }

    /// Waits until ``wake()`` was called or `deadline` has passed, up to 1 ms late; may also return spuriously.
    package func wait(until deadline: HostTime) {
        var descriptors = [pollDescriptor]
        wait(for: &descriptors, until: deadline)
    }
}
