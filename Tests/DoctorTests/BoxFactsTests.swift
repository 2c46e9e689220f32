import Foundation
import KioskPlatform
import TestSupport
import Testing

@testable import Doctor

/// Tests that read the facts of simulated boxes from a folder.
@Suite(.blocking) struct BoxFactsTests {
    /// A temporary folder that is the root of a box. It is deleted with the value.
    final class Box {
        let root = NSTemporaryDirectory() + "kiosk-box-\(UUID().uuidString)"

        init() throws { try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: root) }

        func write(_ path: String, _ text: String = "", mode: Int = 0o644) throws {
            try folder(of: path)
            try Data(text.utf8).write(to: URL(fileURLWithPath: root + path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: root + path)
        }

        func link(_ path: String, to destination: String) throws {
            try folder(of: path)
            try FileManager.default.createSymbolicLink(atPath: root + path, withDestinationPath: destination)
        }

        private func folder(of path: String) throws {
            let folder = URL(fileURLWithPath: root + path).deletingLastPathComponent().path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        var facts: BoxFacts { .read(root: root) }
    }

    @Test func anEmptyFolder() throws {
        let facts = try Box().facts
        #expect(facts.nodes == [] && facts.holders == [] && facts.connectors == [:] && !facts.hasDisplayDevice && facts.zones == [])
        #expect(facts.consoleBlank == nil && facts.commandLine == nil && facts.cards == nil && facts.storage == nil && facts.sysrq == nil)
        #expect(facts.units == BoxFacts.Units())
        #expect((facts.allBytes ?? 0) > 0 && (facts.time?.year ?? 0) >= 2024)
    }

    @Test("The player is the unit's user, in its own groups and those that the unit adds") func player() throws {
        let box = try Box()
        try box.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\nsignage:x:991:991::/:/bin/false\n")
        try box.write("/etc/group", "root:x:0:\nvideo:x:44:signage\naudio:x:29:other\nrender:x:104:\ninput:x:105:\nsignage:x:991:\n")
        try box.write("/usr/local/lib/systemd/system/kiosk.service", "[Service]\nUser=signage\nSupplementaryGroups=render input\n")
        let facts = box.facts
        #expect(facts.player == BoxFacts.Player(name: "signage", user: 991, groups: [991, 44, 104, 105]))
        #expect(facts.groupNames[29] == "audio")
        #expect(facts.units.isInstalled && !facts.units.isEnabled)
    }

    @Test("Devices that the player opens, and decoders among the V4L2 devices") func nodes() throws {
        let box = try Box()
        for path in [
            "/dev/dri/card1", "/dev/dri/renderD128", "/dev/dri/by-path", "/dev/snd/controlC0", "/dev/snd/pcmC0D0p", "/dev/snd/pcmC0D0c",
            "/dev/snd/timer", "/dev/input/event2", "/dev/input/event10", "/dev/input/mice", "/dev/video0", "/dev/video10",
        ] {
            try box.write(path, mode: path.hasPrefix("/dev/input") ? 0o600 : 0o660)
        }
        try box.write("/sys/class/video4linux/video0/name", "Logitech Webcam\n")
        try box.write("/sys/class/video4linux/video10/name", "bcm2835-codec-decode\n")
        try box.write("/sys/class/drm/card1-HDMI-A-1/status", "connected\n")
        try box.write("/sys/class/drm/card1-Writeback-1/status", "unknown\n")
        let facts = box.facts
        #expect(facts.hasDisplayDevice && facts.connectors == ["HDMI-A-1": "connected"])
        let paths = Dictionary(grouping: facts.nodes, by: \.use).mapValues { $0.map(\.path) }
        #expect(
            paths == [
                .display: ["/dev/dri/card1"], .sound: ["/dev/snd/pcmC0D0p", "/dev/snd/controlC0"],
                .input: ["/dev/input/event2", "/dev/input/event10"], .decoder: ["/dev/dri/renderD128", "/dev/video10"],
            ])
        #expect(facts.nodes.allSatisfy { $0.isAllowed == nil && $0.mode == ($0.use == .input ? 0o600 : 0o660) })
    }

