import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// How pictures are rotated now, and how those that are prepared from now on are. A pure value; ``DisplayOutput`` keeps it behind its lock.
///
/// A rotation voids nothing. While it plays, what was prepared before is shown as it is, and then the first rotated picture, at its own time. Once
/// that is committed, what was rotated otherwise is not shown any more. Where nothing is prepared for ``preparationTimeout``, because it is paused or a
/// still stands, the engine is told to paint again what is on the screen.
struct RotationState {
    /// How pictures are painted from one change to the next.
    struct Version: Hashable {
        var rotation: Rotation
        /// Grows with every change.
        var serial: UInt64 = 0
    }

    /// How long nothing rotated may be prepared before it is asked for. At 24 frames a second one is prepared every 42 ms.
    static let preparationTimeout = MediaTime.milliseconds(100)

    /// What was asked for, without that of the panel.
    private(set) var configured: Rotation
    private(set) var panel = Rotation.none
    /// That of what is prepared from now on.
    private(set) var wanted: Version
    /// That of what is on the screen.
    private(set) var shown: Version
    private var committed: UInt64 = 0
    private var askedAt: HostTime?

    init(_ configured: Rotation) {
        self.configured = configured
        (wanted, shown) = (Version(rotation: configured), Version(rotation: configured))
    }

    /// Pictures are to be rotated by `rotation`, on top of how the panel is built in; false where they are already.
    mutating func ask(_ rotation: Rotation, at now: HostTime) -> Bool {
        configured = rotation
        guard wanted.rotation != configured + panel else { return false }
        wanted = Version(rotation: configured + panel, serial: wanted.serial + 1)
        askedAt = now
        return true
    }

    /// Pictures are to be painted differently, for another reason than a rotation.
    mutating func askRepaint(at now: HostTime) {
        wanted.serial += 1
        askedAt = now
    }

    /// The screen has become another one, which shows nothing yet; returns the rotation where it is another one now.
    mutating func renew(panel: Rotation) -> Rotation? {
        self.panel = panel
        wanted = Version(rotation: configured + panel, serial: wanted.serial + 1)
        (committed, askedAt) = (wanted.serial, nil)
        defer { shown = wanted }
        return shown.rotation == wanted.rotation ? nil : wanted.rotation
    }

    /// A scene has been prepared under a version.
    mutating func prepared(_ version: Version) { if version.serial == wanted.serial { askedAt = nil } }

    /// Whether something was prepared under a version that is over.
    func isOver(_ version: Version) -> Bool { version.serial < committed }

    /// A scene that was prepared under a version will be shown.
    mutating func commit(_ version: Version) { committed = max(committed, version.serial) }

    /// It is shown; returns the rotation where it is another one than before.
    mutating func flipped(to version: Version) -> Rotation? {
        defer { shown = version }
        return shown.rotation == version.rotation ? nil : version.rotation
    }

    /// When ``takeRepaint(at:)`` is to be asked; nil where nothing is to be rotated.
    var repaintTime: HostTime? { askedAt.map { $0 + Self.preparationTimeout } }

    /// Whether what is on the screen is to be painted again; once for every change.
    mutating func takeRepaint(at now: HostTime) -> Bool {
        guard let time = repaintTime, time <= now else { return false }
        askedAt = nil
        return true
    }
}
