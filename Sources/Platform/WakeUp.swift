import CKioskPlatform
import Glibc
import Logging
import Synchronization

/// Wakes a thread that waits in poll(2). The corresponding C function is `eventfd`.
///
/// Where the process has no file descriptor left it goes without: the thread that waits looks every ``lookInterval`` whether it has been woken. The log
/// says so.
package final class WakeUp: Sendable {
    /// Readable from a ``wake()`` to the next ``drain()`` or ``wait(until:)``. Signal handlers may write(2) the number 1 to it as 8 bytes.
    /// Negative where there is none, which poll(2) passes over.
    package var descriptor: Int32 { event.raw }
    private let event: Descriptor
    /// The same without a descriptor.
    private let isWoken = Atomic(false)

    /// How often a thread looks that has no descriptor to wait for.
    package static let lookInterval = MediaTime.milliseconds(20)

    /// Makes one.
    package convenience init() { self.init(eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))) }

    /// One with this descriptor, which it closes.
    init(_ descriptor: Int32) {
        event = Descriptor(descriptor)
        if descriptor < 0 {
            Logger(label: "threads").error(
                "no file descriptor is left (\(SystemError())): some threads look for work every 20 ms. Raise LimitNOFILE="
            )
        }
    }

    /// Ends the present or the next ``wait(for:until:)``. From any thread.
    package func wake() { if descriptor >= 0 { eventfd_write(descriptor, 1) } else { isWoken.store(true, ordering: .releasing) } }

    /// When a thread that waits until `deadline` should look whether it has been woken.
    package func nextLook(before deadline: HostTime?) -> HostTime? {
        if descriptor >= 0 { return deadline }
        let look = HostTime.now + Self.lookInterval
        return deadline.map { min($0, look) } ?? look
    }

    /// Whether ``drain()`` is to be asked after a poll(2) with the result `events` for the descriptor.
    package func mayBeWoken(_ events: Int16) -> Bool { events != 0 || descriptor < 0 }

    /// The first entry of the descriptors given to ``wait(for:until:)``.
    package var pollDescriptor: pollfd { pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0) }

    /// Waits until ``wake()`` was called, one of `descriptors` is ready or `deadline` has passed, up to 1 ms late; may also return
    /// spuriously. `descriptors` begins with ``pollDescriptor``. The corresponding C function is `poll`.
    package func wait(for descriptors: inout [pollfd], until deadline: HostTime) {
        let remaining = ((nextLook(before: deadline) ?? deadline) - HostTime.now).nanoseconds
        let milliseconds = min(max(0, (remaining + 999_999) / 1_000_000), 3_600_000)
        let count = poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        if count <= 0 { for index in descriptors.indices { descriptors[index].revents = 0 } }
        if mayBeWoken(descriptors[0].revents) { _ = drain() }
    }

    /// Whether ``wake()`` was called since the last call, for callers that poll ``descriptor`` themselves.
    package func drain() -> Bool {
        if descriptor < 0 { return isWoken.exchange(false, ordering: .acquiring) }
        var value: eventfd_t = 0
        return eventfd_read(descriptor, &value) == 0
    }

    /// Waits until ``wake()`` was called or `deadline` has passed, up to 1 ms late; may also return spuriously.
    package func wait(until deadline: HostTime) {
        var descriptors = [pollDescriptor]
        wait(for: &descriptors, until: deadline)
    }
}
