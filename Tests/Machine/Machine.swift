import Foundation
import TestSupport

/// An emulated machine that runs kiosk. Tests observe its screen, sound card and devices from outside. A root shell inside tells the rest.
/// Releasing the value ends the machine and deletes its disk and dumps, unless ``keepsFolder`` is set.
final class Machine: @unchecked Sendable {
    // Sendable because the suite is serialized: a test and its scope use it one after the other.

    /// The emulated display adapters. Neither has vblanks.
    enum Adapter: String, CaseIterable {
        case virtioGPU = "virtio-gpu-pci"
        case bochs = "bochs-display"

        /// The adapters for the tests of the display; each has to be booted once. `make test` uses only the first.
        static let tried = Proof.isThorough ? allCases : [.virtioGPU]
    }

    /// The folder for this machine's sockets, dumps, recordings and disk.
    let folder: String
    let adapter: Adapter
    let base: String
    private let disk: String
    private(set) var qmp: QMP
    private var qemu: Process
    private var guest: UnixSocket?
    private var dumps = 0
    /// Whether the folder is kept, as evidence.
    var keepsFolder = false

    /// Starts QEMU on a disk image, from power-on or from a saved state; see `Tests/Machine/boot`.
    ///
    /// - Parameters:
    ///   - base: the folder made by `Tests/Machine/build`.
    ///   - options: further options for QEMU.
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
        let end = Date.steady + 60
        while true {
            if let qmp = try? QMP(folder + "/qmp.sock") { return (qemu, qmp) }
            guard qemu.isRunning, Date.steady < end else {
                kill(qemu.processIdentifier, SIGKILL)
                throw MachineError("start QEMU: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "it says nothing")")
            }
            usleep(50_000)
        }
    }

    /// Returns QEMU's status: `running`, `paused`, `inmigrate`, `suspended` …
    func status() throws -> String { (try qmp.execute("query-status") as? [String: Any])?["status"] as? String ?? "unknown" }

    /// Suspends the machine to memory (ACPI's S3), then wakes it up.
    func suspendAndWake() throws {
        try shell("(sleep 0.5; systemctl suspend) >/dev/null 2>&1 &")
        let end = Date.steady + 60
        while try status() != "suspended" {
            guard Date.steady < end else { throw MachineError("suspend: it is \(try status())") }
            usleep(50_000)
        }
        try qmp.execute("system_wakeup")
        try waitForShell(within: 60)
        try wait(untilSucceeds: "dmesg | grep -q 'PM: suspend exit'")
    }

    /// Cuts the power: nothing is flushed, and the guest gets no notice.
    func cutPower() { end() }

    /// Switches the machine on again, with the same disk.
    func switchOn() throws {
        guest = nil
        (qemu, qmp) = try Self.start(adapter, base, disk, folder, [])
    }

    /// Waits until QEMU ends by itself, as it does after an orderly shutdown.
    func waitForEnd(within seconds: Double = 60) throws {
        let end = Date.steady + seconds
        while qemu.isRunning {
            guard Date.steady < end else { throw MachineError("the machine is still on after \(seconds) s") }
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
    /// Returns a dump of the current screen.
    func screen() throws -> ScreenDump {
        let path = folder + "/dump-\(String(format: "%04d", dumps)).ppm"
        try qmp.execute("screendump", ["filename": path])
        dumps += 1
        // Keep the last 40 dumps, as evidence of a failure.
        try? FileManager.default.removeItem(atPath: folder + "/dump-\(String(format: "%04d", dumps - 41)).ppm")
        return try ScreenDump(ppm: [UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
    }

    /// Watches the screen until it has shown `count` different frames.
    func watch(frames count: Int) throws -> Sightings {
        try wait("\(count) frames") { Set($0.frames.map(\.number)).count >= count || $0.foreign > 0 }
    }

    /// Watches the screen until it has shown `count` seams between clips of `order`.
    func watch(seams count: Int, of order: PlayOrder = .whole) throws -> Sightings {
        try wait("\(count) seams") { order.seams(in: $0) >= count }
    }

    /// Watches the screen until it shows a frame of `clip`.
    func watch(until clip: ClosedRange<Int>, within seconds: Double? = nil) throws -> Sightings {
        try wait("frames \(clip)", within: seconds) { $0.frames.last.map { clip.contains($0.number) } ?? false }
    }

    /// Watches the screen for `seconds`.
    func watch(seconds: Double) throws -> Sightings {
        let end = Date.steady + seconds
        return try wait("the end", within: seconds + 60) { _ in Date.steady >= end }
    }

    /// Returns a dump of the current screen, and adds its frame number to `seen`.
    @discardableResult
    private func look(_ seen: inout Sightings) throws -> ScreenDump {
        let start = Date.steady
        let screen = try screen()
        seen.all.append((screen.number, DateInterval(start: start, end: max(start, Date.steady))))
        return screen
    }

    /// Watches until the screen, or the frames seen so far, satisfy `isSo`. Without `seconds` it waits as long as the picture keeps moving:
    /// the speed of an emulated machine depends on its host. It gives up 2 minutes after the last change, or after 20 minutes.
    private func wait(
        _ what: String, within seconds: Double?, until isSo: (ScreenDump, Sightings) -> Bool
    ) throws -> Sightings {
        var seen = Sightings()
        let begin = Date.steady
        while true {
            if isSo(try look(&seen), seen) { return seen }
            let end = seconds.map { begin + $0 } ?? min(seen.lastChange ?? begin, begin + 1080) + 120
            guard Date.steady < end else {
                throw MachineError("waited \(Int(Date.steady.timeIntervalSince(begin))) s in vain for \(what); seen: \(seen)")
            }
            usleep(50_000)
        }
    }

    private func wait(_ what: String, within seconds: Double? = nil, untilSeen isEnough: (Sightings) -> Bool) throws -> Sightings {
        try wait(what, within: seconds) { _, seen in isEnough(seen) }
    }

    /// Waits until the screen satisfies `isSo`; without `seconds`, as long as the picture keeps moving.
    func wait(_ what: String, within seconds: Double? = nil, until isSo: (ScreenDump) -> Bool) throws {
        _ = try wait(what, within: seconds) { screen, _ in isSo(screen) }
    }

    /// Waits for a moving picture of the clips.
    func waitForMovingPicture(within seconds: Double? = nil) throws {
        var first: Int?
        try wait("a moving picture", within: seconds) { screen in
            guard let number = screen.number, PlayOrder.whole.distance(from: number, to: number) != nil else { return false }
            defer { first = first ?? number }
            return first.map { $0 != number } ?? false
        }
    }

    /// Waits until the screen shows a frame of `clip`.
    func wait(for clip: ClosedRange<Int>, within seconds: Double? = nil) throws {
        try wait("frames \(clip)", within: seconds) { $0.number.map(clip.contains) ?? false }
    }

    /// Waits for a still picture: two dumps 1.5 s apart are equal, byte for byte. On a busy host a playing picture can stand for over a
    /// second.
    func waitForStill(within seconds: Double = 120) throws -> ScreenDump {
        let end = Date.steady + seconds
        while true {
            let before = try screen()
            usleep(1_500_000)
            if try screen() == before { return before }
            guard Date.steady < end else { throw MachineError("the picture does not stand still") }
        }
    }

    /// The monitor connected to the virtio-gpu.
    var monitor: QEMUMonitor { QEMUMonitor(socket: folder + "/vnc.sock") }
}

/// The frame numbers in the order seen; nil stands for a screen without a number.
struct Sightings: CustomStringConvertible {
    /// Each number with the duration of its look at the screen; the dump was taken within that time.
    var all: [(number: Int?, time: DateInterval)] = []

    /// The number of screens without a frame of the clips: black, the console, a torn picture.
    var foreign: Int { all.count { $0.number == nil } }
    /// The screens with a frame of the clips.
    var frames: [(number: Int, time: DateInterval)] { all.compactMap { seen in seen.number.map { ($0, seen.time) } } }

    /// The end of the last look that saw another screen than the look before; of the first look if the screen never changed.
    var lastChange: Date? {
        for (before, seen) in zip(all, all.dropFirst()).reversed() where before.number != seen.number { return seen.time.end }
        return all.first?.time.end
    }

    /// The longest time in seconds for which the screen certainly stayed the same.
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
    /// Unplugs a USB device.
    func pull(_ id: String) throws {
        try qmp.execute("device_del", ["id": id])
        try qmp.wait(for: "DEVICE_DELETED", device: id)
    }

    /// Plugs in a USB device, by QEMU's name of the driver and its properties.
    func plug(_ driver: String, id: String, _ properties: [String: Any] = [:]) throws {
        try qmp.execute("device_add", properties.merging(["driver": driver, "id": id, "bus": "usb.0"]) { $1 })
    }

    /// Returns the sound that the built-in sound card has played so far.
    func recording() throws -> SoundRecording { try SoundRecording(folder + "/audio.wav") }
}

// The inside.
extension Machine {
    /// Runs a command in the machine as root and returns its output. Throws if its exit status is not 0. `Tests/Machine/guest-setup` has
    /// the other end.
    @discardableResult
    func shell(_ command: String, within seconds: Double = 120) throws -> String {
        let guest = try guest ?? UnixSocket(folder + "/shell.sock")
        self.guest = guest
        let tag = "end-\(UInt64.random(in: .min ... .max))"
        // A newline ends any partial line; the request follows.
        try guest.write("\n\(tag) \(Data(command.utf8).base64EncodedString())\n".utf8)
        var lines: [String] = []
        let end = Date.steady + seconds
        while true {
            let line = String(decoding: try guest.read(within: end.timeIntervalSince(.steady)), as: UTF8.self)
            guard line.hasPrefix(tag) else {
                lines.append(line)
                continue
            }
            let output = lines.joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
            guard line == tag + " 0" else { throw MachineError("\(command): status\(line.dropFirst(tag.count))\n\(output)") }
            return output
        }
    }

    /// Replaces the playlist in kiosk.conf with these sources, and adds `more` before it.
    func setPlaylist(_ sources: [String], _ more: String = "") throws {
        let text = ([more] + sources.map { "[[playlist]]\nsource = \"\($0)\"" }).joined(separator: "\n") + "\n"
        let file = "/etc/kiosk/kiosk.conf"
        try shell(
            """
            { sed '/^\\[\\[playlist/,$d' \(file); echo \(Data(text.utf8).base64EncodedString()) | base64 -d; } > \(file).new
            chown --reference=\(file) \(file).new && chmod --reference=\(file) \(file).new && mv \(file).new \(file)
            """)
    }

    /// Waits until the machine has booted far enough for its shell to answer. Bytes written to a serial port before it is opened are lost,
    /// in part or whole.
    func waitForShell(within seconds: Double = 480) throws {
        let end = Date.steady + seconds
        // On a busy host, the answer alone can take longer than this first limit.
        var patience = 2.0
        while true {
            do {
                try shell("true", within: patience)
                return
            } catch {
                guest = nil
                patience = min(patience * 1.5, 30)
                guard Date.steady < end, qemu.isRunning else { throw MachineError("no shell in the machine: \(error)") }
            }
        }
    }

    /// Waits until a command succeeds in the machine. The limit allows for a host that is four times as slow.
    func wait(untilSucceeds command: String, within seconds: Double = 120) throws {
        let end = Date.steady + seconds
        while true {
            do {
                try shell(command)
                return
            } catch {
                guard Date.steady < end else { throw error }
                usleep(200_000)
            }
        }
    }

    /// Saves evidence to the folder: the journal, the state of the sound cards, and the dumps as PNG.
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
