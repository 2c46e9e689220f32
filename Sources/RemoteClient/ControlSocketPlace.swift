import Glibc
import KioskPlatform
import KioskVocabulary

extension ControlSocketChoice {
    /// The path for a client to connect to: the chosen path; else the session's or the service's, the first that exists.
    package var askingPath: String {
        switch self {
        case .path(let path): path
        case .off, .automatic: [Self.ofSession].compactMap { $0 }.first { access($0, F_OK) == 0 } ?? Self.ofService
        }
    }

    /// The folder of the service's socket.
    package static let serviceFolder = "/run/kiosk"
    /// The service's socket.
    package static let ofService = serviceFolder + "/control.sock"
    /// The socket of the user's session; nil without a session.
    package static var ofSession: String? {
        guard let folder = environment("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else { return nil }
        return folder + "/kiosk/control.sock"
    }
}
