import Foundation
import TestSupport

/// An emulated machine that runs kiosk, looked at from outside: its screen, its sound card, its devices; and a root shell in it, for what
/// only the inside knows. It ends with the value, and its disk and dumps with it unless ``keepsFolder``.
final class Machine: @unchecked Sendable {
    // Sendable because the suite is serialized: a test and its scope have it one after the other.

    /// The display adapters that are tried. Neither has vblanks.
    enum Adapter: String, CaseIterable {
        case virtioGPU = "virtio-gpu-pci"
        case bochs = "bochs-display"

        /// Those of tests that are about the display: each has to be booted once. `make test` has one of them.
        static let tried = Proof.isThorough ? allCases : [.virtioGPU]
    }

    /// What is its own: sockets, dumps, recordings, disk.
    let folder: String
    let adapter: Adapter
    let base: String
    private let disk: String
    private(set) var qmp: QMP
    private var qemu: Process
    private var guest: UnixSocket?
    private var dumps = 0
    /// Whether the folder stays, for somebody to look at.
    var keepsFolder = false

    /// Starts QEMU on a disk image, from power-on or from a saved state; see `Tests/Machine/boot`.
    ///
    /// - Parameters:
    ///   - base: the folder that `Tests/Machine/build` makes.
    ///   - options: further ones for QEMU.
    init(_ adapter: Adapter, base: String, disk: String, folder: String, options: [String] = []) throws {
        (self.adapter, self.base, self.disk, self.folder) = (adapter, base, disk, folder)
        (qemu, qmp) = try Self.start(adapter, base, disk, folder, options)
    }