    @Test("Who has the display's device open, and who of them the kernel calls its master") func holders() throws {
        let box = try Box()
        try box.write("/dev/dri/card0")
        for (process, name) in [(71, "Xorg"), (72, "systemd-logind"), (73, "kiosk"), (74, "my tool"), (75, "sshd")] {
            try box.write("/proc/\(process)/comm", "\(name)\n")
            try box.link("/proc/\(process)/fd/7", to: process == 75 ? "/dev/null" : "/dev/dri/card0")
        }
        #expect(Set(box.facts.holders.map(\.program)) == ["Xorg (pid 71)", "my tool (pid 74)"])
        #expect(box.facts.holders.allSatisfy { $0.isMaster == nil && $0.card == "/dev/dri/card0" })
        try box.write(
            "/sys/kernel/debug/dri/0/clients",
            """
                         command  tgid dev master a   uid      magic
                            Xorg    71   0   y    y     0          0
                         my tool    74   0   n    n  1000          0

            """)
        #expect(
            Dictionary(uniqueKeysWithValues: box.facts.holders.map { ($0.program, $0.isMaster) }) == [
                "Xorg (pid 71)": true, "my tool (pid 74)": false,
            ])
    }

    @Test("What the kernel, systemd and the boot loader's folder tell") func boot() throws {
        let box = try Box()
        try box.write("/sys/module/kernel/parameters/consoleblank", "600\n")
        try box.write("/proc/cmdline", "root=/dev/sda1 quiet consoleblank=600\n")
        try box.write("/proc/sys/kernel/sysrq", "438\n")
        try box.write("/etc/default/grub")
        try box.write("/lib/systemd/system/kiosk.service", "[Service]\n")
        let units = "/etc/systemd/system"
        try box.link("\(units)/multi-user.target.wants/kiosk.service", to: "/lib/systemd/system/kiosk.service")
        try box.link("\(units)/default.target", to: "/lib/systemd/system/graphical.target")
        try box.link("\(units)/display-manager.service", to: "/lib/systemd/system/gdm.service")
        try box.link("\(units)/sysinit.target.wants/systemd-timesyncd.service", to: "/lib/systemd/system/systemd-timesyncd.service")
        var facts = box.facts
        #expect(facts.consoleBlank == 600 && facts.sysrq == 438 && facts.bootFile == "/etc/default/grub" && facts.startsLogins == true)
        #expect(facts.commandLine == ["root=/dev/sda1", "quiet", "consoleblank=600"])
        #expect(facts.units.isInstalled && facts.units.isEnabled && !facts.units.isPathEnabled && !facts.units.isGettyMasked)
        #expect(facts.units.defaultTarget == "graphical.target" && facts.units.displayManager == "gdm.service")
        #expect(facts.time?.isServed == true && facts.time?.isSynchronized == false)
        try box.link("\(units)/multi-user.target.wants/kiosk.path", to: "/lib/systemd/system/kiosk.path")
        try box.link("\(units)/getty@tty1.service", to: "/dev/null")
        try box.write("/run/systemd/timesync/synchronized")
        try box.write("/etc/systemd/logind.conf.d/kiosk.conf", "[Login]\nNAutoVTs=0\n")
        try box.write("/boot/firmware/cmdline.txt")
        facts = box.facts
        #expect(facts.units.isPathEnabled && facts.units.isGettyMasked && facts.time?.isSynchronized == true)
        #expect(facts.startsLogins == false && facts.bootFile == "/boot/firmware/cmdline.txt")
    }

    @Test func temperatureAndPower() throws {
        let box = try Box()
        let zone = "/sys/class/thermal/thermal_zone0"
        for (name, text) in [
            ("type", "cpu-thermal"), ("temp", "81500"), ("trip_point_0_type", "passive"), ("trip_point_0_temp", "80000"),
            ("trip_point_1_type", "critical"), ("trip_point_1_temp", "110000"),
        ] { try box.write("\(zone)/\(name)", text + "\n") }
        try box.write("/sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n")
        #expect(box.facts.zones == [.init(name: "cpu-thermal", temperature: 81.5, passive: 80, critical: 110)])
        #expect(box.facts.throttled == 0x50005)
    }

    @Test("A file is read past the page cache; one that is not there, a folder and a pipe are told") func storage() throws {
        let box = try Box()
        try box.write("/a.bin", String(repeating: "0123456789abcdef", count: 100_000))
        guard case .read(_, 1_600_000, let seconds, nil) = ReadSpeedTrial.run(box.root + "/a.bin") else {
            Issue.record("not read")
            return
        }
        #expect(seconds > 0)
        #expect(ReadSpeedTrial.run(box.root + "/b.bin") == .failed(path: box.root + "/b.bin", reason: "No such file or directory"))
        mkfifo(box.root + "/pipe", 0o600)
        for name in ["", "/pipe"] {
            #expect(ReadSpeedTrial.run(box.root + name) == .failed(path: box.root + name, reason: "it is not a file"))
        }
    }

    @Test("Root reads a clip's bytes, and does not open what anybody may have made") func storageAsRoot() throws {
        let clip = try Clips.numbered("doctor.mp4", frames: 30)
        guard case .read(_, let bytes, _, let rate) = ReadSpeedTrial.run(clip, isRoot: true),
            case .read(_, bytes, _, _?) = ReadSpeedTrial.run(clip, isRoot: false)
        else {
            Issue.record("not read")
            return
        }
        #expect(bytes > 0 && rate == nil)
    }

    @Test("What does not answer is not waited for") func bounded() {
        let begin = HostTime.now
        let answer = BoxFacts.answer(within: .milliseconds(50)) { () -> Int in
            sleep(600)
            return 1
        }
        #expect(answer == nil && HostTime.now - begin < .seconds(300))
        #expect(BoxFacts.answer(within: .seconds(30)) { 2 } == 2)
    }

    @Test func commands() {
        #expect(BoundedCommand.run(["sh", "-c", "echo a; echo b >&2; exit 3"], limit: .seconds(30)) == .ended(3, output: "a\nb\n"))
        #expect(BoundedCommand.run(["sleep", "100"], limit: .milliseconds(100)) == .killed)
        #expect(BoundedCommand.run(["kiosk-nothing-of-this-name"], limit: .seconds(30)) == .refused(ENOENT))
    }
}
