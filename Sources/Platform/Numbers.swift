/// The hash FNV-1a: the standard library's differ from run to run.
package enum FNV {
    package static func hash(_ bytes: some Sequence<UInt8>, from start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension BinaryInteger {
    /// With zeros before it, where it has fewer digits than `width`.
    package func padded(to width: Int, radix: Int = 10) -> String {
        let text = String(self, radix: radix)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
