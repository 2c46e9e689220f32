import Foundation
import Glibc
import KioskCommands
import KioskPlatform
import RemoteClient
import TestSupport
import Testing

@testable import Remote

/// A client that sends raw bytes.
private final class RawClient: Sendable {
    private let descriptor: Int32

    init?(_ path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard var address = SocketAddress(path), address.withPointer({ connect(descriptor, $0, $1) }) == 0 else { return nil }
        // The client waits at most 10 s.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Returns the next line; nil at the end.
    func line() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1 {
            if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }
}

@Suite struct ControlSocketTests {
    private let folder = NSTemporaryDirectory() + "kiosk-remote-\(UUID().uuidString)"
    private var path: String { folder + "/control.sock" }
    private static let picture = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7 >> 3) }

    private func listen() throws -> ControlSocket {
        try ControlSocket.open(path) { _ throws(ControlRefusal) in
            .answer(ControlAnswer(["format": .string("png")], attachment: Self.picture))
        }
    }

    private func end(_ socket: ControlSocket) {
        socket.close()
        rmdir(folder)
    }

    @Test func `a picture comes whole, as often as it is asked for`() throws {
        let socket = try listen()
        defer { end(socket) }
        for _ in 0..<20 { #expect(try ControlClient.screenshot(path) == Self.picture) }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o660)
    }

    @Test func `the file is gone when it is closed`() throws {
        let socket = try listen()
        end(socket)
        #expect(access(path, F_OK) != 0)
        #expect(throws: ControlError.self) { try ControlClient.screenshot(path) }
    }

    @Test func `a refusal is told in words`() throws {
        let socket = try ControlSocket.open(path) { _ throws(ControlRefusal) in
            throw ControlRefusal(code: "no-display", message: "there is none")
        }
        defer { end(socket) }
        do throws(ControlError) {
            _ = try ControlClient.screenshot(path)
            Issue.record("there is a picture")
        } catch {
            #expect(error.description == "the player at \(path) gives no screenshot: there is none")
        }
        let client = try #require(RawClient(path))
        client.send("{\"id\":\"a\",\"command\":\"screenshot\"}\n".utf8)
        #expect(client.line() == #"{"error":{"code":"no-display","message":"there is none"},"id":"a","ok":false}"#)
    }

    @Test func `lines in pieces, several at once, and answers with their ids`() throws {
        let socket = try listen()
        defer { end(socket) }
        let client = try #require(RawClient(path))
        for byte in "{\"id\":7,\"command\":\"screenshot\"}\n".utf8 { client.send([byte]) }
        #expect(client.line() == #"{"format":"png","id":7,"ok":true}"#)
        client.send("\n{\"id\":8,\"command\":\"dance\"}\r\n{\"id\":9}\n[]\n".utf8)
        #expect(client.line()?.contains(#""code":"unknown-command""#) == true)
        #expect(client.line()?.contains(#""code":"no-command","message":"expected a text"#) == true)
        #expect(client.line()?.contains(#""code":"invalid-json""#) == true)
    }

    @Test func `two clients do not wait for each other to ask`() throws {
        let socket = try listen()
        defer { end(socket) }
        let silent = try #require(RawClient(path)), other = try #require(RawClient(path))
        silent.send("{\"id\":1,".utf8)
        other.send("{\"id\":2,\"command\":\"screenshot\"}\n".utf8)
        #expect(other.line()?.contains("\"id\":2") == true)
        silent.send("\"command\":\"screenshot\"}\n".utf8)
        #expect(silent.line()?.contains("\"id\":1") == true)
    }

    @Test func `there is room for sixteen`() throws {
        let socket = try listen()
        defer { end(socket) }
        var clients = try (0..<16).map { _ in try #require(RawClient(path)) }
        // Each client observes the player.
        for client in clients {
            client.send("{\"command\":\"observe\"}\n".utf8)
            #expect(client.line() != nil)
        }
        let surplus = try #require(RawClient(path))
        #expect(surplus.line()?.contains("too-many-clients") == true)
        #expect(surplus.line() == nil)
        clients.removeAll()
        #expect(try ControlClient.screenshot(path) == Self.picture)
    }

    @Test func `who says nothing gives way to who does`() throws {
        let socket = try listen()
        defer { end(socket) }
        var clients = try (0..<16).map { _ in try #require(RawClient(path)) }
        for index in [15, 0] {
            clients[index].send("{\"command\":\"screenshot\"}\n".utf8)
            #expect(clients[index].line() != nil)
        }
        for _ in 0..<14 { clients.append(try #require(RawClient(path))) }
        #expect(try ControlClient.screenshot(path) == Self.picture)
        // The second client was silent for longest; the first has sent a request since.
        #expect(clients[1].line() == nil)
        clients[0].send("{\"command\":\"screenshot\"}\n".utf8)
        #expect(clients[0].line() != nil)
    }

    @Test func `a line that is too long is the last one`() throws {
        let socket = try listen()
        defer { end(socket) }
        let client = try #require(RawClient(path))
        client.send([UInt8](repeating: 0x20, count: LineBuffer.longest + 1))
        #expect(client.line()?.contains("line-too-long") == true)
        #expect(client.line() == nil)
        #expect(try ControlClient.screenshot(path) == Self.picture)
    }

    @Test func `a client that does not read is dropped`() throws {
        let socket = try listen()
        defer { end(socket) }
        let client = try #require(RawClient(path))
        let thread = Thread("flood") {
            for _ in 0..<20_000 { client.send("{\"command\":\"no such thing\"}\n".utf8) }
        }
        thread.join()
        #expect(try ControlClient.screenshot(path) == Self.picture)
    }

    @Test func `noise is answered or ends the conversation`() throws {
        let socket = try listen()
        defer { end(socket) }
        var random = Proof.Random()
        let line = Array("{\"id\":7,\"command\":\"screenshot\"}\n".utf8)
        for _ in 0..<300 {
            let client = try #require(RawClient(path))
            var bytes = line
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            client.send(bytes + [0x0A])
            // A blank line has no answer, so the next line is answered.
            client.send(line)
            #expect(client.line()?.hasPrefix("{") == true, "\(bytes)")
        }
        #expect(try ControlClient.screenshot(path) == Self.picture)
    }

    @Test func `what a dead player has left is replaced, a living one is not, nor a file`() throws {
        let socket = try listen()
        #expect(throws: ControlError.self) { try listen() }
        #expect(try ControlClient.screenshot(path) == Self.picture)
        end(socket)
        mkdir(folder, 0o700)
        let dead = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = try #require(SocketAddress(path))
        #expect(address.withPointer { bind(dead, $0, $1) } == 0)
        close(dead)
        #expect(access(path, F_OK) == 0)
        let next = try listen()
        #expect(try ControlClient.screenshot(path) == Self.picture)
        end(next)
        mkdir(folder, 0o700)
        close(creat(path, 0o600))
        #expect(throws: ControlError.self) { try listen() }
        unlink(path)
        rmdir(folder)
    }
}
