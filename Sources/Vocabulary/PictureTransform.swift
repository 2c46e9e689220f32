import Glibc

/// An affine transform of points: (x, y) becomes (a·x + c·y + tx, b·x + d·y + ty). Its numbers are finite.
package struct PictureTransform: Hashable, Sendable {
    package let a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double

    /// The transform that changes nothing.
    package static let identity = PictureTransform(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)
    /// The limit of each number, in either direction.
    private static let limit = 1e6

    /// Creates a transform; numbers are clamped, and one that is not a number counts as zero.
    package init(a: Double, b: Double, c: Double, d: Double, tx: Double, ty: Double) {
        func clamped(_ number: Double) -> Double { number.isNaN ? 0 : min(max(number, -Self.limit), Self.limit) }
        (self.a, self.b, self.c, self.d) = (clamped(a), clamped(b), clamped(c), clamped(d))
        (self.tx, self.ty) = (clamped(tx), clamped(ty))
    }

    /// Creates a scale, followed by a move.
    package init(scaleX: Double, y: Double, moveX: Double = 0, y moveY: Double = 0) {
        self.init(a: scaleX, b: 0, c: 0, d: y, tx: moveX, ty: moveY)
    }

    /// Returns this transform followed by another.
    package func then(_ next: PictureTransform) -> PictureTransform {
        PictureTransform(
            a: a * next.a + b * next.c, b: a * next.b + b * next.d, c: c * next.a + d * next.c, d: c * next.b + d * next.d,
            tx: tx * next.a + ty * next.c + next.tx, ty: tx * next.b + ty * next.d + next.ty)
    }

    package func apply(_ x: Double, _ y: Double) -> (x: Double, y: Double) { (a * x + c * y + tx, b * x + d * y + ty) }

    package var determinant: Double { a * d - b * c }

    /// The transform back; nil if this one flattens pictures to a line.
    package var inverse: PictureTransform? {
        let determinant = determinant
        guard abs(determinant) > 1e-9 else { return nil }
        return PictureTransform(
            a: d / determinant, b: -b / determinant, c: -c / determinant, d: a / determinant,
            tx: (c * ty - d * tx) / determinant, ty: (b * tx - a * ty) / determinant)
    }

    // MARK: Between two

    /// Returns the transform at `share` (0…1) of the way to another one, for a picture with its middle at (x, y). The middle moves in a
    /// straight line; the picture turns the short way, and scale and shear change evenly. If one of the two mirrors or flattens the
    /// picture, the numbers change evenly instead.
    package func moved(to other: PictureTransform, share: Double, around middle: (x: Double, y: Double)) -> PictureTransform {
        if share <= 0 || self == other { return self }
        if share >= 1 { return other }
        func between(_ from: Double, _ to: Double) -> Double { from + (to - from) * share }
        let (from, to) = (Parts(self), Parts(other))
        guard determinant * other.determinant > 1e-12 else {
            return PictureTransform(
                a: between(a, other.a), b: between(b, other.b), c: between(c, other.c), d: between(d, other.d),
                tx: between(tx, other.tx), ty: between(ty, other.ty))
        }
        let angle = from.angle + remainder(to.angle - from.angle, 2 * .pi) * share
        let (scaleX, scaleY) = (between(from.scaleX, to.scaleX), between(from.scaleY, to.scaleY))
        let shear = between(from.shear, to.shear)
        let (a, b) = (scaleX * cos(angle), scaleX * sin(angle))
        let (c, d) = (shear * cos(angle) - scaleY * sin(angle), shear * sin(angle) + scaleY * cos(angle))
        let (begin, end) = (apply(middle.x, middle.y), other.apply(middle.x, middle.y))
        return PictureTransform(
            a: a, b: b, c: c, d: d, tx: between(begin.x, end.x) - (a * middle.x + c * middle.y),
            ty: between(begin.y, end.y) - (b * middle.x + d * middle.y))
    }

    /// The linear part as a shear and a scale, followed by a rotation.
    private struct Parts {
        var angle: Double, scaleX: Double, scaleY: Double, shear: Double

        init(_ transform: PictureTransform) {
            angle = atan2(transform.b, transform.a)
            scaleX = hypot(transform.a, transform.b)
            shear = transform.c * cos(angle) + transform.d * sin(angle)
            scaleY = transform.d * cos(angle) - transform.c * sin(angle)
        }
    }
}

/// The place of a picture in a film, and its opacity.
package struct PicturePlacement: Hashable, Sendable {
    /// The transform, in pixels of the film from its top left corner. It moves the picture as gravity has placed it.
    package var transform = PictureTransform.identity
    /// Whether the transform takes the picture as stored instead: its top left corner at zero, in its own pixels, before it is upright.
    package var isOfStored = false
    /// The opacity, 0…1.
    package var opacity = 1.0

    /// A picture where gravity has placed it.
    package static let plain = PicturePlacement()

    package init() {}
}
