import CKioskFFmpeg

// The plane properties for the conversion of YUV: `COLOR_ENCODING` and `COLOR_RANGE`.
extension ColourDescription {
    /// The kernel's names of the matrices that planes support.
    private static let encodings = [
        SWS_CS_ITU601: "ITU-R BT.601 YCbCr", SWS_CS_ITU709: "ITU-R BT.709 YCbCr", SWS_CS_BT2020: "ITU-R BT.2020 YCbCr",
    ]

    /// The kernel's name for the value of `COLOR_ENCODING`; nil if no plane supports it.
    var planeEncoding: String? { Self.encodings[matrix] }
    /// The kernel's name for the value of `COLOR_RANGE`.
    var planeRange: String { isFullRange ? "YCbCr full range" : "YCbCr limited range" }

    /// Returns the descriptions that a plane with these properties supports. Without the properties the hardware's choice is unknown; kiosk
    /// then assumes limited range and accepts every encoding. Pure.
    static func offered(by table: PropertyTable<PlaneID>) -> Set<ColourDescription> {
        func offered(_ property: String, _ all: [ColourDescription], _ name: (ColourDescription) -> String?) -> [ColourDescription] {
            all.filter { colour in name(colour).map { table[property]?.choices[$0] != nil } ?? false }
        }
        let limited = encodings.keys.map { ColourDescription(matrix: $0, isFullRange: false) }
        let encoded = offered("COLOR_ENCODING", limited, \.planeEncoding)
        return (encoded.isEmpty ? limited : encoded).reduce(into: []) { all, colour in
            let full = ColourDescription(matrix: colour.matrix, isFullRange: true)
            let ranged = offered("COLOR_RANGE", [colour, full], \.planeRange)
            all.formUnion(ranged.isEmpty ? [colour] : ranged)
        }
    }
}
