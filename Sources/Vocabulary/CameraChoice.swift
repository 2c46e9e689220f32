/// A choice of camera: `auto`, `front`, `rear`, a device such as `/dev/video0`, or a part of its name.
package enum CameraChoice: WordedChoice {
    /// The first camera that delivers pictures.
    case automatic
    /// The camera on the side of the display.
    case front
    /// The camera on the other side.
    case rear
    /// The camera of a device file.
    case device(String)
    /// The first camera whose name, or place on the bus, contains this; case does not matter.
    case name(String)

    package static let words: KeyValuePairs<String, Self> = ["auto": .automatic, "front": .front, "rear": .rear, "back": .rear]
    package static func other(_ text: String) -> Self? { isName(text) ? text.hasPrefix("/") ? .device(text) : .name(text) : nil }
    package var otherText: String {
        switch self {
        case .device(let text), .name(let text): text
        case .automatic, .front, .rear: ""
        }
    }
}

/// The requested mode of a camera: `1280x720@30`, `1280x720`, or `@25`.
package struct CameraMode: Hashable, Sendable, LosslessStringConvertible {
    /// Pixels across and down; nil for the defaults.
    package var width: Int?, height: Int?
    /// Pictures a second; nil for the default.
    package var rate: Double?

    package init() {}

    /// nil if `text` has another form, or a number is out of range.
    package init?(_ text: String) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        if let size = parts.first, !size.isEmpty {
            let lengths = size.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
            guard lengths.count == 2, let width = lengths[0], let height = lengths[1], 16...8192 ~= width, 16...8192 ~= height else {
                return nil
            }
            (self.width, self.height) = (width, height)
        }
        if parts.count == 2 {
            guard parts[1].allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let rate = Double(parts[1]), 1...240 ~= rate else {
                return nil
            }
            self.rate = rate
        }
        if width == nil, rate == nil { return nil }
    }

    /// `1280x720@30`.
    package var description: String {
        let size = width.flatMap { width in height.map { "\(width)x\($0)" } } ?? ""
        return size + (rate.map { "@" + ($0 == $0.rounded() ? "\(Int($0))" : "\($0)") } ?? "")
    }
}
