import Glibc
import KioskPlatform
import KioskVocabulary

extension ControlSocketChoice {
    /// Where a player listens: the path that was chosen; else in the folder of the user's session, else in that of the service where it may
    /// write there; nil where it does not listen.
    package var listeningPath: String? {
        switch self {
        case .off: nil
        case .path(let path): path
        case .automatic: Self.ofSession ?? (access(Self.serviceFolder, W_OK | X_OK) == 0 ? Self.ofService : nil)
        }
    }

    /// Why there is no ``listeningPath``; nil where there is one, or none is wanted.
    package var obstacle: String? {
        guard self == .automatic, Self.ofSession == nil, access(Self.serviceFolder, W_OK | X_OK) != 0 else { return nil }
        let reason = SystemError()
        return "XDG_RUNTIME_DIR is not set, and \(Self.serviceFolder) cannot be written to: \(reason); [control] socket can name a path"
    }

    /// Where a player is looked for: the path that was chosen, else the first of the user's session and the service that is there.
    package var askingPath: String {
        switch self {
        case .path(let path): path
        case .off, .automatic: [Self.ofSession].compactMap { $0 }.first { access($0, F_OK) == 0 } ?? Self.ofService
        }
    }

    private static let serviceFolder = "/run/kiosk"
    private static let ofService = serviceFolder + "/control.sock"
    private static var ofSession: String? {
        guard let folder = environment("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else { return nil }
        return folder + "/kiosk/control.sock"
    }
}
