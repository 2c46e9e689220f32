import KioskPlatform

/// A number of bytes as people write it: `2 GB`, `500 MB`, `1.5 GiB`.
package struct ByteCount: Hashable, Comparable, Sendable, LosslessStringConvertible {
    package let bytes: Int64

    package init(_ bytes: Int64) { self.bytes = max(0, bytes) }

    private static let units: [(name: String, bytes: Double)] = [
        ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("tb", 1e12), ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824),
        ("tib", 1_099_511_627_776),
    ]

    /// nil unless `text` is a number and a unit, and at most a million TB.
    package init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text[digits.endIndex...].drop { $0 == " " }.lowercased()
        guard digits.first?.isNumber == true, let number = Double(digits), let factor = Self.units.first(where: { $0.name == unit })?.bytes,
            number * factor <= 1e18
        else { return nil }
        bytes = Int64(saturating: number * factor)
    }

    /// `2 GB`, `1.5 MB`, with at most one decimal.
    package var description: String {
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 999.95, unit + 1 < units.count { (value, unit) = (value / 1000, unit + 1) }
        let tenths = Int(saturating: value * 10)
        return tenths % 10 == 0 ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    package static func < (a: ByteCount, b: ByteCount) -> Bool { a.bytes < b.bytes }
}
