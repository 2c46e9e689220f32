import Synchronization

/// Prints checks and counts the failures.
enum Check {
    private static let failures = Atomic(0)

    static func expect(_ isSo: Bool, _ what: String, line: Int = #line) {
        print("\(isSo ? "ok" : "NOT OK (line \(line))"): \(what)")
        if !isSo { failures.add(1, ordering: .relaxed) }
    }

    static var failed: Int { failures.load(ordering: .relaxed) }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let value = Atomic(0)
    func add() { value.add(1, ordering: .relaxed) }
    var count: Int { value.load(ordering: .relaxed) }
}

/// Waits until `condition` holds, for a minute at most.
func eventually(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<6000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}
