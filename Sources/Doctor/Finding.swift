/// The result of one check of the machine.
package struct Finding: Hashable, Sendable {
    /// The importance of a finding.
    package enum Severity: String, Hashable, Sendable, CaseIterable {
        /// Nothing is wrong.
        case ok
        /// The check could not run; the text says why.
        case unknown
        /// Playback works, but something may fail later.
        case warning
        /// Playback fails, or is wrong.
        case error
    }

    /// The check's code, for programs: `console-blanking`.
    package var code: String
    package var severity: Severity
    /// The problem, in one sentence.
    package var text: String
    /// The commands to type, or other steps, one line each.
    package var advice: [String]
    /// The steps of `--fix`; empty if they are not safe without confirmation.
    package var remedies: [Remedy]

    package init(_ code: String, _ severity: Severity, _ text: String, advice: [String] = [], remedies: [Remedy] = []) {
        (self.code, self.severity, self.text, self.advice, self.remedies) = (code, severity, text, advice, remedies)
    }
}

/// A reversible change of the machine that touches no file of somebody else.
package enum Remedy: Hashable, Sendable, CustomStringConvertible {
    /// Write this text to a new file.
    case write(path: String, text: String)
    /// Run this program, with its arguments, as root.
    case run([String])

    package var description: String {
        switch self {
        case .write(let path, let text): "write \(path): \(text.split(separator: "\n").joined(separator: ", "))"
        case .run(let words): words.joined(separator: " ")
        }
    }
}
