import Glibc

extension Array<CChar> {
    /// The text of a C string, up to the zero byte.
    package var text: String { withUnsafeBytes { $0.text } }
}

extension UnsafeRawBufferPointer {
    /// The text of a C string, up to the zero byte.
    package var text: String { String(decoding: prefix { $0 != 0 }, as: UTF8.self) }
}

/// Formats a time, in seconds since 1970, as local time or UTC. The corresponding C function is `strftime`.
package func date(_ format: String, _ seconds: Int = time(nil), isUTC: Bool = false) -> String {
    var (seconds, parts) = (seconds, tm())
    if isUTC { gmtime_r(&seconds, &parts) } else { localtime_r(&seconds, &parts) }
    var text = [CChar](repeating: 0, count: 64)
    strftime(&text, text.count, format, &parts)
    return text.text
}

/// Returns a variable of the environment; nil if it is not set. The corresponding C function is `getenv`.
package func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
