import Foundation
import Fuzz
import TestSupport
import Testing

/// Plays some hundred damaged files of `make fuzz` in this process, always the same ones. `make sanitize` checks every access.
/// KIOSK_FUZZ_FILES sets their number; 0 disables the tests.
@Suite(.blocking, .serialized) struct FuzzTests {
    private static let files = ProcessInfo.processInfo.environment["KIOSK_FUZZ_FILES"].flatMap { Int($0) } ?? 216
    private static let seed: UInt64 = 9

    private func damaged(_ count: Int) throws -> [String] {
        let originals = try Original.all(in: Clips.folder + "/fuzz")
        #expect(originals.count >= 12)
        return try (0..<count).map { number in
            let (name, bytes) = Original.damaged(originals, seed: Self.seed, number: number)
            return try Clips.file("damaged-\(number).\(name)", bytes)
        }
    }

    @Test(.enabled(if: FuzzTests.files > 0)) func damagedFilesAreReadOrRefused() throws {
        var refused = 0
        for path in try damaged(Self.files) {
            guard let problem = Trial.read(path, threads: 1) else { continue }
            refused += 1
            #expect(problem.contains(path))
        }
        #expect(refused > 0 && refused < Self.files)
    }

    /// Plays one file of each container in a row, a moment each, with seeks.
    @Test(.enabled(if: FuzzTests.files > 0)) func damagedFilesArePlayedOrTold() throws {
        let paths = try damaged(27)
        let failing = Set(paths.indices.filter { Trial.read(paths[$0], threads: 1) != nil })
        for start in stride(from: 0, to: paths.count, by: 9) {
            let part = start..<min(paths.count, start + 9)
            #expect(Trial.play(Array(paths[part]), failing: Set(failing.filter { part.contains($0) }.map { $0 - start })) == [])
        }
    }

    /// Reads lists of a hostile server or folder (`kiosk-fuzz --lists`).
    @Test(.enabled(if: FuzzTests.files > 0)) func listsShowNothingThatTheyMayNot() throws {
        let trial = try ListTrial(in: Clips.folder + "/fuzz")
        for number in 0..<Self.files { #expect(trial.problem(seed: Self.seed, number: number) == nil) }
    }

    /// Sends damaged lines to a player's control socket (`kiosk-fuzz --lines`).
    @Test(.enabled(if: FuzzTests.files > 0)) func linesAreAnsweredAndThePlayerPlaysOn() throws {
        let originals = try Original.all(in: Clips.folder + "/fuzz")
        #expect(originals.contains { $0.name == "mp4" })
        let trial = try ControlTrial(playing: Clips.folder + "/fuzz/original.mp4")
        for number in 0..<3 * Self.files {
            let line = trial.line(seed: Self.seed, number: number)
            let problem = trial.send(line)
            #expect(problem == nil, "line \(number): \(String(decoding: line.prefix(300), as: UTF8.self).debugDescription)")
            if number % ControlTrial.batch == 0 { #expect(trial.playOn() == nil, "after line \(number)") }
        }
    }
}
