import ArgumentParser
import Bed
import Foundation

/// Runs kiosk and mpv on the test bed, in turn; docs/testing-bench.md explains the output.
@main struct KioskBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kiosk-bench", abstract: "Measures the promises of kiosk on the test bed, beside mpv.",
        discussion: """
            Without options it takes half an hour: three runs of the main cases, one of each other, and what is counted. The result is \
            printed as Markdown, and written with every sample as JSON. What it is doing meanwhile goes to standard error.
            """)

    @Option(name: .customLong("case"), parsing: .upToNextOption, help: "Only these cases (--list names them).") var cases: [String] = []
    @Option(help: "So many runs of every case that is selected.") var runs: Int?
    @Option(help: "So many seconds a run.") var seconds: Int?
    @Flag(help: "One run of the main case.") var quick = false
    @Flag(help: "Nothing in real time: only system calls and instructions, which no load of the host changes.") var counts = false
    @Flag(help: "Names the cases.") var list = false
    @Flag(
        inversion: .prefixedNo, help: "Real-time priority for the bed: little disturbs it, but the host may throttle one that never rests.")
    var realtime = geteuid() == 0
    @Option(help: "The JSON file; Markdown goes beside it. Default: .build/bench/ and the date.") var output: String?

    func validate() throws {
        if let name = cases.first(where: { name in !BenchCase.all.contains { $0.name == name } }) {
            throw ValidationError("no case is called \(name): --list names them")
        }
        if let runs, runs < 1 { throw ValidationError("--runs \(runs): at least one") }
        if let seconds, seconds < 7 { throw ValidationError("--seconds \(seconds): at least 7, as the clips last 5 s") }
    }

    func run() async throws {
        if list { return print(BenchCase.all.map(\.name).joined(separator: "\n")) }
        if let reason = Bed.unavailability {
            complain("there is no test bed here: \(reason)")
            throw ExitCode(69)
        }
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Measure the same copy to the end, even if its sources are edited meanwhile.
        setenv("KIOSK_BED_PLAYER", try strippedPlayer(folder), 1)
        let scenarios = selection
        let path = output ?? "\(Bed.package)/.build/bench/\(Self.stamp(Date())).json"
        var findings = Findings(circumstances: try await circumstances(), series: scenarios.flatMap(\.series))
        let modeNames = try await modeNames(for: scenarios)
        let (turns, counted) = (turns(of: scenarios), counted(of: scenarios))
        var step = 0
        func begin(_ text: String) {
            step += 1
            complain("[\(step) of \(turns.count + counted.count)] \(text)")
        }
        complain(
            "\(turns.count + counted.count) steps, about \(Self.minutes(turns.map { ($0.scenario, $0.player) }, counted.map(\.count))) minutes"
        )
        for (round, scenario, player) in turns {
            begin("\(scenario.name), \(player.rawValue), run \(round + 1)")
            guard let place = findings.series.firstIndex(where: { $0.scenario == scenario.name && $0.player == player.rawValue })
            else { continue }
            await perform(scenario, player, modeNames["\(scenario.mode)"], into: &findings.series[place])
            findings.circumstances.loadAfter = Self.load
            // Write after every run: an interrupted bench keeps its results.
            try write(findings, to: path)
        }
        for (scenario, player, count) in counted {
            begin("\(scenario.name), \(player.rawValue), \(count.measure.title)")
            guard let place = findings.series.firstIndex(where: { $0.scenario == scenario.name && $0.player == player.rawValue })
            else { continue }
            do {
                let figure = try await scenario.count(
                    count, player, modeName: modeNames["\(scenario.mode)"] ?? "\(scenario.mode)", folder: folder)
                findings.series[place].samples[count.measure] = [figure]
            } catch {
                complain("  \(error)")
                findings.series[place].failures.append("\(count.measure.title): \(error)")
            }
            findings.circumstances.loadAfter = Self.load
            try write(findings, to: path)
        }
        print(findings.markdown)
        complain("written: \(path)")
    }

    private var selection: [BenchCase] {
        var scenarios = quick ? Array(BenchCase.all.prefix(1)) : BenchCase.all
        if !cases.isEmpty { scenarios = BenchCase.all.filter { cases.contains($0.name) } }
        for index in scenarios.indices { scenarios[index].seconds = seconds ?? scenarios[index].seconds }
        return scenarios
    }

    /// Returns the runs in turn: kiosk, mpv, kiosk, mpv …. Other load on the host thus affects all players alike.
    private func turns(of scenarios: [BenchCase]) -> [(round: Int, scenario: BenchCase, player: BenchCase.Player)] {
        if counts { return [] }
        func rounds(_ scenario: BenchCase) -> Int { runs ?? (quick || !scenario.isMain ? 1 : 3) }
        return (0..<(scenarios.map(rounds).max() ?? 0)).flatMap { round in
            scenarios.filter { round < rounds($0) }.flatMap { scenario in scenario.players.map { (round, scenario, $0) } }
        }
    }

    /// Returns the counts to take, player by player in each case.
    private func counted(of scenarios: [BenchCase]) -> [(scenario: BenchCase, player: BenchCase.Player, count: Count)] {
        if quick, !counts { return [] }
        return scenarios.flatMap { scenario in
            scenario.counted.flatMap { player in Count.allCases.map { (scenario, player, $0) } }
        }
    }

    /// Returns the estimated time of all runs. A real-time run takes its seconds, and two more to begin and end. Counting depends on the
    /// host: the figures are of a whole bench on two cores of an AMD EPYC.
    static func minutes(_ turns: [(scenario: BenchCase, player: BenchCase.Player)], _ counted: [Count]) -> Int {
        let real = turns.reduce(0) { $0 + $1.scenario.seconds * ($1.player == .ffmpeg ? 2 : 1) + 2 }
        let virtual = counted.reduce(0) { $0 + ($1 == .systemCalls ? 15 : 60) }
        return max(1, (real + virtual + 30) / 60)
    }

    /// Adds one valid run, after at most three attempts.
    private func perform(_ scenario: BenchCase, _ player: BenchCase.Player, _ modeName: String?, into series: inout Series) async {
        for _ in 1...3 {
            do {
                let record = try await record(scenario, player, modeName ?? "\(scenario.mode)")
                if player != .ffmpeg, record.frames.isEmpty {
                    let last = record.log.last.map { "; it said: \($0.text)" } ?? ""
                    series.failures.append("no picture, status \(record.status)\(last)")
                } else {
                    series.add(Measurement(record, scenario, player))
                }
                return
            } catch BedError.starved(let reason) {
                series.starved += 1
                complain("  starved: \(reason)")
            } catch {
                complain("  \(error)")
                series.failures.append("\(error)")
                return
            }
        }
    }

    private func record(_ scenario: BenchCase, _ player: BenchCase.Player, _ modeName: String) async throws -> Record {
        let clips = try scenario.clips.map { try $0.file() }
        let machine = Machine {
            $0.mode = scenario.mode
            $0.isRealTime = realtime
            // An open end of a loopback delays no player, but recording costs time on the one processor.
            $0.recordsSound = player != .ffmpeg
        }
        let seconds = player == .ffmpeg ? 2 * scenario.seconds : scenario.seconds
        // Without this, the folders of starved runs would stay.
        let folders = Bed.Folders()
        defer { folders.remove() }
        return try await Bed.$attempts.withValue(1) {
            try await Bed.$folders.withValue(folders) {
                try await Bed.run(
                    "bench \(scenario.name) \(player.rawValue)", for: .seconds(seconds), playing: clips,
                    scenario.program(player, clips.map(\.path), modeName: modeName, frames: scenario.convertedFrames), on: machine
                ) { at in
                    if scenario.kind == .controls { Control.act(on: &at) }
                }
            }
        }
    }

    private func write(_ findings: Findings, to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try encoder.encode(findings).write(to: url)
        try Data((findings.markdown + "\n").utf8).write(to: url.deletingPathExtension().appendingPathExtension("md"))
    }

    private func complain(_ text: String) { FileHandle.standardError.write(Data("kiosk-bench: \(text)\n".utf8)) }
}

extension BenchCase {
    /// One empty series for each player.
    var series: [Series] { (players + counted.filter { !players.contains($0) }).map { Series(scenario: name, player: $0.rawValue) } }
}
