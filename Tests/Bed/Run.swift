import Foundation

/// One boot of the bed: writes the script, runs the guest, reads its files.
struct Run {
    var name: String
    var duration: Duration
    var clips: [NumberedClip]
    var program: Program
    var machine: Machine
    var area: Vblank.Rectangle?
    var timeline: ActionTimeline

    /// Boots a guest once and returns its record. ``Bed/run(_:for:playing:_:on:area:timeline:)`` repeats a starved run.
    func perform() async throws -> Record {
        let ready = try Bed.ready.get()
        let folder = try makeFolder()
        let keepsAlways = ProcessInfo.processInfo.environment["KIOSK_BED_KEEP"] != nil
        if !keepsAlways { Bed.folders?.add(folder) }

        try write(script, to: folder + "/script")
        for case .replay(let recording) in timeline.entries.map(\.action) {
            try write(recording.text, to: folder + "/" + recording.fileName)
        }
        let command = try command(folder)
        let limit = (machine.time == .real ? 1 : 3) * Int(duration / .seconds(1)) + 60
        let writable = folder.hasPrefix("/tmp/") ? "/tmp" : "/tmp:" + folder
        let guest =
            [ready + "/run"] + machine.options + ["-t", "\(limit)", "-l", folder + "/kernel", "-w", writable, "--", "direct", folder]
            + command
        try write(guest.map { "'\($0)'" }.joined(separator: " ") + "\n", to: folder + "/command")
        let outcome = try await Outcome.ofGuest(guest, isAlone: machine.time != .free)
        try write(outcome.errors, to: folder + "/errors")

        let record = try read(folder, outcome)
        if Bed.folders == nil && !keepsAlways { try? FileManager.default.removeItem(atPath: folder) }
        return record
    }

    private func makeFolder() throws -> String {
        let parent = ProcessInfo.processInfo.environment["KIOSK_BED_KEEP"] ?? NSTemporaryDirectory() + "kiosk-bed"
        let title = String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" })
        var number = 0
        while true {
            number += 1
            let path = parent + "/\(title)-\(number)"
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            if mkdir(path, 0o755) == 0 { return path }
            guard errno == EEXIST else { throw BedError.failed("no folder can be made at \(path): \(String(cString: strerror(errno)))") }
        }
    }

    /// The stage and the timeline, as direct.c reads them.
    private var script: String {
        let area = area ?? Vblank.Rectangle(x: 0, y: 0, width: machine.mode.width, height: machine.mode.height)
        // The cells of Tests/Clips/make: 16 at the bottom left of the picture. Each is a 40th of the picture's width and two 45ths of its
        // height.
        let count = machine.readsTopmost ? -16 : 16
        let cells = "\(area.x) \(area.y + area.height * 43 / 45) \(area.width / 40) \(area.height * 2 / 45) \(count)"
        var lines = machine.isMeasured ? Host.script(clips.first) : []
        lines += ["seconds \(duration / .seconds(1))", "sample \(machine.samplePeriod / .seconds(1))", "terminal"]
        if machine.hasTouchScreen { lines.append("touch \(machine.mode.width) \(machine.mode.height)") }
        if machine.hasKeyboard { lines.append("keys") }
        lines += (0..<machine.displays).map { "watch \($0) \(cells)" }
        if machine.recordsSound { lines.append("listen hw:Loopback,1,0") }
        // A stall of 11 ms can cost a commit, wherever in a vblank period it begins. This period and limit catch each of them.
        if machine.time == .real { lines.append("look 5000 6000") }
        return (lines + timeline.script).joined(separator: "\n") + "\n"
    }

    /// Returns the command that the director starts.
    func command(_ folder: String) throws -> [String] { try command(of: program, folder) }

