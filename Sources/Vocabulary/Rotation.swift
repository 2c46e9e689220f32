/// A clockwise rotation by a multiple of 90°.
package enum Rotation: Int, Sendable, CaseIterable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    /// Whether it swaps width and height.
    package var swapsAxes: Bool { self == .clockwise90 || self == .clockwise270 }

    /// Returns one rotation after another.
    package static func + (a: Rotation, b: Rotation) -> Rotation { Rotation(rawValue: (a.rawValue + b.rawValue) % 360)! }

    /// Returns the inverse rotation.
    package static prefix func - (a: Rotation) -> Rotation { Rotation(rawValue: (360 - a.rawValue) % 360)! }
}
