import Testing

@testable import Doctor

/// Provokes each finding once in a healthy box, and shows that each check is silent in the healthy box.
@Suite struct BoxCheckTests {
    /// The facts of a Raspberry Pi that is set up as docs/install.md says.
    static let well: BoxFacts = {
        var facts = BoxFacts()
        facts.player = BoxFacts.Player(name: "kiosk", user: 990, groups: [990, 44, 29, 104, 105])
        facts.nodes = [
            .init("/dev/dri/card0", .display, group: 44, mode: 0o660), .init("/dev/snd/pcmC0D0p", .sound, group: 29, mode: 0o660),
            .init("/dev/input/event0", .input, group: 105, mode: 0o660), .init("/dev/dri/renderD128", .decoder, group: 104, mode: 0o660),
        ]
        facts.groupNames = [0: "root", 44: "video", 29: "audio", 104: "render", 105: "input"]
        facts.hasDisplayDevice = true
        facts.connectors = ["HDMI-A-1": "connected", "HDMI-A-2": "disconnected"]
        facts.consoleBlank = 0
        facts.commandLine = ["root=/dev/mmcblk0p2", "quiet", "vt.global_cursor_default=0", "consoleblank=0"]
        facts.bootFile = "/boot/firmware/cmdline.txt"
        (facts.units.isInstalled, facts.units.isEnabled, facts.units.isPathEnabled) = (true, true, true)
        (facts.units.state, facts.units.defaultTarget, facts.units.isGettyMasked) = ("active", "multi-user.target", true)
        (facts.sysrq, facts.startsLogins) = (0, false)
        facts.time = .init(year: 2026, isServed: true, isSynchronized: true)
        facts.missingDecoders = []
        facts.reading = .init()
        facts.cards = [.init(name: "vc4-hdmi-0")]
        facts.storage = .read(path: "/srv/kiosk/a.mp4", bytes: 16 << 20, seconds: 0.4, rate: 1e6)
        (facts.freeBytes, facts.allBytes) = (4e9, 16e9)
        facts.zones = [.init(name: "cpu-thermal", temperature: 55, passive: 80, critical: 110)]
        facts.throttled = 0
        return facts
    }()

    private static func findings(_ change: (inout BoxFacts) -> Void) -> [Finding] {
        var facts = well
        change(&facts)
        return BoxCheck.diagnose(facts).filter { $0.severity != .ok }
    }

