import CKioskFFmpeg

/// How a plane makes colours of YUV: its properties `COLOR_ENCODING` and `COLOR_RANGE`.
struct PlaneColour: Hashable, CustomStringConvertible {
    /// A value of `COLOR_ENCODING`, by the kernel's name for it.
    enum Encoding: String, CaseIterable {
        case bt601 = "ITU-R BT.601 YCbCr"
        case bt709 = "ITU-R BT.709 YCbCr"
        case bt2020 = "ITU-R BT.2020 YCbCr"
    }

    var encoding: Encoding
    /// Whether luma spans 0…255 instead of 16…235.
    var isFullRange: Bool

    /// The kernel's name of a value of `COLOR_RANGE`.
    static func rangeName(_ isFullRange: Bool) -> String { isFullRange ? "YCbCr full range" : "YCbCr limited range" }

    init(_ encoding: Encoding, isFullRange: Bool = false) { (self.encoding, self.isFullRange) = (encoding, isFullRange) }

    /// That of a frame; nil where no plane knows it.
    init?(_ colour: ColourDescription) {
        isFullRange = colour.isFullRange
        switch colour.matrix {
        case SWS_CS_ITU601: encoding = .bt601
        case SWS_CS_ITU709: encoding = .bt709
        case SWS_CS_BT2020: encoding = .bt2020
        default: return nil
        }
    }

    /// Those that a plane with these properties can be set to. Without the properties nobody can say; limited range is taken for granted then,
    /// with whatever encoding the hardware has. Pure.
    static func offered(by table: PropertyTable<PlaneID>) -> Set<PlaneColour> {
        let encodings = Encoding.allCases.filter { table["COLOR_ENCODING"]?.choices[$0.rawValue] != nil }
        let ranges = [false, true].filter { table["COLOR_RANGE"]?.choices[rangeName($0)] != nil }
        var offered: Set<PlaneColour> = []
        for encoding in encodings.isEmpty ? Encoding.allCases : encodings {
            for isFullRange in ranges.isEmpty ? [false] : ranges { offered.insert(PlaneColour(encoding, isFullRange: isFullRange)) }
        }
        return offered
    }

    var description: String { "\(encoding.rawValue), \(isFullRange ? "full" : "limited") range" }
}

extension ColourDescription {
    /// What a plane is set to.
    init(_ colour: PlaneColour) {
        switch colour.encoding {
        case .bt601: matrix = SWS_CS_ITU601
        case .bt709: matrix = SWS_CS_ITU709
        case .bt2020: matrix = SWS_CS_BT2020
        }
        isFullRange = colour.isFullRange
    }
}
