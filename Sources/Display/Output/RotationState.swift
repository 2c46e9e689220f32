import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The rotation of the current pictures, and of those prepared from now on. A pure value; ``DisplayOutput`` keeps it behind its lock.
///
/// A rotation voids nothing. During playback, kiosk shows the prepared pictures as they are, and then the first rotated picture, at its own
/// time. After that commit it shows no picture of the former rotation. While paused or on a still, nothing new may be prepared for
/// ``preparationTimeout``. Then the engine has to paint the current picture again.
struct RotationState {
    /// The way to paint pictures from one change to the next.
    struct Version: Hashable {
        var rotation: Rotation
        /// Grows with every change.
        var serial: UInt64 = 0
    }

    /// How long to wait for a rotated picture before kiosk requests one. At 24 frames a second, the engine prepares one every 42 ms.
    static let preparationTimeout = MediaTime.milliseconds(100)

    /// The requested rotation, without the panel's.
    private(set) var configured: Rotation
    private(set) var panel = Rotation.none
    /// The version of pictures prepared from now on.
    private(set) var wanted: Version
    /// The version of the picture on the screen.
    private(set) var shown: Version
    private var committed: UInt64 = 0
    private var askedAt: HostTime?

    init(_ configured: Rotation) {
        self.configured = configured
        (wanted, shown) = (Version(rotation: configured), Version(rotation: configured))
    }

    /// Requests a rotation by `rotation`, on top of the panel's. Returns false if pictures have it already.
    mutating func ask(_ rotation: Rotation, at now: HostTime) -> Bool {
        configured = rotation
        guard wanted.rotation != configured + panel else { return false }
        wanted = Version(rotation: configured + panel, serial: wanted.serial + 1)
        askedAt = now
        return true
    }

    /// Requests another change of painting than a rotation.
    mutating func askRepaint(at now: HostTime) {
        wanted.serial += 1
        askedAt = now
    }

    /// Handles a new screen, which shows nothing yet. Returns the rotation if it has changed.
    mutating func renew(panel: Rotation) -> Rotation? {
        self.panel = panel
        wanted = Version(rotation: configured + panel, serial: wanted.serial + 1)
        (committed, askedAt) = (wanted.serial, nil)
        defer { shown = wanted }
        return shown.rotation == wanted.rotation ? nil : wanted.rotation
    }

    /// Records that a scene was prepared under `version`.
    mutating func prepared(_ version: Version) { if version.serial == wanted.serial { askedAt = nil } }

    /// Whether kiosk no longer shows scenes of `version`.
    func isOver(_ version: Version) -> Bool { version.serial < committed }

    /// Records the commit of a scene that was prepared under `version`.
    mutating func commit(_ version: Version) { committed = max(committed, version.serial) }

    /// Records the flip. Returns the rotation if it has changed.
    mutating func flipped(to version: Version) -> Rotation? {
        defer { shown = version }
        return shown.rotation == version.rotation ? nil : version.rotation
    }

    /// When to call ``takeRepaint(at:)``; nil if no repaint is wanted.
    var repaintTime: HostTime? { askedAt.map { $0 + Self.preparationTimeout } }

    /// Returns whether to paint the current picture again; true once for every change.
    mutating func takeRepaint(at now: HostTime) -> Bool {
        guard let time = repaintTime, time <= now else { return false }
        askedAt = nil
        return true
    }
}
