import Bed
import Foundation

/// The work of a player for a frame, counted instead of timed: system calls by strace, its own instructions by valgrind's callgrind.
///
/// A player runs on the bed in virtual time, in which computing takes no time. A tool that slows it down fifty times therefore makes no
/// frame late. Neither the host's load nor its processor changes a figure. The player runs twice, the second time longer. The steady state
/// is the difference of the counts divided by the difference of the frames: the start is in both runs.
enum Count: CaseIterable {
    case systemCalls, instructions

    var measure: Measure { self == .systemCalls ? .systemCalls : .instructions }

    /// The number of counts in one unit of the table.
    var unit: Double { self == .systemCalls ? 1 : 1e6 }

    /// The lengths of the two runs in milliseconds. A clip lasts 5 s, so the calls are those of a whole loop with its seam. Under callgrind
    /// a second of 2160p takes a minute.
    var lengths: (short: Int, long: Int) { self == .systemCalls ? (2000, 7000) : (500, 1500) }

    /// Returns the words before the player's command. The tool writes into files whose names begin with `path`, and ends the player after
    /// `milliseconds`.
    func tool(_ path: String, milliseconds: Int) -> [String] {
        let timeout = ["timeout", "\(Double(milliseconds) / 1000)"]
        switch self {
        // strace does not pass a signal on.
        case .systemCalls: return ["strace", "-f", "-c", "-o", path] + timeout
        case .instructions:
            return ["env", Self.wholeMoves, "TMPDIR=\(Self.temporary(path))"] + timeout
                + ["valgrind", "--vgdb=no", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=\(path).%p"]
        }
    }

    /// Returns the folder for a tool's temporary files. valgrind names them by the process number and a random number seeded with it.
    /// Concurrent guests have the same numbers and share the host's /tmp. If valgrind cannot make such a file, it ends: "Unable to start up
    /// properly".
    static func temporary(_ path: String) -> String {
        let url = URL(fileURLWithPath: path)
        return url.deletingLastPathComponent().path + "/temporary-" + url.lastPathComponent
    }

    /// valgrind counts each byte of a `rep movsb` as an instruction. glibc copies with it on some processors only.
    private static let wholeMoves =
        "GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824"

    /// Returns the sum of the counts in the tool's output, over all processes; nil if there is none.
    func total(_ texts: [String]) -> Int? {
        let counts = texts.flatMap { self == .systemCalls ? Self.calls($0) : Self.instructions($0) }
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }

    /// Parses lines "% time, seconds, usecs/call, calls, errors or nothing, name", and leaves the total out.
    private static func calls(_ text: String) -> [Int] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count >= 5, let name = words.last, name != "total", !readInMemory.contains(String(name)) else { return nil }
            return Int(words[3])
        }
    }

    /// Outside User Mode Linux these are no system calls: the vDSO reads the time from memory.
    private static let readInMemory: Set = ["clock_gettime", "gettimeofday", "time", "getcpu"]

    /// Parses "==26== Collected : 1460508174", one line per process.
    private static func instructions(_ text: String) -> [Int] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count == 4 && words[1] == "Collected" ? Int(words[3]) : nil
        }
    }
}

/// The count of one run under a tool, and its number of shown frames; of decoded frames for a player that shows none.
struct Counted: Equatable {
    var total: Int, frames: Int

    /// Returns the counts per frame between the end of this run and that of a longer one; nil if the longer one has no more frames.
    func perFrame(until longer: Counted) -> Double? {
        longer.frames > frames ? Double(longer.total - total) / Double(longer.frames - frames) : nil
    }
}

extension BenchCase {
    /// Counts the work of `player` for a frame of this case. The two runs are concurrent on a host with two processors. valgrind cannot
    /// follow a process into its sandbox. For kiosk's instructions, the player therefore reads its files itself.
    ///
    /// - Parameter folder: a folder in /tmp for the tools' files.
    func count(_ count: Count, _ player: Player, modeName: String, folder: String) async throws -> Double {
        async let short = counted(count, player, count.lengths.short, modeName, folder)
        async let long = counted(count, player, count.lengths.long, modeName, folder)
        guard let figure = try await short.perFrame(until: try await long) else { throw BedError.failed("no frames to count by") }
        return figure / count.unit
    }

    private func counted(
        _ count: Count, _ player: Player, _ milliseconds: Int, _ modeName: String, _ folder: String
    ) async throws -> Counted {
        let clips = try clips.map { try $0.file() }
        // Without input devices the controls do not look up fonts, which happens once, half a second after the first picture.
        let machine = Machine {
            ($0.mode, $0.time, $0.recordsSound, $0.hasTouchScreen, $0.hasKeyboard) = (mode, .free, false, false, false)
        }
        let path = "\(folder)/\(count)-\(milliseconds)"
        // ffmpeg ends after its frames; a player with a display is told to end. The bed's limit, in virtual time, is longer than both.
        let isShown = [.kiosk, .inside, .signs, .mpv].contains(player)
        let frames = clips[0].frameRate * Double(milliseconds) / 1000
        let program = program(player, clips.map(\.path), modeName: modeName, frames: Int(frames), isIsolated: count != .instructions)
        let folders = Bed.Folders()
        defer { folders.remove() }
        try FileManager.default.createDirectory(atPath: Count.temporary(path), withIntermediateDirectories: true)
        let record = try await Bed.$folders.withValue(folders) {
            try await Bed.run(
                "bench \(name) \(player.rawValue) \(count) \(milliseconds)", for: .seconds(300), playing: clips,
                .under(count.tool(path, milliseconds: isShown ? milliseconds : 290_000), program), on: machine)
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { "\(folder)/\($0)".hasPrefix(path) }
        let texts = try files.map { file in
            defer { try? FileManager.default.removeItem(atPath: "\(folder)/\(file)") }
            return try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
        }
        guard let total = count.total(texts) else {
            throw BedError.failed("nothing was counted; it said: \(record.log.suffix(20).map(\.text)), \(texts.joined().suffix(1000))")
        }
        return Counted(total: total, frames: isShown ? record.frames.count : Int(frames))
    }
}
