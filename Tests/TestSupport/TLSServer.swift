import CKioskFFmpeg
import Foundation
import Glibc
import KioskPlatform

/// TLS in front of a ``FileServer``: an HTTPS server on 127.0.0.1 with a certificate of a test authority. libavformat's own TLS does the
/// work.
package final class TLSServer: Sendable {
    /// The names in the certificate.
    package enum Certificate: Sendable {
        /// `localhost` and 127.0.0.1.
        case good
        /// `other.example`.
        case otherName
    }

    package let port: UInt16
    private let listener: Int32

    /// Returns the URL of a file.
    package func url(_ name: String = "clip.mp4") -> String { "https://127.0.0.1:\(port)/\(name)" }

    /// Returns the path of the authority's file. The authority has signed both certificates.
    package static func authority() throws -> String { try Clips.file("authority.pem", Array(authorityText.utf8)) }

    /// Starts serving the files of `server`, on a port of its own.
    package init(_ server: FileServer, _ certificate: Certificate) throws {
        let (name, text, key) = certificate == .good ? ("good", Self.goodText, Self.goodKey) : ("other", Self.otherText, Self.otherKey)
        let chain = try Clips.file("\(name)-certificate.pem", Array(text.utf8))
        let keyFile = try Clips.file("\(name)-key.pem", Array(key.utf8))
        let (listener, port) = try Self.listen()
        (self.listener, self.port) = (listener, port)
        let target = server.port
        Thread("tls server") {
            while true {
                let connection = accept(listener, nil, nil)
                // This thread closes the listener. After a close elsewhere, its number could be another listener's here.
                if connection < 0 {
                    close(listener)
                    return
                }
                Thread("tls connection") { Self.serve(connection, chain, keyFile, target) }.detach()
            }
        }.detach()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Forwards the encrypted bytes between the client and a TLS server for this one connection. That server forwards the plain ones to the
    /// file server.
    private static func serve(_ connection: Int32, _ chain: String, _ key: String, _ target: UInt16) {
        guard let (probe, port) = try? listen() else { return }
        close(probe)
        Thread("tls") { terminate(port, chain, key, target) }.detach()
        var inner: Int32 = -1
        for _ in 0..<2000 where inner < 0 {
            inner = connect(port)
            if inner < 0 { usleep(5000) }
        }
        guard inner >= 0 else {
            close(connection)
            return
        }
        let back = inner
        Thread("tls back") { pump(back, connection) }.detach()
        pump(connection, inner)
        usleep(100_000)
        close(connection)
        close(inner)
    }

    private static func terminate(_ port: UInt16, _ chain: String, _ key: String, _ target: UInt16) {
        var options: OpaquePointer?
        for (name, value) in [("cert_file", chain), ("key_file", key), ("tls_verify", "0")] { av_dict_set(&options, name, value, 0) }
        defer { av_dict_free(&options) }
        var io: UnsafeMutablePointer<AVIOContext>?
        guard avio_open2(&io, "tls://127.0.0.1:\(port)?listen=1&listen_timeout=20000", AVIO_FLAG_READ_WRITE, nil, &options) >= 0 else {
            return
        }
        defer { avio_closep(&io) }
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while !request.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let count = avio_read_partial(io, &buffer, Int32(buffer.count))
            if count <= 0 { return }
            request += buffer.prefix(Int(count))
        }
        let server = connect(target)
        guard server >= 0 else { return }
        defer { close(server) }
        _ = send(server, request, request.count, Int32(MSG_NOSIGNAL))
        while true {
            let count = recv(server, &buffer, buffer.count, 0)
            if count <= 0 { return }
            avio_write(io, buffer, Int32(count))
            avio_flush(io)
            if let io, io.pointee.error < 0 { return }
        }
    }

    private static func pump(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            if count <= 0 { break }
            var sent = 0
            while sent < count {
                let given = buffer.withUnsafeBytes { send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL)) }
                if given <= 0 { return }
                sent += given
            }
        }
        shutdown(to, Int32(SHUT_WR))
    }

    private static func withAddress<Result>(_ port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Result) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
    }

    private static func listen() throws -> (Int32, UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let port: UInt16? = withAddress(0) { address, length in
            guard bind(listener, address, length) == 0, Glibc.listen(listener, 16) == 0, getsockname(listener, address, &length) == 0 else {
                return nil
            }
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
        }
        guard let port else { throw POSIXError(.EADDRNOTAVAIL) }
        return (listener, port)
    }

    private static func connect(_ port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let status = withAddress(port) { address, length in Glibc.connect(descriptor, address, length) }
        if status == 0 { return descriptor }
        close(descriptor)
        return -1
    }

    // Made for these tests with `openssl ca`, valid for a hundred years; the keys are public.

    private static let authorityText = """
        -----BEGIN CERTIFICATE-----
        MIIBYjCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRraW9zay10
        ZXN0LWF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFow
        HzEdMBsGA1UEAwwUa2lvc2stdGVzdC1hdXRob3JpdHkwWTATBgcqhkjOPQIBBggq
        hkjOPQMBBwNCAAS/w4rjvFKQwvtz1j0k9om+MBG+CSdHIsNZh0OyWKGGHRpqxlsm
        3zTvjt8GR/QPJwQ2nOa2CJ7ojfRkmA2MfMYjozIwMDAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBTBDUqG7xABqS53k9btnXVh9hKYuzAKBggqhkjOPQQDAgNJADBG
        AiEA5aehAK42f98mr7Vlu1OVroS9RSjn+Ittwm5Jr32eMtQCIQCgEXlSdlZ21n1k
        j8GS0w4rQuU52i5RVmjD1lXPp+Qh+Q==
        -----END CERTIFICATE-----

        """
    private static let goodText = """
        -----BEGIN CERTIFICATE-----
        MIIBfTCCASOgAwIBAgIBAjAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRraW9zay10
        ZXN0LWF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFow
        DzENMAsGA1UEAwwEZ29vZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABO2aZ8nE
        wHrfZH3VTch1AOTsz7mERsdoDaf08OPK5WbKCWAhzHgpYZ6vDYqJEnkGwN8uZJYh
        KG4N586NdzkyRUujXjBcMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAdBgNV
        HQ4EFgQUfjlrkEBfd8GeglHfsaY2gCC67dQwHwYDVR0jBBgwFoAUwQ1Khu8QAaku
        d5PW7Z11YfYSmLswCgYIKoZIzj0EAwIDSAAwRQIgTNO9ea7h/Pk/Wk06mT1UUhlr
        pURF+sOIVFhrmBA9gc0CIQDm594xi+Kl9Ofk6E7w6C5KJBTocuH6onHPHIWezVya
        Yg==
        -----END CERTIFICATE-----

        """
    private static let goodKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQge3GGIepYq+GxiD1h
        RhuSSIob6LpTlM+PoPcKH28x3yehRANCAATtmmfJxMB632R91U3IdQDk7M+5hEbH
        aA2n9PDjyuVmyglgIcx4KWGerw2KiRJ5BsDfLmSWIShuDefOjXc5MkVL
        -----END PRIVATE KEY-----

        """
    private static let otherText = """
        -----BEGIN CERTIFICATE-----
        MIIBfDCCASKgAwIBAgIBAzAKBggqhkjOPQQDAjAfMR0wGwYDVQQDDBRraW9zay10
        ZXN0LWF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFow
        EDEOMAwGA1UEAwwFd3JvbmcwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQUikr2
        pJXXw5KclvULUC0QnXPcnBJfuLinM8V6DccLWLYL2ODUXsAJxhn8UQc4xLSxi1nM
        i81vQCccCPvo81ADo1wwWjAYBgNVHREEETAPgg1vdGhlci5leGFtcGxlMB0GA1Ud
        DgQWBBT5DL3YUdHkazJwRloB8Zl6Jkwu0zAfBgNVHSMEGDAWgBTBDUqG7xABqS53
        k9btnXVh9hKYuzAKBggqhkjOPQQDAgNIADBFAiEAo2MmjEVrf+c6T/SbC4RybE+D
        mqIUSD42eRVC6hWc+4MCIC4vuJaJbGXNBgdpeE/3hJ6ode+1VgLuGoIuYOaU2diz
        -----END CERTIFICATE-----

        """
    private static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNwcrY7ra9EaaS3GN
        qxfoca1OaML6YSgWC3fls2cpkvOhRANCAAQUikr2pJXXw5KclvULUC0QnXPcnBJf
        uLinM8V6DccLWLYL2ODUXsAJxhn8UQc4xLSxi1nMi81vQCccCPvo81AD
        -----END PRIVATE KEY-----

        """
}
