import Foundation
import Glibc
import Synchronization

/// The test bed: a User Mode Linux kernel with real DRM, ALSA and evdev subsystems, in which a player runs under observation.
///
/// A run boots a guest (0.3 s) and starts the director in it (guest/direct.c). The director starts the player and performs the timeline.
/// The run then reads the files that the director and the kernel wrote. A guest in real or virtual time runs alone on a machine, across all
/// processes: two would starve each other. In free time, at most one runs for each processor.
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

    /// The reason why there is no bed; nil if there is one.
    package static var unavailability: String? { if case .failure(let error) = ready { "\(error)" } else { nil } }

    /// Runs a shell line in a guest, with these options of Tests/Bed/run, and returns its standard output. Other guests may run beside it.
    /// Use it only for runs in which computing takes no time (`-V`).
    package static func shell(_ line: String, arguments: [String]) throws -> String {
        let permission = Outcome.permissionForGuest(isAlone: false)
        defer { close(permission) }
        let outcome = try Outcome.of([try ready.get() + "/run"] + arguments + [line])
        guard outcome.status == 0 else { throw BedError.failed("status \(outcome.status): \(outcome.errors)") }
        return outcome.output
    }

    /// Collects the folders of the runs; see ``Folders``.
    @TaskLocal package static var folders: Folders?

    /// The maximum number of tries of a run in real time that the host starves.
    @TaskLocal package static var attempts = 5

    /// Returns the path of the binary under test: the release build. A debug build is too slow for a 60 Hz display on one core.
    ///
    /// $KIOSK_BED_PLAYER names another binary.
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

    /// Runs `program` and returns the record.
    ///
    /// Repeats a run that the host starved of processor time (``attempts``). The host cannot starve a run in virtual time: a run that does
    /// not end there is repeated once, and then fails.
    ///
    /// - Parameters:
    ///   - name: the name of the run and of its folder.
    ///   - duration: the time from the player's start until the director asks it to end.
    ///   - clips: the playlist; the analysis judges the numbers on the display by it.
    ///   - area: the part of the display that shows the clips; their numbers are read there. Default: the whole display.
    ///   - timeline: the actions on the player during the run.
    /// - Throws: ``BedError/starved(_:)`` if no run is reliable, or if the host is too slow (``Machine/measuresHost``),
    ///   ``BedError/unavailable(_:)`` if there is no bed, ``BedError/failed(_:)`` if there is nothing to judge.
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
                // Mostly a property of the host, not its momentary load: retry once at most.
                complaint = reason
                triesLeft = min(triesLeft, 1)
            } catch BedError.starved(let reason) {
                complaint = reason
            }
        }
        throw machine.time == .real ? BedError.starved(complaint) : BedError.failed("twice not brought to its end: \(complaint)")
    }

    /// The folders of runs, kept until the test knows whether their results are right. Set ``Bed/folders`` to collect them.
    package final class Folders: Sendable {
        private let state = Mutex((paths: [String](), areNeeded: false))

        /// Creates an empty collection.
        package init() {}

        /// The folders of all runs so far.
        package var all: [String] { state.withLock { $0.paths } }

        /// Whether the folders are kept for inspection.
        package var areNeeded: Bool {
            get { state.withLock { $0.areNeeded } }
            set { state.withLock { $0.areNeeded = newValue } }
        }

        func add(_ path: String) { state.withLock { $0.paths.append(path) } }

        /// Deletes the folders.
        package func remove() { for path in all { try? FileManager.default.removeItem(atPath: path) } }
    }
}

/// The reason why there is no record.
package enum BedError: Error, CustomStringConvertible {
    /// This machine has no bed.
    case unavailable(String)
    /// The host withheld the processor from the guest: its observations prove nothing.
    case starved(String)
    /// The host is too slow for judgements in real time.
    case unable(String)
    /// The run did not take place, or left nothing to judge.
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