    @Test("What is not checked says why") func reasons() {
        let findings = BoxCheck.diagnose(BoxFacts()).filter { $0.severity == .unknown }
        #expect(findings.contains { $0.text == "not checked: the display can be opened: there is no such device" }, "\(findings)")
        for check in BoxCheck.all { #expect(!check.unknown.isEmpty && !check.subject.contains(":")) }
    }

    @Test("A box that is well has one line for each check, and no finding") func quiet() {
        let lines = BoxCheck.diagnose(Self.well)
        #expect(lines.filter { $0.severity != .ok } == [])
        #expect(lines.map(\.code) == BoxCheck.all.map(\.code))
        #expect(Set(lines.map(\.code)).count == lines.count)
    }

    @Test("What the box does not tell is not said to be well") func unknown() {
        let lines = BoxCheck.diagnose(BoxFacts())
        let known = lines.filter { $0.severity != .unknown }.map(\.code)
        #expect(known == ["display-device", "service"])
    }

    /// A box with one fault, and the expected finding.
    struct Case: Sendable, CustomTestStringConvertible {
        var code: String
        var severity: Finding.Severity
        /// Parts of the expected sentence and of the command to type.
        var says: String
        var types: String
        var remedies: [Remedy] = []
        var change: @Sendable (inout BoxFacts) -> Void
        var testDescription: String { "\(code): \(says)" }

        init(
            _ code: String, _ severity: Finding.Severity, _ says: String, types: String, remedies: [Remedy] = [],
            _ change: @escaping @Sendable (inout BoxFacts) -> Void
        ) {
            (self.code, self.severity, self.says, self.types, self.remedies, self.change) = (code, severity, says, types, remedies, change)
        }
    }

    static let devices = [
        Case(
            "display-permission", .error, "kiosk may not open /dev/dri/card0: the user is not in the group video",
            types: "sudo usermod -aG video kiosk",
            remedies: [.run(["usermod", "-aG", "video", "kiosk"])]
        ) { $0.player.groups.remove(44) },
        Case(
            "sound-permission", .error, "may not open /dev/snd/pcmC0D0p: the user is not in the group audio",
            types: "sudo usermod -aG audio kiosk",
            remedies: [.run(["usermod", "-aG", "audio", "kiosk"])]
        ) { $0.player.groups.remove(29) },
        Case(
            "input-permission", .warning, "its group is root, its mode 600", types: "udevadm trigger"
        ) { $0.nodes[2] = .init("/dev/input/event0", .input, group: 0, mode: 0o600) },
        Case(
            "decoder-permission", .warning, "may not open /dev/dri/renderD128", types: "sudo usermod -aG render kiosk",
            remedies: [.run(["usermod", "-aG", "render", "kiosk"])]
        ) { $0.player.groups.remove(104) },
        Case("display-device", .error, "neither /dev/dri/card* nor /dev/fb*", types: "dmesg") { $0.hasDisplayDevice = false },
        Case("display-connected", .error, "no display answers at HDMI-A-1, HDMI-A-2", types: "cable") {
            $0.connectors["HDMI-A-1"] = "disconnected"
        },
        Case("display-holder", .error, "Xorg (pid 212) holds /dev/dri/card0", types: "sudo systemctl stop lightdm.service") {
            $0.holders = [.init(card: "/dev/dri/card0", program: "Xorg (pid 212)", isMaster: true)]
            $0.units.displayManager = "lightdm.service"
        },
        Case("display-holder", .warning, "plymouthd (pid 99) has opened /dev/dri/card0, and may hold it", types: "end that program") {
            $0.holders = [.init(card: "/dev/dri/card0", program: "plymouthd (pid 99)", isMaster: nil)]
        },
        Case("sound-card", .error, "there is no sound card", types: "device = \"off\"") { $0.cards = [] },
        Case("sound-card", .error, "the only sound card is Loopback", types: "dmesg") {
            $0.cards = [.init(name: "Loopback", isVirtual: true)]
        },
        Case("sound-muted", .warning, "Master of PCH is muted, so nothing is heard", types: "amixer -c PCH sset Master unmute") {
            $0.cards?[0].silencers = ["Master of PCH is muted, so nothing is heard: amixer -c PCH sset Master unmute"]
        },
    ]

    static let boots = [
        Case("console-blanking", .warning, "after 600 s", types: "consoleblank=0 to the one line of /boot/firmware/cmdline.txt") {
            $0.consoleBlank = 600
        },
        Case(
            "kernel-command-line", .warning, "lacks quiet vt.global_cursor_default=0:",
            types: "GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then: sudo update-grub"
        ) { ($0.commandLine, $0.bootFile) = (["consoleblank=0"], "/etc/default/grub") },
        Case(
            "display-manager", .error, "boots to graphical.target and starts gdm.service",
            types: "sudo systemctl set-default multi-user.target"
        ) {
            ($0.units.defaultTarget, $0.units.displayManager) = ("graphical.target", "gdm.service")
        },
        Case("getty", .warning, "getty@tty1.service is not masked", types: "sudo systemctl mask getty@tty1.service") {
            $0.units.isGettyMasked = false
        },
        Case("service", .error, "kiosk.service has failed", types: "journalctl -u kiosk") { $0.units.state = "failed" },
        Case(
            "service-path", .warning, "kiosk.path is not enabled", types: "sudo systemctl enable --now kiosk.path",
            remedies: [.run(["systemctl", "enable", "--now", "kiosk.path"])]
        ) { $0.units.isPathEnabled = false },
        Case(
            "way-out", .warning, "kernel.sysrq = 438", types: "/etc/sysctl.d/kiosk.conf",
            remedies: [
                .write(path: "/etc/sysctl.d/kiosk.conf", text: "kernel.sysrq = 0\n"),
                .run(["systemctl", "restart", "systemd-sysctl.service"]),
            ]
        ) { $0.sysrq = 438 },
        Case("time", .error, "this box has the year 1970", types: "timedatectl set-ntp true") { $0.time?.year = 1970 },
        Case("time", .warning, "has not reached a time server", types: "timedatectl timesync-status") { $0.time?.isSynchronized = false },
    ]

    static let loads = [
        Case("codecs", .error, "no decoder for hevc:", types: "libavcodec") { $0.missingDecoders = ["hevc"] },
        Case("codecs", .warning, "no decoder for av1, opus:", types: "libavcodec") { $0.missingDecoders = ["av1", "opus"] },
        Case("isolation", .warning, "the player itself reads the media", types: "isolation = \"auto\"") { $0.reading?.isWanted = false },
        Case("isolation", .error, "it ended while it was loaded: kiosk plays nothing", types: "install kiosk again") {
            $0.reading?.failure = "it ended while it was loaded"
        },
        Case("isolation", .warning, "as the kernel lacks Landlock: Function not implemented", types: "CONFIG_SECURITY_LANDLOCK") {
            $0.reading?.lack = "Landlock: Function not implemented"
        },
        Case("storage", .error, "is read at 0.5 MB/s and played at 1 MB/s: too slow", types: "a faster medium") {
            $0.storage = .read(path: "/srv/a.mp4", bytes: 1_000_000, seconds: 2, rate: 1e6)
        },
        Case("storage", .warning, "is read at 2 MB/s and played at 1 MB/s: little is left", types: "a faster medium") {
            $0.storage = .read(path: "/srv/a.mp4", bytes: 4_000_000, seconds: 2, rate: 1e6)
        },
        Case("storage", .warning, "is read at 2 MB/s: too slow for most clips", types: "a faster medium") {
            $0.storage = .read(path: "/srv/a.mp4", bytes: 4_000_000, seconds: 2, rate: nil)
        },
        Case("storage", .error, "could not be read within 3 s", types: "dmesg") { $0.storage = .overdue(path: "/srv/a.mp4", seconds: 3) },
        Case("storage", .error, "/srv/a.mp4 cannot be read: Input/output error", types: "kiosk check") {
            $0.storage = .failed(path: "/srv/a.mp4", reason: "Input/output error")
        },
        Case("free-space", .warning, "has 50 MB left of 16000 MB", types: "journalctl --vacuum-size") { $0.freeBytes = 50e6 },
        Case("temperature", .warning, "cpu-thermal is at 81 °C (limit 80 °C): the processor is slowed down", types: "air") {
            $0.zones[0].temperature = 81
        },
        Case("temperature", .error, "cpu-thermal is at 106 °C (limit 110 °C)", types: "air") { $0.zones[0].temperature = 106 },
        Case("power", .error, "too low a voltage now", types: "power supply") { $0.throttled = 0x50005 },
        Case("power", .warning, "since the boot", types: "power supply") { $0.throttled = 0x50000 },
        Case("power", .warning, "slows the processor down", types: "air") { $0.throttled = 0x4 },
    ]

    @Test("Each finding, provoked", arguments: devices + boots + loads) func provoked(_ provocation: Case) throws {
        // Ignore checks that lack facts now: without a card there is no mixer.
        let findings = Self.findings(provocation.change).filter { $0.severity != .unknown }
        let finding = try #require(findings.count == 1 ? findings[0] : nil, "\(findings)")
        #expect(finding.code == provocation.code && finding.severity == provocation.severity)
        #expect(finding.text.contains(provocation.says), "\(finding.text)")
        #expect(finding.advice.contains { $0.contains(provocation.types) }, "\(finding.advice)")
        #expect(finding.remedies == provocation.remedies)
    }

    @Test func everyCheckIsProvoked() {
        let provoked = Set((Self.devices + Self.boots + Self.loads).map(\.code))
        #expect(provoked == Set(BoxCheck.all.map(\.code)))
    }

    @Test("A login on every terminal is written off in a file of its own") func logins() throws {
        let finding = try #require(Self.findings { $0.startsLogins = true }.first)
        guard case .write("/etc/systemd/logind.conf.d/kiosk.conf", let text)? = finding.remedies.first else {
            Issue.record("\(finding)")
            return
        }
        #expect(text.hasPrefix("[Login]\nNAutoVTs=0\nReserveVT=0\n"))
    }

    @Test("A service that is not enabled is one error, and its path and keys are not looked at") func notEnabled() {
        let findings = Self.findings { ($0.units.isEnabled, $0.units.isPathEnabled, $0.sysrq) = (false, false, 438) }
        #expect(findings.map(\.code) == ["service", "service-path", "way-out"])
        #expect(findings.map(\.severity) == [.error, .unknown, .unknown])
    }

    @Test("A device opens for its owner, its group, everybody, root, and whom the kernel lets") func access() {
        let player = BoxFacts.Player(name: "a", user: 5, groups: [7])
        #expect(BoxFacts.Node("/x", .input, owner: 5, group: 0, mode: 0o600).opens(for: player))
        #expect(!BoxFacts.Node("/x", .input, owner: 5, group: 7, mode: 0o060).opens(for: player))
        #expect(!BoxFacts.Node("/x", .input, owner: 0, group: 7, mode: 0o606).opens(for: player))
        #expect(BoxFacts.Node("/x", .input, owner: 0, group: 9, mode: 0o606).opens(for: player))
        #expect(!BoxFacts.Node("/x", .input, owner: 0, group: 7, mode: 0o640).opens(for: player))
        #expect(BoxFacts.Node("/x", .input, owner: 0, group: 9, mode: 0o600).opens(for: .init(name: "root", user: 0, groups: [])))
        #expect(BoxFacts.Node("/x", .input, owner: 0, group: 9, mode: 0o600, isAllowed: true).opens(for: player))
    }
}
