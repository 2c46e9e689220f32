import Glibc
import KioskVocabulary

extension Composition {
    /// An affine transform of a picture: CGAffineTransform. The point (x, y) becomes (a·x + c·y + tx, b·x + d·y + ty). Distances are pixels,
    /// from the top left corner, x to the right and y down.
    public struct Transform: Hashable, Sendable {
        /// The numbers of the formula. A film clamps them to a million, and one that is not a number counts as zero.
        public var a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double

        /// The transform that changes nothing.
        public static let identity = Transform(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)

        /// Creates a transform of its six numbers.
        public init(a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double) {
            (self.a, self.b, self.c, self.d, self.tx, self.ty) = (a, b, c, d, tx, ty)
        }

        /// Creates the transform that changes nothing.
        public init() { self = .identity }

        /// Creates a move.
        public init(translationX x: Double, y: Double) { self.init(a: 1, b: 0, c: 0, d: 1, tx: x, ty: y) }

        /// Creates a scale away from the top left corner.
        public init(scaleX x: Double, y: Double) { self.init(a: x, b: 0, c: 0, d: y, tx: 0, ty: 0) }

        /// Creates a clockwise rotation around the top left corner, in radians.
        public init(rotationAngle angle: Double) { self.init(a: cos(angle), b: sin(angle), c: -sin(angle), d: cos(angle), tx: 0, ty: 0) }

        /// Whether it changes nothing.
        public var isIdentity: Bool { self == .identity }

        /// Returns this transform followed by another one.
        public func concatenating(_ next: Transform) -> Transform {
            Transform(
                a: a * next.a + b * next.c, b: a * next.b + b * next.d, c: c * next.a + d * next.c, d: c * next.b + d * next.d,
                tx: tx * next.a + ty * next.c + next.tx, ty: tx * next.b + ty * next.d + next.ty)
        }

        /// Returns a move followed by this transform.
        public func translatedBy(x: Double, y: Double) -> Transform { Transform(translationX: x, y: y).concatenating(self) }

        /// Returns a scale followed by this transform.
        public func scaledBy(x: Double, y: Double) -> Transform { Transform(scaleX: x, y: y).concatenating(self) }

        /// Returns a rotation followed by this transform.
        public func rotated(by angle: Double) -> Transform { Transform(rotationAngle: angle).concatenating(self) }

        /// Returns the transform back; the same one if there is no way back.
        public func inverted() -> Transform {
            let determinant = a * d - b * c
            guard determinant.isFinite, determinant != 0 else { return self }
            return Transform(
                a: d / determinant, b: -b / determinant, c: -c / determinant, d: a / determinant,
                tx: (c * ty - d * tx) / determinant, ty: (b * tx - a * ty) / determinant)
        }

        /// The engine's transform.
        var engine: PictureTransform { PictureTransform(a: a, b: b, c: c, d: d, tx: tx, ty: ty) }
    }
}
