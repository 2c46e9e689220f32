import Foundation
import Glibc
import KioskCommands
import KioskPlatform
import KioskPlayback
import TestSupport
import Testing

@testable import Remote

@Suite struct EvidenceTests {
    @Test func `a page of metrics has the text format's form`() {
        var page = MetricsPage()
        page.add("kiosk_a", "gauge", "A thing.", [("source", "a\"b\\c\nd")], 1.5)
        #expect(page.text == "# HELP kiosk_a A thing.\n# TYPE kiosk_a gauge\nkiosk_a{source=\"a\\\"b\\\\c\\nd\"} 1.5\n")
    }

    @Test(arguments: [
        ("GET /metrics HTTP/1.1", "200"), ("GET /metrics?a=b HTTP/1.0", "200"), ("GET / HTTP/1.1", "404"),
        ("POST /metrics HTTP/1.1", "405"),
        ("GET /metrics", "400"), ("", "400"), ("GET /metrics HTTP/1.1 x", "400"),
    ]) func `requests are answered by their first line`(_ line: String, _ status: String) {
        #expect(MetricsServer.response(to: line) { "x 1\n" }.hasPrefix("HTTP/1.1 \(status) "))
    }

    @Test(arguments: [
        ("", true), ("127.0.0.1:9100", true), ("192.0.2.7", true), ("[::1]:9100", true), ("LOCALHOST:1", true),
        ("box", true),
        ("Box.example.org:9100", true), ("evil.example", false), ("127.0.0.1.evil.example", false), ("boxes", false),
        ("evil.example:box", false),
    ]) func `a page that leads its own name here is not answered`(_ host: String, isOwn: Bool) {
        #expect(MetricsServer.isOwn(host: host[...], name: "box") == isOwn)
        let head = "GET /metrics HTTP/1.1\r\nAccept: */*\r\nhOST:  \(host) \r\n\r\n"
        if !host.lowercased().hasPrefix("box") {
            #expect(MetricsServer.response(to: head) { "x 1\n" }.hasPrefix("HTTP/1.1 \(isOwn ? "200" : "421") "))
        }
    }

