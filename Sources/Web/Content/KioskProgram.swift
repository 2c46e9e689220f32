import Glibc
import KioskPlatform

/// The programs beside this one.
enum KioskProgram {
    /// The path of `kiosk`: beside this program, or in `bin` if this one is in `lib/kiosk`. nil if it is not there.
    static let kiosk: String? = {
        guard let own = SmallFile.link("/proc/self/exe") else { return nil }
        let folder = Folder.of(own)
        return [folder + "/kiosk", Folder.of(Folder.of(folder)) + "/bin/kiosk"].first { access($0, X_OK) == 0 }
    }()

    /// Runs `kiosk`, and returns its exit status and output.
    ///
    /// - Throws: the refusal if it is missing, or did not end in time.
    static func run(_ words: [String], limit: MediaTime) throws(APIError) -> (status: Int32, output: String) {
        guard let kiosk else { throw APIError(404, "no-kiosk", "the program kiosk is not beside kiosk-web") }
        switch BoundedCommand.run([kiosk] + words, limit: limit) {
        case .ended(let status, let output): return (status, output)
        case .killed: throw APIError(504, "not-yet", "kiosk \(words.first ?? "") took longer than \(Int(limit.seconds)) s")
        case .refused(let code): throw APIError(500, "failed", "start \(kiosk): \(SystemError(code))")
        }
    }
}
