internal import Glibc
internal import KioskPlatform
package import KioskReaders
internal import Synchronization

extension Player {
    /// The place where media are read. Their bytes come from strangers, and a fault of a decoder ends its process.
    public enum Isolation: Hashable, Sendable {
        /// In processes without rights, if `kiosk-reader` lies beside the application's program, or in `../lib/kiosk`; else in the
        /// application. It is a product of the package: build it together with the application.
        case automatic
        /// In processes without rights, by the `kiosk-reader` at this path. If it cannot start, nothing can be played.
        case reader(path: String)
        /// In the application.
        case off
    }

    /// Where future players and assets read media.
    public static var isolation: Isolation {
        get { choice.withLock { $0.isolation } }
        set { choice.withLock { $0 = Choice(newValue) } }
    }

    /// The readers of future players and assets.
    package static var readers: Readers { choice.withLock { $0.readers } }

    private struct Choice {
        let isolation: Isolation
        let readers: Readers

        init(_ isolation: Isolation) {
            self.isolation = isolation
            readers =
                switch isolation {
                case .automatic: unsafe access(Readers.shared.executable, X_OK) == 0 ? .shared : .inProcess
                case .reader(let path): Readers(executable: path)
                case .off: .inProcess
                }
        }
    }

    private static let choice = Mutex(Choice(.automatic))
}
