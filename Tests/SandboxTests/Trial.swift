import CSandbox
import CTestSupport
import Glibc

/// A child that enters the sandbox and performs one deed.
struct Trial {
    var profile = KIOSK_SANDBOX_FILE
    var grants: UInt32 = 0
    /// Whether the child enters seccomp. If false, only the other layers are active.
    var isFiltered = true

    func run(_ deed: test_deed, number: Int32 = 0, arguments: [Int] = []) -> test_sandbox_outcome {
        let given = arguments + [Int](repeating: 0, count: 6 - arguments.count)
        var trial = test_sandbox_trial()
        (trial.profile, trial.deed, trial.is_filtered, trial.grants, trial.number) = (profile, deed, isFiltered, grants, number)
        trial.arguments = (given[0], given[1], given[2], given[3], given[4], given[5])
        return test_in_sandbox(&trial)
    }

    /// Makes a system call of the table, by its name.
    func call(_ name: String, _ arguments: [Int] = []) -> test_sandbox_outcome {
        run(TEST_CALL, number: Row.number(name), arguments: arguments)
    }

    /// The sandbox layers that are in force on this machine.
    static let inForce = Trial().run(TEST_CALL, number: Row.number("getpid")).state
    static var hasFilter: Bool { inForce.has_filter }
    static var hasLandlock: Bool { inForce.landlock > 0 }
}

extension test_sandbox_outcome: @retroactive CustomStringConvertible {
    /// The text that a failed test prints.
    public var description: String {
        let lack = withUnsafeBytes(of: state.lack) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return """
            status \(status), result \(result), errno \(error), \(refusals.count) refused, last \(refusals.last), worst \(refusals.worst), \
            seccomp \(state.has_filter), Landlock \(state.landlock), “\(lack)”, log “\(text)”
            """
    }

    /// The signal that ended the child; nil if the child exited by itself.
    var signal: Int32? { status & 0x7f == 0 ? nil : status & 0x7f }
    /// Whether the child survived its deed.
    var isAlive: Bool { status == 0 && has_entered }

    /// The child's output on its log.
    var text: String {
        withUnsafeBytes(of: log) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// A row of the table of system calls.
struct Row {
    var rules: [kiosk_sandbox_rule], why: String
    var calls: [(name: String, number: Int32)]

    static let all: [Row] = {
        var count = 0
        return UnsafeBufferPointer(start: kiosk_sandbox_calls(&count), count: count).map { row in
            Row(
                rules: [row.rules.0, row.rules.1, row.rules.2, row.rules.3], why: String(cString: row.why),
                calls: UnsafeBufferPointer(start: row.calls, count: row.count).map { (String(cString: $0.name), $0.number) })
        }
    }()

    /// Returns the calls with this rule that the processor has.
    static func calls(_ rule: kiosk_sandbox_rule, in profile: kiosk_sandbox_profile) -> [(name: String, number: Int32)] {
        all.filter { $0.rules[Int(profile.rawValue)] == rule }.flatMap(\.calls).filter { $0.number >= 0 }
    }

    /// Returns the number of a call; -1, which no call has, if the table lacks the name.
    static func number(_ name: String) -> Int32 { all.lazy.flatMap(\.calls).first { $0.name == name }?.number ?? -1 }
}
