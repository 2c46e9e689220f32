import ArgumentParser
import CKioskFFmpeg
import Foundation
import KioskMedia
import KioskPlatform
import KioskReaders
import Logging

/// `make fuzz`: opens, reads, seeks and plays thousands of damaged files, in worker processes. It reports each crash or hang and continues.
/// See docs/testing.md.
@main struct Fuzz: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "kiosk-fuzz", abstract: "Opens, reads, seeks and plays damaged files.")

    @Option(help: "How many files.") var files = 20_000
    @Option(help: "What decides how they are damaged.") var seed = UInt64(Date().timeIntervalSince1970)
    @Option(help: "The number of the first.") var from = 0
    @Option(help: "Where the originals are, and what was found is kept.") var folder = ".build/fuzz"
    @Option(help: "Play every so manieth row of files; the others are read only.") var playEvery = 1
    @Option(help: "Send so many lines to a player's control socket, instead of trying files.") var lines = 0
    @Option(help: "Open so many lists that name what they may not, instead of trying files.") var lists = 0
    @Flag(help: "Have kiosk-reader read the files, as a player does; for a build without sanitizers.") var readers = false
    @Flag(help: .hidden) var worker = false

    /// The number of files played in a row.
    static let batch = 8

    mutating func run() throws {
        let originals = try Original.all(in: folder)
        if lists > 0 {
            if try openLists() > 0 { throw ExitCode(1) }
        } else if lines > 0 {
            if try sendLines() > 0 { throw ExitCode(1) }
        } else if worker {
            try work(originals)
        } else {
            try watch(originals)
        }
    }

    /// Opens lists, in this process. A crash ends it, and leaves the list's file in `lists` (a redirect has none).
    private func openLists() throws -> Int {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        av_log_set_level(AV_LOG_QUIET)
        let trial = try ListTrial(in: URL(fileURLWithPath: folder).path)
        var findings = 0
        for number in from..<(from + lists) {
            if number % 1000 == 0 { tell("seed \(seed), list \(number), \(findings) findings") }
            guard let problem = trial.problem(seed: seed, number: number) else { continue }
            findings += 1
            tell(problem)
        }
        tell("seed \(seed): \(lists) lists, \(findings) findings")
        return findings
    }

    // MARK: The worker

    /// Tries files from ``from`` on, and prints each step first. The watcher thus knows which step has crashed or hung.
    private func work(_ originals: [Original]) throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        av_log_set_level(AV_LOG_QUIET)
        for first in stride(from: from, to: files, by: Self.batch) {
            var paths: [String] = []
            var failing: Set<Int> = []
            for number in first..<min(files, first + Self.batch) {
                let (name, bytes) = Original.damaged(originals, seed: seed, number: number)
                let path = "\(folder)/\(seed)-\(number).\(name)"
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                tell("read", number, path)
                Trial.resetPeak()
                let before = Trial.peakMemory
                let problem = Trial.read(path, threads: 1 + number % 2, by: readers ? .shared : .inProcess) {
                    tell("died", number, path, $0)
                }
                if let problem {
                    failing.insert(paths.count)
                    if !problem.contains(path) { tell("wrong", number, path, "an error that does not name it: \(problem)") }
                    tell("refused", number, path)
                }
                let used = Trial.peakMemory - before
                if used > MemoryLimit.ofItem { tell("wrong", number, path, "took \(used >> 20) MB") }
                paths.append(path)
            }
            if first / Self.batch % max(1, playEvery) == 0 {
                tell("play", first, paths.joined(separator: " "))
                for problem in Trial.play(paths, failing: failing, by: readers ? .shared : .inProcess) {
                    tell("wrong", first, paths.joined(separator: " "), problem)
                }
            }
            tell("done", min(files, first + Self.batch))
            for path in paths { try FileManager.default.removeItem(atPath: path) }
        }
    }

    // MARK: The watcher

    private func watch(_ originals: [Original]) throws {
        tell(
            "seed \(seed), files \(from) to \(files - 1), in \(originals.count) containers: \(originals.map(\.name).joined(separator: " "))"
        )
        var next = from
        var (findings, refused, deaths) = (0, 0, 0)
        while next < files {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments =
                [
                    "--worker", "--seed", "\(seed)", "--from", "\(next)", "--files", "\(files)", "--folder", folder, "--play-every",
                    "\(playEvery)",
                ] + (readers ? ["--readers"] : [])
            process.standardOutput = output
            try process.run()
            var last = "nothing yet"
            var rest = ""
            var isHung = false
            let input = output.fileHandleForReading.fileDescriptor
            while true {
                var ready = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
                // The player has a time limit for each file of a row, and reports it. This limit is for a call that never returns.
                let files = last.hasPrefix("play") ? Self.batch + 1 : 1
                if poll(&ready, 1, Int32(Trial.timeLimit.seconds * 1000) * Int32(files)) == 0 {
                    isHung = true
                    kill(process.processIdentifier, SIGKILL)
                    break
                }
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { break }
                rest += String(decoding: data, as: UTF8.self)
                while let end = rest.firstIndex(of: "\n") {
                    let line = String(rest[..<end])
                    rest = String(rest[rest.index(after: end)...])
                    let words = line.split(separator: " ")
                    switch words.first {
                    case "wrong":
                        findings += 1
                        tell(line)
                        keep(words)
                    case "refused": refused += 1
                    // A decoder that kills its own process is no fault of a player that continues.
                    case "died":
                        deaths += 1
                        tell(line)
                        keep(words)
                    case "done":
                        next = Int(words[1]) ?? files
                        if next % 1000 < Self.batch { tell("\(next) files, \(refused) of them refused, \(findings) findings") }
                    default: last = line
                    }
                }
            }
            process.waitUntilExit()
            if !isHung, process.terminationStatus == 0, process.terminationReason == .exit { continue }
            findings += 1
            tell(isHung ? "hangs: \(last)" : "crashes (\(process.terminationStatus)): \(last)")
            let words = last.split(separator: " ")
            keep(words)
            // Continues after the file, or after the row that was playing.
            next = max(next, (words.count > 1 ? Int(words[1]) ?? next : next) + (words.first == "play" ? Self.batch : 1))
        }
        var count: [String: Int] = [:]
        for number in from..<files { count[originals[number % originals.count].name, default: 0] += 1 }
        tell(count.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        tell(
            "seed \(seed): \(files - from) files, \(refused) refused with a line that names them, \(findings) findings"
                + (readers ? ", \(deaths) deaths of decoders" : ""))
        if findings > 0 { throw ExitCode(1) }
    }

    /// Prints a line at once, even into a pipe.
    func tell(_ words: Any...) {
        FileHandle.standardOutput.write(Data((words.map { "\($0)" }.joined(separator: " ") + "\n").utf8))
    }

    /// Keeps the files of a finding.
    private func keep(_ words: [Substring]) {
        let kept = "\(folder)/findings"
        try? FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
        for path in words.map(String.init) where path.hasPrefix(folder) {
            try? FileManager.default.copyItem(atPath: path, toPath: "\(kept)/\(URL(fileURLWithPath: path).lastPathComponent)")
        }
    }
}
