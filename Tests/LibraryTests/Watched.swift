import Glibc
import KioskPlatform

/// The elements of a sequence so far, for tests that wait for them.
final class Watched<Element: Sendable>: Sendable {
    private let elements = Monitor<[Element]>([])
    private let task: Task<Void, Never>

    init(_ sequence: AsyncStream<Element>) {
        task = Task { [elements] in for await element in sequence { elements.withLock { $0.append(element) } } }
    }

    deinit { task.cancel() }

    var all: [Element] { elements.withLock { $0 } }
}

/// Waits until `condition` holds. Returns false after two minutes; only a far too busy machine needs that long.
func eventually(_ condition: () -> Bool) async -> Bool {
    let deadline = HostTime.now + .seconds(120)
    while HostTime.now < deadline {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return condition()
}
