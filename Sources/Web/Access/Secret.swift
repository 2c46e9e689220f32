import Glibc

/// Random names that nobody can guess.
enum Secret {
    /// Returns 256 random bits in hexadecimal. The corresponding C function is `getentropy`.
    static func random() -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        guard bytes.withUnsafeMutableBytes({ getentropy($0.baseAddress!, $0.count) }) == 0 else {
            fatalError("the system has no random bytes")
        }
        return bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }

    /// Compares in a time that does not depend on the place of the first difference.
    static func isEqual(_ a: String, _ b: String) -> Bool {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        return a.count == b.count && zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
