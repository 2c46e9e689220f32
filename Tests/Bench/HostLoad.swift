import Bed
import Foundation

extension KioskBench {
    /// Returns the conditions that affect every figure.
    func circumstances() async throws -> Circumstances {
        let load = Self.load
        // Nothing is timed: in virtual time the host cannot starve it.
        let asked = Machine { ($0.time, $0.recordsSound) = (.free, false) }
        let probe = try await Bed.run("bench kernel", for: .seconds(2), .command(["uname", "-r"]), on: asked)
        let processor = firstLine(["sed", "-n", "s/^model name[^:]*: //p", "/proc/cpuinfo"])
        return Circumstances(
            date: Date().ISO8601Format(), command: (["kiosk-bench"] + CommandLine.arguments.dropFirst()).joined(separator: " "),
            processors: ProcessInfo.processInfo.processorCount, processor: processor ?? "CPU of unknown name", loadBefore: load,
            loadAfter: load,
            kernel: probe.log.first?.text ?? "of unknown version", isRealTime: realtime,
            kiosk: firstLine(["git", "-C", Bed.package, "describe", "--always", "--dirty", "--exclude", "*"]) ?? "of unknown commit",
            mpv: firstLine(["mpv", "--no-config", "--version"], words: 2) ?? "no mpv",
            ffmpeg: firstLine(["ffmpeg", "-version"], words: 3)?.replacingOccurrences(of: " version", with: "") ?? "no ffmpeg")
    }

    /// Makes a folder in /tmp, where the bed may write.
    func makeFolder() throws -> String {
        var template = Array("/tmp/kiosk-bench.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Makes a copy of the player without debugging information: valgrind 3.19 fails on Swift's, and nothing else loads it.
    func strippedPlayer(_ folder: String) throws -> String {
        let player = try Bed.player(), reader = URL(fileURLWithPath: player).deletingLastPathComponent().path + "/kiosk-reader"
        for (name, program) in [("kiosk", player), ("kiosk-reader", reader)] {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["strip", "--strip-debug", "-o", folder + "/" + name, program]
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw BedError.failed("strip \(program): status \(process.terminationStatus)") }
        }
        return folder + "/kiosk"
    }

    /// Returns mpv's name for each mode of the scenarios, by the mode.
    func modeNames(for scenarios: [BenchCase]) async throws -> [String: String] {
        var names: [String: String] = [:]
        for scenario in scenarios where names["\(scenario.mode)"] == nil && (scenario.players + scenario.counted).contains(.mpv) {
            let machine = Machine {
                ($0.mode, $0.time, $0.recordsSound) = (scenario.mode, .free, false)
            }
            let list = try await Bed.run("bench modes", for: .seconds(5), .command(ModeList.command), on: machine)
            names["\(scenario.mode)"] = ModeList.name(of: scenario.mode, in: list.log.map(\.text))
        }
        return names
    }

    /// The load average over a minute.
    static var load: Double {
        var averages = [0.0]
        return getloadavg(&averages, 1) == 1 ? averages[0] : 0
    }

    /// Returns a date for a file's name: 2026-01-31T0915.
    static func stamp(_ date: Date) -> String {
        String(date.ISO8601Format().prefix(16)).replacingOccurrences(of: ":", with: "")
    }

    /// Returns the first words of a program's first line of output; nil if it does not exist or fails.
    private func firstLine(_ command: [String], words: Int = .max) -> String? {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let line = text.split(separator: "\n").first else { return nil }
        return line.split(separator: " ").prefix(words).joined(separator: " ")
    }
}
