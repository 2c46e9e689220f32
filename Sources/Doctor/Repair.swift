import Glibc
import KioskPlatform

/// Carries remedies out, one after another, and says what became of each.
package enum Repair {
    /// What became of one remedy: what was done to what, or why not.
    package struct Deed: Hashable, Sendable {
        package var remedy: Remedy
        /// nil where it was done.
        package var failure: String?
    }

    /// Carries out all remedies of `findings` in order, each once, below the folder `root`. The rest of a finding is left after a remedy that
    /// failed: it is for what the first was to have done. Files that are there already are not touched.
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

    /// Runs a program of the system, for at most ten seconds; why it failed, nil where it did not.
    package static func failure(of words: [String]) -> String? {
        switch BoundedCommand.run(words, limit: .seconds(10)) {
        case .ended(0, _): nil
        case .ended(let status, let output): "status \(status): \(output.split(separator: "\n").last.map(String.init) ?? "no message")"
        case .killed: "the command did not end within 10 s"
        case .refused(let code): "\(SystemError(code))"
        }
    }

    /// Writes a file that is there whole or not at all, with its folder; why not, nil where it is written.
    private static func write(_ text: String, to path: String) -> String? {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        mkdir(folder, 0o755)
        // What somebody else has written stays.
        return AtomicFile.write(path, text, mode: 0o644, isSynced: true, replaces: false)?.description
    }
}
