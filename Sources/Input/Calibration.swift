import KioskPlatform
import KioskVocabulary

/// Finds the matrix of a touch screen from touches on targets. A pure value: the screen's reports in, the next target's place and finally
/// the matrix out.
///
/// Calibrates the first screen that is touched. A finger counts at its lift, so that it can move onto the target before.
package struct Calibration: Sendable {
    /// The targets on the picture as a viewer sees it: away from the edges, where panels are least exact.
    package static let targets: [(x: Double, y: Double)] = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9), (0.5, 0.5)]
    /// The greatest distance from a target with the best matrix; a larger one means touches in wrong places.
    package static let largestError = 0.04
    /// A touch nearer than this to the previous one repeats the same place.
    static let leastDistance = 0.05

    /// The outcome of a touch.
    package enum Outcome: Hashable, Sendable {
        /// No effect: another device, a finger that is still down, the same place again.
        case ignored
        /// The touch counts, and the next target follows.
        case next
        /// All targets are touched.
        case found(CalibrationMatrix, device: DeviceID)
        /// The touches do not fit: the calibration restarts with the first target.
        case startedAgain
    }

    private let rotation: Rotation
    private var samples: [CalibrationMatrix.Sample] = []
    /// The screen under calibration.
    package private(set) var device: DeviceID?

    /// Creates a calibration for a picture that is rotated clockwise by `rotation` on its panel.
    package init(rotation: Rotation) { self.rotation = rotation }

    /// The number of targets touched.
    package var count: Int { samples.count }

    /// The place of the next target on the picture as a viewer sees it.
    package var target: (x: Double, y: Double) { Self.targets[min(count, Self.targets.count - 1)] }

    /// Takes the next event of any device. Its positions are those of its axes, neither calibrated nor rotated.
    package mutating func update(_ event: ContactEvent) -> Outcome {
        guard event.phase == .up, event.contact.surface == .display, device == nil || device == event.device else { return .ignored }
        let contact = event.contact
        if let last = samples.last?.reported, max(abs(last.x - contact.x), abs(last.y - contact.y)) < Self.leastDistance { return .ignored }
        device = event.device
        samples.append(CalibrationMatrix.Sample(reported: (contact.x, contact.y), target: (-rotation).upright(target)))
        if count < Self.targets.count { return .next }
        if let matrix = CalibrationMatrix(fitting: samples), matrix.largestError(of: samples) <= Self.largestError {
            return .found(matrix, device: event.device)
        }
        (samples, device) = ([], nil)
        return .startedAgain
    }
}
