import Glibc
import KioskPlatform
import KioskVocabulary

/// The rotation that keeps the picture upright, by the direction of gravity. A pure value: readings of an accelerometer in, rotations out.
///
/// Axes are those of the kernel's iio devices after the mount matrix. They point to the screen's right (x), to its top (y) and out of the
/// screen (z). A machine that stands upright reads a negative y. A rotation is reported once the machine has been nearer to it than to any
/// other for ``settling``. The machine has to turn ``hysteresis`` beyond the middle between two, so a machine at an angle does not waver. A
/// machine that lies flat keeps its rotation.
package struct ScreenOrientation: Sendable {
    /// How long the machine has to stay in another orientation.
    package static let settling = MediaTime.milliseconds(500)
    /// The angle beyond 45°, in degrees.
    package static let hysteresis = 15.0
    /// The least part of gravity along the screen; with less, the machine lies nearly flat.
    package static let leastPart = 0.5

    /// The rotation of the picture; nil before the first.
    package private(set) var rotation: Rotation?
    private var candidate: (rotation: Rotation, since: HostTime)?

    /// Creates a value without readings.
    package init() {}

    /// Takes a reading, in any unit. Returns the rotation that the picture needs from now on, if it has changed.
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

    /// Returns the rotation of the picture for a machine that is rotated clockwise by this number of degrees.
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
