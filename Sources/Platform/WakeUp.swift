import CKioskPlatform
import Glibc
import Logging
import Synchronization

/// Wakes a thread that waits in poll(2). The corresponding C function is `eventfd`.
///
/// If the process has no file descriptor left, the waiting thread polls every ``lookInterval`` instead. The log says so.
package final class WakeUp: Sendable {
    /// Readable from a ``wake()`` to the next ``drain()`` or ``wait(until:)``. Signal handlers may write(2) the number 1 to it as 8 bytes.
    /// Negative without a descriptor, which poll(2) ignores.
    package var descriptor: Int32 { event.raw }
    private let event: Descriptor
    /// The state without a descriptor.
    private let isWoken = Atomic(false)

    /// How often a thread polls without a descriptor.
    package static let lookInterval = MediaTime.milliseconds(20)

    /// Makes a wake-up with a descriptor of its own.
    package convenience init() { self.init(eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))) }

    /// Makes a wake-up that owns this descriptor.
    init(_ descriptor: Int32) {
        event = Descriptor(descriptor)
        if descriptor < 0 {
            Logger(label: "threads").error(
                "no file descriptor is left (\(SystemError())): some threads look for work every 20 ms. Raise LimitNOFILE="
            )
        }
    }

    /// Ends the current or the next ``wait(for:until:)``. From any thread.
    package func wake() { if descriptor >= 0 { eventfd_write(descriptor, 1) } else { isWoken.store(true, ordering: .releasing) } }

    /// Returns when a thread that waits until `deadline` must check for a wake-up.
    package func nextLook(before deadline: HostTime?) -> HostTime? {
        if descriptor >= 0 { return deadline }
        let look = HostTime.now + Self.lookInterval
        return deadline.map { min($0, look) } ?? look
    }

    /// Returns whether to call ``drain()`` after poll(2) has returned `events` for the descriptor.
    package func mayBeWoken(_ events: Int16) -> Bool { events != 0 || descriptor < 0 }

    /// The entry that must come first in the descriptors for ``wait(for:until:)``.
    package var pollDescriptor: pollfd { pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0) }

    /// Waits until ``wake()`` is called, one of `descriptors` is ready or `deadline` has passed, up to 1 ms late; may also return
    /// spuriously. `descriptors` begins with ``pollDescriptor``. The corresponding C function is `poll`.
    package func wait(for descriptors: inout [pollfd], until deadline: HostTime) {
        let remaining = ((nextLook(before: deadline) ?? deadline) - HostTime.now).nanoseconds
        let milliseconds = min(max(0, (remaining + 999_999) / 1_000_000), 3_600_000)
        let count = poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        if count <= 0 { for index in descriptors.indices { descriptors[index].revents = 0 } }
        if mayBeWoken(descriptors[0].revents) { _ = drain() }
    }

    /// Returns whether ``wake()`` was called since the last call, for callers that poll ``descriptor`` themselves.
    package func drain() -> Bool {
        if descriptor < 0 { return isWoken.exchange(false, ordering: .acquiring) }
        var value: eventfd_t = 0
        return eventfd_read(descriptor, &value) == 0
    }

    /// Waits until ``wake()`` is called or `deadline` has passed, up to 1 ms late; may also return spuriously.
    package func wait(until deadline: HostTime) {
        var descriptors = [pollDescriptor]
        wait(for: &descriptors, until: deadline)
    }
}
