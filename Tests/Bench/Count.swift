import Bed
import Foundation

/// What a player does for a frame, counted instead of timed: system calls by strace, instructions of its own by valgrind's callgrind.
///
/// A player runs on the bed in virtual time in which computing takes none, so a tool that slows it down fifty times makes no frame late, and
/// neither the host's load nor its processor changes a figure. It runs twice, the second time longer; the difference of the counts by the
/// difference of the frames shown is the steady state, since the start is in both.
enum Count: CaseIterable {
    case systemCalls, instructions

    var measure: Measure { self == .systemCalls ? .systemCalls : .instructions }

    /// How many of them are one in a table.
    var unit: Double { self == .systemCalls ? 1 : 1e6 }

    /// How long the two runs last, in milliseconds. A clip lasts 5 s: the calls are those of a whole turn of it, with its seam. Under callgrind
    /// a second of 2160p takes a minute.
    var lengths: (short: Int, long: Int) { self == .systemCalls ? (2000, 7000) : (500, 1500) }

    /// The words before the command of the player: it is counted into files that begin with `path`, and told to end after so long.
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

    /// A folder for what a tool makes for itself. valgrind names those files by the process number and a random number that begins with it. Guests that
    /// run at the same time have the same numbers and share the host's /tmp, and a file that cannot be made ends it: "Unable to start up properly".
    static func temporary(_ path: String) -> String {
        let url = URL(fileURLWithPath: path)
        return url.deletingLastPathComponent().path + "/temporary-" + url.lastPathComponent
    }

    /// valgrind counts each byte of a `rep movsb` as an instruction, which glibc copies with on some processors only.
    private static let wholeMoves =
        "GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824"

    /// The count in what the tool wrote, of all processes together; nil where it wrote none.
    func total(_ texts: [String]) -> Int? {
        let counts = texts.flatMap { self == .systemCalls ? Self.calls($0) : Self.instructions($0) }
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }

    /// Lines "% time, seconds, usecs/call, calls, errors or nothing, name", and their total.
    private static func calls(_ text: String) -> [Int] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count >= 5, let name = words.last, name != "total", !readInMemory.contains(String(name)) else { return nil }
            return Int(words[3])
        }
    }

    /// Where the kernel is not a User Mode Linux these are no system calls: the vDSO reads the time from memory.
    private static let readInMemory: Set = ["clock_gettime", "gettimeofday", "time", "getcpu"]

    /// "==26== Collected : 1460508174", one a process.
    private static func instructions(_ text: String) -> [Int] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count == 4 && words[1] == "Collected" ? Int(words[3]) : nil
        }
    }
}

/// What one run under a tool has counted, and the frames it showed or, where it shows none, decoded.
struct Counted: Equatable {
    var total: Int, frames: Int

    /// The counts a frame from the end of this run to that of a longer one; nil where no more frames were shown in it.
    func perFrame(until longer: Counted) -> Double? {
        longer.frames > frames ? Double(longer.total - total) / Double(longer.frames - frames) : nil
    }
}

extension BenchCase {
    /// What `player` does for a frame of this case. The two runs go on at the same time where there are two processors. valgrind cannot follow a
    /// process into its sandbox: instructions of kiosk are those of a player that reads its files itself.
    ///
    /// - Parameter folder: where the tools may write, in /tmp.
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
        // Without input devices no fonts of controls are looked up, which are once, and half a second after the first picture.
        let machine = Machine {
            ($0.mode, $0.time, $0.recordsSound, $0.hasTouchScreen, $0.hasKeyboard) = (mode, .free, false, false, false)
        }
        let path = "\(folder)/\(count)-\(milliseconds)"
        // ffmpeg is given its frames; what shows them is told to end. The bed waits longer than either takes: in virtual time that is its limit.
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
