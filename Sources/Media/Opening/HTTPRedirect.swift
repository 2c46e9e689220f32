import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Finds an HTTP server's redirection with its own request, after libavio failed to open an address.
///
/// libavio by itself follows redirections to any server, also from https to http. It passes on the headers for the first server. So kiosk
/// forbids redirections (`max_redirects`). libavio then fails with EIO, without details. This request costs a round trip, so kiosk makes it
/// only after that error.
enum HTTPRedirect {
    enum Answer: Hashable {
        case none
        /// The server's own text, which may be relative.
        case location(String)
        /// The server answers, and its certificate does not verify.
        case certificate
    }

    /// The most redirections to follow for one address.
    static let most = 5
    /// The most bytes to read of an answer.
    private static let longestHead = 32 << 10

    /// Requests `address` and reads only the head of the answer. `sendsHeaders`: whether the server may see the headers of `settings` and
    /// the user in the address. Blocks at most as long as opening may.
    static func ask(_ address: HTTPAddress, _ settings: StreamSettings, sendsHeaders: Bool, _ interruption: Interruption) -> Answer {
        let proxy = address.isSecure ? nil : Self.proxy(for: address)
        guard let io = connect(proxy ?? address, settings, interruption) else {
            // Try without verification: a server that answers has a bad certificate. Send it nothing.
            var plain = settings
            plain.verifiesTLS = false
            guard address.isSecure, settings.verifiesTLS, let unverified = connect(address, plain, interruption) else { return .none }
            avio_close(unverified)
            return .certificate
        }
        defer { avio_close(io) }
        var plain = address
        plain.userInformation = nil
        let target = proxy == nil ? address.target : plain.url
        let isUsual = address.port == (address.isSecure ? 443 : 80)
        var lines = [
            "GET \(target) HTTP/1.1", "Host: \(address.host)\(isUsual ? "" : ":\(address.port)")", "User-Agent: \(settings.userAgent)",
            "Accept: */*", "Range: bytes=0-", "Connection: close",
        ]
        if sendsHeaders { lines += settings.headers }
        if sendsHeaders, let user = address.userInformation,
            !settings.headers.contains(where: { $0.lowercased().hasPrefix("authorization:") })
        {
            lines.append("Authorization: Basic \(base64(unescaped(user)))")
        }
        let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        avio_write(io, request, Int32(request.count))
        avio_flush(io)
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while head.count < longestHead, !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
            let count = avio_read_partial(io, &buffer, Int32(buffer.count))
            if count <= 0 { break }
            head += buffer.prefix(Int(count))
        }
        return location(inHead: String(decoding: head, as: UTF8.self)).map { .location($0) } ?? .none
    }

    /// Returns the redirection target in the head of an answer; nil if it is no redirection.
    static func location(inHead head: String) -> String? {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count > 1, words[0].hasPrefix("HTTP/"), ["301", "302", "303", "307", "308"].contains(words[1]) else { return nil }
        for line in lines.dropFirst() where line.lowercased().hasPrefix("location:") {
            let value = line.dropFirst("location:".count).drop { $0 == " " || $0 == "\t" }
            return value.isEmpty ? nil : String(value)
        }
        return nil
    }

    private static func connect(
        _ address: HTTPAddress, _ settings: StreamSettings, _ interruption: Interruption
    ) -> UnsafeMutablePointer<AVIOContext>? {
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        for (name, value) in SourceOptions.http(settings) where ["rw_timeout", "tls_verify", "ca_file"].contains(name) {
            av_dict_set(&options, name, value, 0)
        }
        av_dict_set(&options, "timeout", "\(settings.timeout.nanoseconds / 1000)", 0)
        var callback = interruption.callback
        var io: UnsafeMutablePointer<AVIOContext>?
        let status = avio_open2(
            &io, "\(address.isSecure ? "tls" : "tcp")://\(address.host):\(address.port)", AVIO_FLAG_READ_WRITE, &callback, &options)
        return status < 0 ? nil : io
    }

    /// Returns the proxy that libavio would use (`http_proxy`, `no_proxy`); nil for none.
    private static func proxy(for address: HTTPAddress) -> HTTPAddress? {
        guard let proxy = environment("http_proxy").flatMap({ HTTPAddress($0) }) else { return nil }
        let exceptions = environment("no_proxy").map { $0.split { ", ".contains($0) } } ?? []
        let isExcepted = exceptions.contains {
            $0 == "*" || address.host == $0 || address.host.hasSuffix(($0.hasPrefix(".") ? "" : ".") + $0)
        }
        return isExcepted ? nil : proxy
    }

    /// Decodes the percent escapes of a URL's user and password.
    private static func unescaped(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        av_base64_encode(&text, Int32(text.count), bytes, Int32(bytes.count))
        return text.text
    }
}
