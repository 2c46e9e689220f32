import Glibc

extension Array<CChar> {
    /// What C has written, up to the byte 0.
    package var text: String { withUnsafeBytes { $0.text } }
}

extension UnsafeRawBufferPointer {
    /// What C has written, up to the byte 0.
    package var text: String { String(decoding: prefix { $0 != 0 }, as: UTF8.self) }
}

/// The time of day where the box stands, as a part of a file's name. The corresponding C function is `strftime`.
package func date(_ format: String) -> String {
    var now = time(nil), parts = tm()
    localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 64)
    strftime(&text, text.count, format, &parts)
    return text.text
}

/// A variable of the environment; nil where it is not set. The corresponding C function is `getenv`.
package func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
