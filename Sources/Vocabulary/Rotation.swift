/// A clockwise rotation by a multiple of 90°.
package enum Rotation: Int, Sendable, CaseIterable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    /// Whether width and height change places.
    package var swapsAxes: Bool { self == .clockwise90 || self == .clockwise270 }

    /// One rotation after another.
    package static func + (a: Rotation, b: Rotation) -> Rotation { Rotation(rawValue: (a.rawValue + b.rawValue) % 360)! }
}