    deinit {
        end()
        if !keepsFolder { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static func start(
        _ adapter: Adapter, _ base: String, _ disk: String, _ folder: String, _ options: [String]
    ) throws -> (Process, QMP) {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let qemu = Process()
        qemu.executableURL = URL(fileURLWithPath: Sources.folder + "/boot")
        qemu.arguments = [base, disk, folder] + options
        qemu.environment = ProcessInfo.processInfo.environment.merging(["GPU": adapter.rawValue]) { $1 }
        let log = folder + "/qemu.log"
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        qemu.standardInput = FileHandle.nullDevice
        qemu.standardOutput = FileHandle(forWritingAtPath: log)
        qemu.standardError = qemu.standardOutput
        try qemu.run()
        let end = Date() + 60
        while true {
            if let qmp = try? QMP(folder + "/qmp.sock") { return (qemu, qmp) }
            guard qemu.isRunning, Date() < end else {
                kill(qemu.processIdentifier, SIGKILL)
                throw MachineError("start QEMU: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "it says nothing")")
            }
            usleep(50_000)
        }
    }

    /// What QEMU says of it: `running`, `paused`, `inmigrate`, `suspended` …
    func status() throws -> String { (try qmp.execute("query-status") as? [String: Any])?["status"] as? String ?? "unknown" }

    /// Has it suspend to memory (ACPI's S3), and wakes it up when it has.
    func suspendAndWake() throws {
        try shell("(sleep 0.5; systemctl suspend) >/dev/null 2>&1 &")
        let end = Date() + 60
        while try status() != "suspended" {
            guard Date() < end else { throw MachineError("suspend: it is \(try status())") }
            usleep(50_000)
        }
        try qmp.execute("system_wakeup")
        try waitForShell(within: 60)
        try wait(untilSucceeds: "dmesg | grep -q 'PM: suspend exit'")
    }

    /// The plug is pulled: nothing is written, nothing said.
    func cutPower() { end() }

    /// Switched on again, on the same disk.
    func switchOn() throws {
        guest = nil
        (qemu, qmp) = try Self.start(adapter, base, disk, folder, [])
    }

    /// Waits for QEMU to end by itself, as it does when the machine is switched off in order.
    func waitForEnd(within seconds: Double = 60) throws {
        let end = Date() + seconds
        while qemu.isRunning {
            guard Date() < end else { throw MachineError("the machine is still on after \(seconds) s") }
            usleep(50_000)
        }
    }

    private func end() {
        guard qemu.isRunning else { return }
        kill(qemu.processIdentifier, SIGKILL)
        qemu.waitUntilExit()
    }
}

// The screen.
extension Machine {
    /// What stands on the screen now.
    func screen() throws -> ScreenDump {
        let path = folder + "/dump-\(String(format: "%04d", dumps)).ppm"
        try qmp.execute("screendump", ["filename": path])
        dumps += 1
        // The latest tell what went wrong, if something did.
        try? FileManager.default.removeItem(atPath: folder + "/dump-\(String(format: "%04d", dumps - 41)).ppm")
        return try ScreenDump(ppm: [UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
    }

    /// Looks at the screen again and again until so many frames have been seen.
    func watch(frames count: Int) throws -> Sightings {
        try wait("\(count) frames") { Set($0.frames.map(\.number)).count >= count || $0.foreign > 0 }
    }

    /// Looks at the screen again and again until clips of `order` have followed one another so often.
    func watch(seams count: Int, of order: PlayOrder = .whole) throws -> Sightings {
        try wait("\(count) seams") { order.seams(in: $0) >= count }
    }

    /// Looks at the screen again and again until a frame of `clip` is on it.
    func watch(until clip: ClosedRange<Int>, within seconds: Double? = nil) throws -> Sightings {
        try wait("frames \(clip)", within: seconds) { $0.frames.last.map { clip.contains($0.number) } ?? false }
    }

    /// Looks at the screen again and again for so long.
    func watch(seconds: Double) throws -> Sightings {
        let end = Date() + seconds
        return try wait("the end", within: seconds + 60) { _ in Date() >= end }
    }

    /// What stands on the screen now, and adds it to what was seen.
    @discardableResult
    private func look(_ seen: inout Sightings) throws -> ScreenDump {
        let start = Date()
        let screen = try screen()
        seen.all.append((screen.number, DateInterval(start: start, end: max(start, Date()))))
        return screen
    }

    /// Looks until the screen, or what was seen up to it, is as wanted. Without `seconds` it waits as long as the picture goes on: how fast that is on an
    /// emulated machine is its host's affair.
    private func wait(
        _ what: String, within seconds: Double?, until isSo: (ScreenDump, Sightings) -> Bool
    ) throws -> Sightings {
        var seen = Sightings()
        let begin = Date()
        while true {
            if isSo(try look(&seen), seen) { return seen }
            let end = seconds.map { begin + $0 } ?? min(seen.lastChange ?? begin, begin + 1080) + 120
            guard Date() < end else {
                throw MachineError("waited \(Int(Date().timeIntervalSince(begin))) s in vain for \(what); seen: \(seen)")
            }
            usleep(50_000)
        }
    }

    private func wait(_ what: String, within seconds: Double? = nil, untilSeen isEnough: (Sightings) -> Bool) throws -> Sightings {
        try wait(what, within: seconds) { _, seen in isEnough(seen) }
    }

    /// Waits until the screen shows what is asked for; without `seconds` as long as the picture goes on.
    func wait(_ what: String, within seconds: Double? = nil, until isSo: (ScreenDump) -> Bool) throws {
        _ = try wait(what, within: seconds) { screen, _ in isSo(screen) }
    }

    /// Waits for a picture of the clips that moves.
    func waitForMovingPicture(within seconds: Double? = nil) throws {
        var first: Int?
        try wait("a moving picture", within: seconds) { screen in
            guard let number = screen.number, PlayOrder.whole.distance(from: number, to: number) != nil else { return false }
            defer { first = first ?? number }
            return first.map { $0 != number } ?? false
        }
    }

    /// Waits until frames of `clip` are shown.
    func wait(for clip: ClosedRange<Int>, within seconds: Double? = nil) throws {
        try wait("frames \(clip)", within: seconds) { $0.number.map(clip.contains) ?? false }
    }

    /// Waits until the picture stands still: dumps 1.5 s apart are equal, byte for byte. (On a machine with other things to do a playing
    /// one can stand for a good second.)
    func waitForStill(within seconds: Double = 120) throws -> ScreenDump {
        let end = Date() + seconds
        while true {
            let before = try screen()
            usleep(1_500_000)
            if try screen() == before { return before }
            guard Date() < end else { throw MachineError("the picture does not stand still") }
        }
    }

    /// The monitor that hangs at a virtio-gpu.
    var monitor: QEMUMonitor { QEMUMonitor(socket: folder + "/vnc.sock") }
}

/// Frame numbers in the order in which they were seen; nil stands for a screen without one.
struct Sightings: CustomStringConvertible {
    /// Each with the time that the look at the screen took: somewhere in it is the moment that was seen.
    var all: [(number: Int?, time: DateInterval)] = []

    /// How many screens were not a frame of the clips: black, the console, a torn picture.
    var foreign: Int { all.count { $0.number == nil } }
    /// The frames.
    var frames: [(number: Int, time: DateInterval)] { all.compactMap { seen in seen.number.map { ($0, seen.time) } } }

    /// When something else was seen than before, the last time.
    var lastChange: Date? {
        for (before, seen) in zip(all, all.dropFirst()).reversed() where before.number != seen.number { return seen.time.end }
        return all.first?.time.end
    }

    /// For how many seconds at least the same stood on the screen, at most.
    var longestStill: Double {
        var (longest, first) = (0.0, all.first)
        for seen in all {
            if seen.number != first?.number { first = seen }
            longest = max(longest, seen.time.start.timeIntervalSince(first!.time.end))
        }
        return longest
    }

    var description: String { all.map { $0.number.map(String.init) ?? "-" }.joined(separator: " ") }
}

// The devices, by the ids of Tests/Machine/boot.
extension Machine {
    /// Pulls out a USB device.
    func pull(_ id: String) throws {
        try qmp.execute("device_del", ["id": id])
        try qmp.wait(for: "DEVICE_DELETED", device: id)
    }

    /// Plugs in a USB device: QEMU's name of the driver, and its properties.
    func plug(_ driver: String, id: String, _ properties: [String: Any] = [:]) throws {
        try qmp.execute("device_add", properties.merging(["driver": driver, "id": id, "bus": "usb.0"]) { $1 })
    }

    /// What the built-in sound card played so far.
    func recording() throws -> SoundRecording { try SoundRecording(folder + "/audio.wav") }
}

// The inside.
extension Machine {
    /// Runs a command in the machine as root; its output. Throws when it does not end with status 0. `Tests/Machine/guest-setup` has the
    /// other end.
    @discardableResult
    func shell(_ command: String, within seconds: Double = 120) throws -> String {
        let guest = try guest ?? UnixSocket(folder + "/shell.sock")
        self.guest = guest
        let tag = "end-\(UInt64.random(in: .min ... .max))"
        // The end of a line that was cut short, then the request.
        try guest.write("\n\(tag) \(Data(command.utf8).base64EncodedString())\n".utf8)
        var lines: [String] = []
        let end = Date() + seconds
        while true {
            let line = String(decoding: try guest.read(within: end.timeIntervalSinceNow), as: UTF8.self)
            guard line.hasPrefix(tag) else {
                lines.append(line)
                continue
            }
            let output = lines.joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
            guard line == tag + " 0" else { throw MachineError("\(command): status\(line.dropFirst(tag.count))\n\(output)") }
            return output
        }
    }

    /// Has kiosk.conf name these sources and no others, and say `more` besides.
    func setPlaylist(_ sources: [String], _ more: String = "") throws {
        let text = ([more] + sources.map { "[[playlist]]\nsource = \"\($0)\"" }).joined(separator: "\n") + "\n"
        let file = "/etc/kiosk/kiosk.conf"
        try shell(
            """
            { sed '/^\\[\\[playlist/,$d' \(file); echo \(Data(text.utf8).base64EncodedString()) | base64 -d; } > \(file).new
            chown --reference=\(file) \(file).new && chmod --reference=\(file) \(file).new && mv \(file).new \(file)
            """)
    }

    /// Waits until the machine has booted so far that its shell answers. What is written to a serial port that nobody has opened is lost,
    /// whole or in part.
    func waitForShell(within seconds: Double = 480) throws {
        let end = Date() + seconds
        // On a busy host an answer alone can take longer than what is asked first is lost for.
        var patience = 2.0
        while true {
            do {
                try shell("true", within: patience)
                return
            } catch {
                guest = nil
                patience = min(patience * 1.5, 30)
                guard Date() < end, qemu.isRunning else { throw MachineError("no shell in the machine: \(error)") }
            }
        }
    }

    /// Waits until a command succeeds in the machine; the bound is for a host that is four times as slow.
    func wait(untilSucceeds command: String, within seconds: Double = 120) throws {
        let end = Date() + seconds
        while true {
            do {
                try shell(command)
                return
            } catch {
                guard Date() < end else { throw error }
                usleep(200_000)
            }
        }
    }

    /// Puts into the folder what somebody will want to read: the journals, and the dumps as PNG.
    func gatherEvidence() {
        keepsFolder = true
        let command = "journalctl -b -o short-monotonic --no-pager; cat /proc/asound/card*/pcm0p/sub0/status"
        let journal = (try? shell(command, within: 20)) ?? "no answer"
        try? Data(journal.utf8).write(to: URL(fileURLWithPath: folder + "/journal.txt"))
        guard let dumps = try? FileManager.default.contentsOfDirectory(atPath: folder).filter({ $0.hasSuffix(".ppm") }) else { return }
        for dump in dumps {
            let path = folder + "/" + dump
            if (try? run("ffmpeg", ["-nostdin", "-v", "error", "-y", "-i", path, path.dropLast(3) + "png"])) != nil {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }
}
