import Foundation
import Glibc
import TestSupport
import Testing

/// The player's metrics, judged by Prometheus itself (package prometheus).
@Suite struct PrometheusTests {
    private static let isInstalled = ["prometheus", "promtool"].allSatisfy { access("/usr/bin/\($0)", X_OK) == 0 }

    @Test(
        "A Prometheus scrapes it, and promtool has nothing to say about it",
        .enabled(if: isInstalled, "prometheus and promtool are not installed: package prometheus"))
    func scraped() throws {
        let folder = try TestFolder()
        let (player, server) = (try Self.freePort(), try Self.freePort())
        let clip = try Clips.named("faststart.mp4")
        // One source has a quote and a backslash in its name, which becomes a label. The missing source is the last failure.
        let odd = folder.path + "/a \"b\\c.mp4"
        try FileManager.default.copyItem(atPath: clip, toPath: odd)
        let file = folder.path + "/kiosk.prom"
        let text = """
            [display]
            connector = "offscreen"
            [audio]
            device = "off"
            [control]
            socket = "off"
            metrics = "127.0.0.1:\(player)"
            [input]
            grab = false
            touch = false
            [[playlist]]
            source = '\(odd)'
            [[playlist]]
            source = "missing.mp4"

            """
        let path = try folder.file("kiosk.conf", text)
        let kiosk = try KioskProcess(["--config", path])
        #expect(kiosk.waits(for: "missing.mp4: "))

        let scraping = """
            global: {scrape_interval: 1s}
            scrape_configs: [{job_name: kiosk, static_configs: [{targets: ["127.0.0.1:\(player)"]}]}]

            """
        let prometheus = try Self.start(
            "prometheus",
            [
                "--config.file=" + folder.file("prometheus.yml", scraping), "--storage.tsdb.path=\(folder.path)/data",
                "--web.listen-address=127.0.0.1:\(server)",
            ], log: folder.path + "/prometheus.log")
        defer { kill(prometheus.processIdentifier, SIGKILL) }
        func ask(_ query: String) throws -> String {
            try Self.run("promtool", ["query", "instant", "http://127.0.0.1:\(server)", query]).output
        }
        func value(_ query: String) throws -> Double? {
            // {labels} => VALUE @[TIME]
            try ask(query).split(separator: "\n").first.flatMap { line in
                line.components(separatedBy: "=> ").last.flatMap { $0.split(separator: " ").first.flatMap { Double($0) } }
            }
        }
        #expect(eventually(120) { (try? value("up{job=\"kiosk\"} == 1 and kiosk_frames_shown_total > 0")) != nil })
        let before = try #require(try value("kiosk_frames_shown_total"))
        #expect(eventually(120) { ((try? value("kiosk_frames_shown_total")) ?? nil).map { $0 > before } ?? false })
        #expect(try value("kiosk_playlist_items") == 2)
        #expect(try value("kiosk_seams_total") ?? -1 >= 0)
        #expect(try ask("kiosk_item_info").contains(#"a \"b\\c.mp4"#))
        #expect(try ask("kiosk_last_failure_info").contains("missing.mp4"))

        // The same metrics in a file, after a change of kiosk.conf while the player plays.
        try Data(text.replacingOccurrences(of: "127.0.0.1:\(player)", with: file).utf8).write(to: URL(fileURLWithPath: path))
        #expect(kiosk.waits(for: "kiosk.conf was read again: [control] metrics"))
        #expect(eventually(120) { FileManager.default.fileExists(atPath: file) })
        let check = try Self.run("promtool", ["check", "metrics"], input: file)
        #expect(check.status == 0 && check.output == "", "\(check.output)")
        #expect(eventually(120) { (try? value("up{job=\"kiosk\"}")) == 0 }, "nobody listens there any more")
        #expect(kiosk.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    /// Returns a port of this machine on which nothing listened a moment ago.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isBound)
        return UInt16(bigEndian: address.sin_port)
    }

    private static func start(_ program: String, _ arguments: [String], log: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/" + program)
        process.arguments = arguments
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = process.standardOutput
        try process.run()
        return process
    }

    /// Runs a program to its end and returns its status and its output.
    private static func run(
        _ program: String, _ arguments: [String], input: String = "/dev/null"
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/" + program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = FileHandle(forReadingAtPath: input)
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
