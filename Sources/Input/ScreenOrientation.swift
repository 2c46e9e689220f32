import Glibc
import KioskPlatform
import KioskVocabulary

/// How the picture has to be rotated to be upright, from where gravity pulls. A pure value: readings of an accelerometer in, rotations out.
///
/// Axes are those of the kernel's iio devices after the mount matrix: x to the right of the screen, y to its top, z out of it; a machine
/// that stands upright reads a negative y. A rotation is told when the machine has been nearer to it than to any other for ``settling``. It has
/// to be rotated ``hysteresis`` beyond the middle between two, so that one that stands at an angle does not waver, and one that lies flat
/// stays as it was.
package struct ScreenOrientation: Sendable {
    /// How long it has to rest in another place.
    package static let settling = MediaTime.milliseconds(500)
    /// Beyond 45°, in degrees.
    package static let hysteresis = 15.0
    /// How much of gravity is at least along the screen: less, and the machine lies nearly flat.
    package static let leastPart = 0.5

    /// How the picture is rotated; nil before the first.
    package private(set) var rotation: Rotation?
    private var candidate: (rotation: Rotation, since: HostTime)?

    /// Nothing is known yet.
    package init() {}

    /// Takes a reading, in any unit. Returns the rotation that the picture needs from now on, where it is another one.
    package mutating func update(x: Double, y: Double, z: Double, at time: HostTime) -> Rotation? {
        let (along, whole) = ((x * x + y * y).squareRoot(), (x * x + y * y + z * z).squareRoot())
        guard whole.isFinite, whole > 0, along / whole >= Self.leastPart else {
            candidate = nil
            return nil
        }
        let wanted = Self.picture(forMachineRotated: atan2(x, -y) * 180 / .pi, present: rotation)
        guard wanted != rotation else {
            candidate = nil
            return nil
        }
        guard let candidate, candidate.rotation == wanted else {
            self.candidate = (wanted, time)
            return nil
        }
        guard time - candidate.since >= Self.settling else { return nil }
        self.candidate = nil
        rotation = wanted
        return wanted
    }

    /// The rotation of the picture for a machine that is rotated clockwise by so many degrees.
    private static func picture(forMachineRotated degrees: Double, present: Rotation?) -> Rotation {
        if let present {
            // The machine's own rotation is the opposite of the picture's.
            let beyond = (degrees + Double(present.rawValue)).remainder(dividingBy: 360)
            if abs(beyond) <= 45 + hysteresis { return present }
        }
        let quarters = Int((degrees / 90).rounded())
        return Rotation(rawValue: ((-quarters % 4 + 4) % 4) * 90)!
    }
}