    private func command(of program: Program, _ folder: String) throws -> [String] {
        switch program {
        case .command(let command): return command
        case .under(let tool, let program): return tool + (try command(of: program, folder))
        case .kiosk(let configuration, let arguments):
            // kiosk watches the folder of its configuration, and the director constantly writes its log to `folder`: use a separate one.
            let own = folder + "/configuration"
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            try write(configuration.text(machine, clips), to: own + "/kiosk.conf")
            return [try Bed.player(), "--config", own + "/kiosk.conf"] + arguments
        }
    }

    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    private func text(_ path: String) -> String { String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self) }

    private func bytes(_ path: String) -> [UInt8] { FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? [] }

    /// Reads the files that a guest left in its folder.
    private func read(_ folder: String, _ outcome: Outcome) throws -> Record {
        let report = Report(text(folder + "/report"))
        // 124: the time was up; 254: the guest died.
        guard outcome.status != 124, outcome.status != 254 else { throw BedError.starved("\(outcome.errors) (\(folder))") }
        guard report.isComplete, let start = report.start, let end = report.end else {
            throw BedError.failed("the run in \(folder) was not finished (status \(outcome.status)): \(outcome.errors)")
        }
        if machine.time == .real, let reason = starvation(folder, report, from: start, to: report.asked ?? end.time) {
            throw BedError.starved("\(reason) (\(folder))")
        }
        let host = Host(report)
        if machine.isMeasured {
            guard let host else { throw BedError.failed("nothing was measured in \(folder)") }
            if clips.first != nil, host.decoding == nil {
                throw BedError.failed("ffmpeg failed in \(folder): \(text(folder + "/reference"))")
            }
            if let reason = host.shortfall(refresh: machine.mode.refresh) { throw BedError.unable("\(reason) (\(folder))") }
        }
        let events = timeline.entries.enumerated().map { id, entry in
            Record.Event(name: entry.name, time: report.done[id].map { .microseconds($0 - start) })
        }
        var (screenshots, outputs) = ([String: Picture](), [String: String]())
        for (id, entry) in timeline.entries.enumerated() {
            guard let name = entry.name else { continue }
            switch entry.action {
            case .screenshot: screenshots[name] = Picture(ppm: bytes("\(folder)/\(id).ppm"))
            case .shell: outputs[name] = text("\(folder)/\(id).txt")
            case .terminal: outputs[name] = Report(text("\(folder)/\(id).txt")).terminal
            default: break
            }
        }
        let samples = report.samples.map {
            Record.Usage.Sample(
                time: .microseconds($0.time - start), cpu: .microseconds($0.cpu), residentMemory: $0.residentKilobytes * 1024,
                threads: $0.threads, descriptors: $0.descriptors, share: $0.shareKilobytes * 1024)
        }
        // Only the last look includes the time of child processes that no parent has waited for.
        let cpu = max(.microseconds(end.cpu), samples.last?.cpu ?? .zero)
        return Record(
            displays: (0..<machine.displays).map { Vblank.log(text("\(folder)/vblanks-\($0)"), start: start) },
            sound: Sound(wav: bytes(folder + "/sound.wav"), positions: text(folder + "/sound.times"), origin: start),
            log: text(folder + "/log").split(separator: "\n").compactMap { Record.LogLine($0, start: start) }, events: events,
            usage: Record.Usage(cpu: cpu, peakMemory: end.peakKilobytes * 1024, samples: samples), status: end.status,
            timeToEnd: report.asked.map { .microseconds(end.time - $0) }, wasKilled: report.wasKilled, terminal: report.terminal ?? "",
            clips: clips, screenshots: screenshots, outputs: outputs, host: host)
    }

    /// Returns the reason why the timing of a run is unreliable; nil if it is reliable. Judges from the player's start until the request to
    /// end.
    private func starvation(_ folder: String, _ report: Report, from start: Int, to end: Int) -> String? {
        let overruns = text(folder + "/kernel").split(separator: "\n").filter { line in
            guard line.contains("vblank timer overrun"), let time = line.firstMatch(of: #/^\[ *(\d+\.\d+)\]/#) else { return false }
            return (start...end).contains(Int((Double(time.output.1) ?? 0) * 1e6))
        }
        if !overruns.isEmpty { return "\(overruns.count) vblank timer overruns" }
        let held = report.held.filter { (start...end).contains($0.time) }
        if let worst = held.map(\.late).max() { return "the guest stood still \(held.count) times, for up to \(worst / 1000) ms" }
        if text(folder + "/sound.times").contains("overrun") { return "samples of the recording were lost" }
        return nil
    }
}

/// The output and status of a program on the host.
struct Outcome {
    var status: Int
    var output: String, errors: String

    /// Runs a program to its end and returns its outcome.
    static func of(_ command: [String]) throws -> Outcome {
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        (process.standardOutput, process.standardError) = (output, errors)
        process.standardInput = FileHandle.nullDevice
        // A child inherits this thread's signal mask. The threads of a concurrency pool block the signals that end a script.
        var (none, former) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        try process.run()
        // Both outputs are short: one pipe does not fill up while this reads the other.
        let text = [output, errors].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
        process.waitUntilExit()
        return Outcome(status: Int(process.terminationStatus), output: text[0], errors: text[1])
    }

    /// Runs a guest on a thread of its own. If computing takes time in the guest (real or virtual time), it runs alone on this machine:
    /// otherwise it would measure the time that another guest computes. Nothing disturbs guests in free time; this process runs at most one
    /// for each processor and each 4 GB of memory.
    static func ofGuest(_ command: [String], isAlone: Bool) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            Thread {
                if !isAlone { places.wait() }
                defer { if !isAlone { places.signal() } }
                let permission = permissionForGuest(isAlone: isAlone)
                defer { close(permission) }
                continuation.resume(with: Result { try of(command) })
            }.start()
        }
    }

    /// Waits until a guest may run: alone on this machine, or beside others that do not need to be alone. Close the descriptor to release
    /// the permission.
    static func permissionForGuest(isAlone: Bool) -> Int32 {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? environment["HOME", default: ""] + "/.cache"
        let lock = open(cache + "/kiosk/bed/running", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        flock(lock, isAlone ? LOCK_EX : LOCK_SH)
        return lock
    }

    /// A guest has one processor and up to 3 GB of memory.
    private static let places = DispatchSemaphore(
        value: max(1, min(ProcessInfo.processInfo.activeProcessorCount, Int(ProcessInfo.processInfo.physicalMemory >> 30) / 4)))
}