    @Test func `a client is answered, however many say nothing`() throws {
        let server = try MetricsServer.open("127.0.0.1", 0) { String(repeating: "kiosk_a 1\n", count: 20_000) }
        defer { server.stop() }
        func connected() -> Int32 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = server.port.bigEndian
            inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = withUnsafePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) } }
            return client
        }
        // More clients than the server accepts. Some have begun a request, and one reads nothing of its answer.
        let silent = (0..<40).map { _ in connected() }
        defer { silent.forEach { close($0) } }
        let request = Array("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        for client in silent.suffix(8) { send(client, request, 10, Int32(MSG_NOSIGNAL)) }
        send(silent[31], request, request.count, Int32(MSG_NOSIGNAL))
        let begin = HostTime.now
        for _ in 0..<3 {
            let client = connected()
            defer { close(client) }
            #expect(send(client, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
            var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65536))
            while true {
                let count = recv(client, &buffer, buffer.count, 0)
                if count <= 0 { break }
                answer += buffer.prefix(count)
            }
            #expect(answer.count > 200_000 && String(decoding: answer.suffix(12), as: UTF8.self).hasSuffix("kiosk_a 1\n"))
        }
        // In sequence, the server would wait 2 s for each silent client.
        #expect(HostTime.now - begin < .seconds(60))
    }

    @Test func `what the kernel says of heat and throttling, and what it does not`() throws {
        let box = FileManager.default.temporaryDirectory.path + "/kiosk-box-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: box) }
        func write(_ path: String, _ text: String) throws {
            try FileManager.default.createDirectory(
                atPath: box + (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try text.write(toFile: box + path, atomically: false, encoding: .utf8)
        }
        #expect(SystemFigures.temperature(root: box) == nil)
        #expect(SystemFigures.isThrottled(root: box) == nil && SystemFigures.throttleEvents(root: box) == nil)
        try write("/sys/class/thermal/thermal_zone0/temp", "41000\n")
        try write("/sys/class/thermal/thermal_zone17/temp", "63500\n")
        try write("/sys/class/thermal/cooling_device0/temp", "99000\n")
        #expect(SystemFigures.temperature(root: box) == 63.5)
        let firmware = "/sys/devices/platform/soc/soc:firmware/get_throttled"
        for (bits, isThrottled) in [("0", false), ("50000", false), ("50005", true), ("4", true), ("8", true)] {
            try write(firmware, bits + "\n")
            #expect(SystemFigures.isThrottled(root: box) == isThrottled, "\(bits)")
        }
        for (core, count) in [("cpu0", "3"), ("cpu11", "4"), ("cpufreq", "x")] {
            try write("/sys/devices/system/cpu/\(core)/thermal_throttle/core_throttle_count", count)
        }
        #expect(SystemFigures.throttleEvents(root: box) == 7)
    }

    @Test func `starts are counted in the folder that outlives them`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kiosk-run-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect((0..<3).map { _ in RestartCount.next(in: folder + ":/elsewhere") } == [0, 1, 2])
        for wrong in ["", "x", "-7"] {
            try wrong.write(toFile: folder + "/restarts", atomically: false, encoding: .utf8)
            #expect(RestartCount.next(in: folder) == (wrong == "-7" ? 1 : 0))
        }
        try "\(Int.max)".write(toFile: folder + "/restarts", atomically: false, encoding: .utf8)
        #expect(RestartCount.next(in: folder) == .max)
        #expect(RestartCount.next(in: folder + "/none") == nil && RestartCount.next(in: nil) == nil && RestartCount.next(in: "x") == nil)
    }

    @Test func `a file of metrics is whole at any time, is written again, and goes at the end`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kiosk-prom-\(UUID().uuidString)"
        let path = folder + "/kiosk.prom"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let complaints = Monitor([String]()), count = Monitor(0)
        let file = MetricsFile(
            path, every: .milliseconds(5),
            {
                count.signal { $0 += 1 }
                return String(repeating: "kiosk_a \(count.withLock { $0 % 10 })\n", count: 5000)
            }
        ) { text in complaints.signal { $0.append(text) } }
        #expect(complaints.wait(until: .now + .seconds(10)) { $0.first }?.contains("No such file or directory") == true)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(complaints.wait(until: .now + .seconds(10)) { $0.count == 2 ? $0[1] : nil }?.contains("again") == true)
        for _ in 0..<200 {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 5000 && Set(lines).count == 1)
        }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o644)
        file.stop()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func `dates are those of UTC`() { #expect(ProofOfPlay.date(1_795_472_874) == "2026-11-23T22:27:54Z") }

    @Test func `a log becomes its own predecessor at 16 MB, and no line is lost or cut`() throws {
        let folder = "\(NSTemporaryDirectory())kiosk-rotated-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = RotatedFile("\(folder)/proof.jsonl")
        let padding = String(repeating: "x", count: 1 << 16)
        for number in 0..<600 { #expect(file.append("\(number) \(padding)\n") == nil) }
        func numbers(_ name: String) throws -> [Int] {
            try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8).split(separator: "\n").map { line in
                #expect(line.hasSuffix(" \(padding)"))
                return Int(line.prefix { $0 != " " }) ?? -1
            }
        }
        // 16 MB hold 255 lines of at most 65 541 bytes. The second rotation replaced the file with the first lines.
        let (older, newer) = (try numbers("proof.jsonl.1"), try numbers("proof.jsonl"))
        #expect(older + newer == Array(255..<600))
        #expect(older.count == 255)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["proof.jsonl", "proof.jsonl.1"])
    }

    @Test func `a log that cannot be renamed grows no further, and says why`() throws {
        let folder = "\(NSTemporaryDirectory())kiosk-stuck-\(getpid())"
        // rename(2) cannot replace a folder that is not empty.
        try FileManager.default.createDirectory(atPath: "\(folder)/proof.jsonl.1/x", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var file = RotatedFile("\(folder)/proof.jsonl")
        file.longest = 1 << 20
        #expect(file.append(String(repeating: "x", count: 1 << 20)) == nil)
        #expect(file.append("one more\n")?.hasPrefix("it has 1 MB and cannot be renamed to \(folder)/proof.jsonl.1: ") == true)
        var status = stat()
        #expect(stat("\(folder)/proof.jsonl", &status) == 0 && status.st_size == 1 << 20)
    }

    @Test func `a clock that is set is told, and one that runs is not`() {
        let start = HostTime(nanoseconds: 1_000_000_000)
        var steps = ClockSteps(date: 5_000_000_000, at: start)
        #expect(steps.step(to: 8_000_000_000, at: start + .seconds(3)) == nil)
        #expect(steps.step(to: 1_790_000_000_000_000_000, at: start + .seconds(4)) == MediaTime(nanoseconds: 1_789_999_991_000_000_000))
        #expect(steps.step(to: 1_790_000_001_000_000_000, at: start + .seconds(5)) == nil)
        #expect(steps.step(to: 1_789_996_402_000_000_000, at: start + .seconds(6)) == .seconds(-3600))
    }

    @Test(.needsFullDevice) func `what a full disk has swallowed is counted in the next line`() throws {
        let folder = "\(NSTemporaryDirectory())kiosk-full-\(getpid())"
        let path = folder + "/proof.jsonl"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        symlink("/dev/full", path)
        let box = try Box(["a60.mp4"])
        let showings = Monitor(0), complaints = Monitor([String]())
        box.player.addObserver { event in if case .itemStarted(item: _, isSeam: _, late: _) = event { showings.signal { $0 += 1 } } }
        let before = showings.withLock { $0 }
        let proof = ProofOfPlay(path, box.player) { complaint in complaints.signal { $0.append(complaint) } }
        let after = showings.withLock { $0 }
        #expect(complaints.wait(until: .now + .seconds(120)) { $0.first }?.hasSuffix("No space left on device") == true)
        // The log may receive a showing later than this counter. Once two more have begun, it has lost the second one.
        let swallowed = showings.withLock { $0 } + 2
        #expect(showings.wait(until: .now + .seconds(120)) { $0 > swallowed ? true : nil } == true)
        unlink(path)
        #expect(complaints.wait(until: .now + .seconds(120)) { $0.count > 1 ? $0[1] : nil } == "proof of play: writing again: \(path)")
        box.player.stop()
        proof.stop()
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { JSONValue($0) }
        let lost = lines.reduce(0) { $0 + ($1?["lost"]?.integer ?? 0) }
        #expect((lines.first??["lost"]?.integer ?? 0) >= 2 && lines.dropFirst().allSatisfy { $0?["lost"] == nil })
        // The first showing may have begun before the log observed the player.
        #expect((showings.withLock { $0 } - after - 1...showings.withLock { $0 } - before + 1).contains(lines.count + lost))
    }

    @Test(.needsFullDevice) func `a log on a full disk has no half lines`() throws {
        // Every write fails with ENOSPC, as on a full disk.
        #expect(RotatedFile("/dev/full").append("a line\n") == String(cString: strerror(ENOSPC)))
        #expect(RotatedFile("/nowhere/at/all").append("a line\n") == String(cString: strerror(ENOENT)))
    }
}
