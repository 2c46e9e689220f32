/// What one check says about the box.
package struct Finding: Hashable, Sendable {
    /// How much it matters.
    package enum Severity: String, Hashable, Sendable, CaseIterable {
        /// Nothing is wrong.
        case ok
        /// The check had nothing to look at; the text says what was missing.
        case unknown
        /// It plays, but something will hurt one day, or may.
        case warning
        /// It does not play, or not as it should.
        case error
    }

    /// The check's word, for programs: `console-blanking`.
    package var code: String
    package var severity: Severity
    /// One sentence: what is wrong with what.
    package var text: String
    /// What the operator types, or does, one line each.
    package var advice: [String]
    /// What `--fix` does about it; empty where that is not safe to do unasked.
    package var remedies: [Remedy]

    package init(_ code: String, _ severity: Severity, _ text: String, advice: [String] = [], remedies: [Remedy] = []) {
        (self.code, self.severity, self.text, self.advice, self.remedies) = (code, severity, text, advice, remedies)
    }
}

/// A change of the box that can be taken back and touches nothing that somebody else has written.
package enum Remedy: Hashable, Sendable, CustomStringConvertible {
    /// Write this text to a file that is not there yet.
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
