import Foundation
import Glibc
import Synchronization

/// The test bed: a User Mode Linux kernel with real DRM, ALSA and evdev subsystems, in which a player is run and watched.
///
/// A run boots a guest (0.3 s), starts the director in it (guest/direct.c), which starts the player and does to it what the timeline says,
/// and reads what the director and the kernel wrote down. A guest in real time runs alone on a machine, whoever asks: two would starve each
/// other. In virtual time there is one for each processor.
package enum Bed {
    /// The folder of the package.
    package static let package = String(#filePath.dropLast("/Tests/Bed/Bed.swift".count))

    /// The folder with the guest's kernels and tools, or the reason why there is none.
    package static let ready: Result<String, BedError> = {
        do {
            let build = try Outcome.of([package + "/Tests/Bed/build", "--where"])
            if build.status == 0 { return .success(build.output.trimmingCharacters(in: .whitespacesAndNewlines)) }
            let reason = build.errors.split(separator: "\n").last.map(String.init) ?? "status \(build.status)"
            return .failure(.unavailable(String(reason.trimmingPrefix("bed: "))))
        } catch {
            return .failure(.unavailable("Tests/Bed/build cannot be run: \(error)"))
        }
    }()

    /// The reason why there is no bed; nil where there is one.
    package static var unavailability: String? { if case .failure(let error) = ready { "\(error)" } else { nil } }

    /// Runs a shell line in a guest, with these options of Tests/Bed/run, and returns what it has written to standard output. Other
    /// guests may run beside it, so it is for runs in which computing takes no time (`-V`).
    package static func shell(_ line: String, arguments: [String]) throws -> String {
        let permission = Outcome.permissionForGuest(isAlone: false)
        defer { close(permission) }
        let outcome = try Outcome.of([try ready.get() + "/run"] + arguments + [line])
        guard outcome.status == 0 else { throw BedError.failed("status \(outcome.status): \(outcome.errors)") }
        return outcome.output
    }

    /// Where runs have left their folders; see ``Folders``.
    @TaskLocal package static var folders: Folders?

    /// How many runs there are at most until one in real time was not starved.
    @TaskLocal package static var attempts = 5

    /// The binary that is judged: the release build, as a debug build is too slow for a 60 Hz display on one core.
    ///
    /// $KIOSK_BED_PLAYER names another one.
    package static func player() throws(BedError) -> String {
        if let path = ProcessInfo.processInfo.environment["KIOSK_BED_PLAYER"] { return path }
        let path = package + "/.build/release/kiosk"
        func changed(_ path: String) -> Date? {
            (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        }
        guard let built = changed(path) else { throw .failed("there is no \(path), which is what the bed tests judge: make build") }
        let sources = FileManager.default.enumerator(atPath: package + "/Sources")?.compactMap { $0 as? String } ?? []
        for source in sources where source.contains(".") {
            if let date = changed("\(package)/Sources/\(source)"), date > built {
                throw .failed("\(path) is older than Sources/\(source), so it is not what is to be judged: make build")
            }
        }
        return path
    }

    /// Runs `program` and returns what happened.
    ///
    /// A run that was starved of processor time by the host is repeated (``attempts``). In virtual time nothing is starved: there a run
    /// that does not come to its end is repeated once, and then has failed.
    ///
    /// - Parameters:
    ///   - name: what the run is called; its folder is named for it.
    ///   - duration: when the player is asked to end, from its start.
    ///   - clips: the playlist, and what the numbers on the display are judged by.
    ///   - area: where on the display the clips are shown: their numbers are read there. Default: all of it.
    ///   - timeline: what is done to the player meanwhile.
    /// - Throws: ``BedError/starved(_:)`` when no run could be trusted, or the host is too slow (``Machine/measuresHost``),
    ///   ``BedError/unavailable(_:)`` where there is no bed, ``BedError/failed(_:)`` when there is nothing to judge.
    package static func run(
        _ name: String, for duration: Duration, playing clips: [NumberedClip] = [], _ program: Program = .kiosk(),
        on machine: Machine = Machine(), area: Vblank.Rectangle? = nil,
        timeline: (inout ActionTimeline) -> Void = { _ in }
    ) async throws -> Record {
        var entries = ActionTimeline()
        timeline(&entries)
        if let stretch = ProcessInfo.processInfo.environment["KIOSK_BED_PICTURES"] {
            entries.takePictures(stretch, refresh: machine.mode.refresh)
        }
        let run = Run(
            name: name, duration: duration, clips: clips, program: program, machine: machine, area: area, timeline: entries)
        var complaint = ""
        var triesLeft = machine.time == .real ? attempts : 2
        while triesLeft > 0 {
            triesLeft -= 1
            do {
                return try await run.perform()
            } catch BedError.unable(let reason) {
                // That is mostly what the host is like, and not what else it does.
                complaint = reason
                triesLeft = min(triesLeft, 1)
            } catch BedError.starved(let reason) {
                complaint = reason
            }
        }
        throw machine.time == .real ? BedError.starved(complaint) : BedError.failed("twice not brought to its end: \(complaint)")
    }

    /// The folders of runs, kept until it is known whether what they show is right. Set ``Bed/folders`` to collect them.
    package final class Folders: Sendable {
        private let state = Mutex((paths: [String](), areNeeded: false))

        /// None yet.
        package init() {}

        /// Those of all runs so far.
        package var all: [String] { state.withLock { $0.paths } }

        /// Somebody will want to look at them.
        package var areNeeded: Bool {
            get { state.withLock { $0.areNeeded } }
            set { state.withLock { $0.areNeeded = newValue } }
        }

        func add(_ path: String) { state.withLock { $0.paths.append(path) } }

        /// Removes them.
        package func remove() { for path in all { try? FileManager.default.removeItem(atPath: path) } }
    }
}

/// Why there is no record.
package enum BedError: Error, CustomStringConvertible {
    /// This machine has no bed.
    case unavailable(String)
    /// The host kept the guest from its processor: whatever was seen proves nothing.
    case starved(String)
    /// The host is too slow for what is judged in real time.
    case unable(String)
    /// The run did not come about.
    case failed(String)

    /// The reason, for people.
    package var description: String {
        switch self {
        case .unavailable(let reason): reason
        case .starved(let reason): "the bed was starved: \(reason)"
        case .unable(let reason): "the host is too slow: \(reason)"
        case .failed(let reason): reason
        }
    }
}
