import Glibc
import KioskPlatform

/// The program `kiosk`, which opens media and looks at the machine for kiosk-web.
package struct KioskProgram: Sendable {
    /// Its path; nil if it is not there.
    private let path: String?

    /// The program at this path.
    package init(path: String?) { self.path = path }

    /// The program beside this one, or in `bin` if this one is in `lib/kiosk`.
    package static var installed: KioskProgram {
        let folder = Folder.of(SmallFile.link("/proc/self/exe") ?? "/")
        return KioskProgram(path: [folder + "/kiosk", Folder.of(Folder.of(folder)) + "/bin/kiosk"].first { access($0, X_OK) == 0 })
    }

    /// Runs it, and returns its exit status and output. Blocks.
    ///
    /// - Throws: the refusal if it is missing, or did not end in time.
    func run(_ words: [String], limit: MediaTime) throws(APIError) -> (status: Int32, output: String) {
        guard let path else { throw APIError(404, "no-kiosk", "the program kiosk is not beside kiosk-web") }
        switch BoundedCommand.run([path] + words, limit: limit) {
        case .ended(let status, let output): return (status, output)
        case .killed: throw APIError(504, "not-yet", "kiosk \(words.first ?? "") took longer than \(Int(limit.seconds)) s")
        case .refused(let code): throw APIError(500, "failed", "start \(path): \(SystemError(code))")
        }
    }
}
