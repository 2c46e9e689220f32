import Glibc
import KioskPlatform

/// Applies remedies one after another, and reports the result of each.
package enum Repair {
    /// The result of one remedy.
    package struct Deed: Hashable, Sendable {
        package var remedy: Remedy
        /// The reason of a failure; nil after a success.
        package var failure: String?
    }

    /// Applies all remedies of `findings` in order, each once, below the folder `root`. After a failure it skips the rest of that finding,
    /// which depends on the failed remedy. It does not touch existing files.
    package static func run(
        _ findings: [Finding], root: String = "/",
        command: (_ words: [String]) -> String? = { words in failure(of: words) }
    ) -> [Deed] {
        var done: Set<Remedy> = []
        var deeds: [Deed] = []
        for finding in findings {
            for remedy in finding.remedies where done.insert(remedy).inserted {
                let failure =
                    switch remedy {
                    case .write(let path, let text): write(text, to: BoxFolder(root).root + path)
                    case .run(let words): command(words)
                    }
                deeds.append(Deed(remedy: remedy, failure: failure))
                if failure != nil { break }
            }
        }
        return deeds
    }

    /// Runs a program of the system for at most ten seconds; returns the reason of a failure, or nil.
    package static func failure(of words: [String]) -> String? {
        switch BoundedCommand.run(words, limit: .seconds(10)) {
        case .ended(0, _): nil
        case .ended(let status, let output): "status \(status): \(output.split(separator: "\n").last.map(String.init) ?? "no message")"
        case .killed: "the command did not end within 10 s"
        case .refused(let code): "\(SystemError(code))"
        }
    }

    /// Writes a new file atomically, with its folder; returns the reason of a failure, or nil.
    private static func write(_ text: String, to path: String) -> String? {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        mkdir(folder, 0o755)
        // An existing file stays.
        return AtomicFile.write(path, text, mode: 0o644, isSynced: true, replaces: false)?.description
    }
}
