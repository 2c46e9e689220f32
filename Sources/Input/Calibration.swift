import KioskPlatform
import KioskVocabulary

/// Finds the matrix of a touch screen from touches on targets. A pure value: what the screen reports in, where the next target is and in
/// the end the matrix out.
///
/// The first screen that is touched is the one that is calibrated. A finger counts where it is lifted, so that it can be moved onto the
/// target.
package struct Calibration: Sendable {
    /// Where the targets are, on the picture as a viewer sees it: away from the edges, where panels are least exact.
    package static let targets: [(x: Double, y: Double)] = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9), (0.5, 0.5)]
    /// How far a target may be missed by the best matrix: more, and the wrong places were touched.
    package static let largestError = 0.04
    /// A touch this near to the one before is the same place once more.
    static let leastDistance = 0.05

    /// What a touch has brought.
    package enum Outcome: Hashable, Sendable {
        /// Nothing: another device, a finger that is still down, the same place again.
        case ignored
        /// It counts, and the next target is to be touched.
        case next
        /// All targets have been touched.
        case found(CalibrationMatrix, device: DeviceID)
        /// The touches do not fit: it begins again with the first target.
        case startedAgain
    }

    private let rotation: Rotation
    private var samples: [CalibrationMatrix.Sample] = []
    /// The screen that is being calibrated.
    package private(set) var device: DeviceID?

    /// For a picture that is rotated clockwise by `rotation` on its panel.
    package init(rotation: Rotation) { self.rotation = rotation }

    /// How many targets have been touched.
    package var count: Int { samples.count }

    /// Where the next target is, on the picture as a viewer sees it.
    package var target: (x: Double, y: Double) { Self.targets[min(count, Self.targets.count - 1)] }

    /// Takes the next event of any device, whose positions are those of its axes, neither calibrated nor rotated.
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
