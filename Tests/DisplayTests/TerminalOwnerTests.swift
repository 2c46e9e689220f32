import Testing

@testable import KioskDisplayCore

struct TerminalOwnerTests {
    @Test(
        arguments: [
            (false, ["bash (pid 2)"], true, ["Xorg (pid 3)"], nil), (true, [], true, [], nil), (true, [], false, ["Xorg (pid 3)"], nil),
            (true, [], true, ["Xorg (pid 3)"], "Xorg (pid 3)"), (true, ["kiosk (pid 2)"], false, [], "kiosk (pid 2)"),
            (true, ["systemd-logind (pid 2)", "sway (pid 4)"], true, ["sway (pid 4)"], "systemd-logind (pid 2), sway (pid 4)"),
        ] as [(Bool, [String], Bool, [String], String?)])
    func whoHasIt(_ isTaken: Bool, _ listeners: [String], _ isActive: Bool, _ masters: [String], _ name: String?) {
        #expect(TerminalOwner(isTaken: isTaken, listeners: listeners, isActive: isActive, masters: masters).name == name)
    }

    /// Xorg catches SIGUSR1 (10); logind reads signal 34 from a descriptor; a shell does neither.
    @Test func whoHandlesASignal() {
        func status(_ name: String = "x", blocked: UInt64 = 0, caught: UInt64 = 0) -> String {
            "Name:\t\(name)\nSigQ:\t0/1\nSigBlk:\t\(String(blocked, radix: 16))\nSigCgt:\t\(String(caught, radix: 16))\n"
        }
        #expect(TerminalOwner.handles(10, status(caught: 0x200)) && !TerminalOwner.handles(12, status(caught: 0x200)))
        #expect(TerminalOwner.handles(34, status(blocked: 0x2_0000_0000)))
        #expect(TerminalOwner.handles(64, status(blocked: .max)) && !TerminalOwner.handles(10, status()))
        #expect(!TerminalOwner.handles(40, status("kiosk-vt-guard", blocked: .max)))
        for signal in [-1, 0, 65] { #expect(!TerminalOwner.handles(signal, status(blocked: .max, caught: .max))) }
        #expect(!TerminalOwner.handles(10, "") && !TerminalOwner.handles(10, "SigCgt:\tnonsense\n"))
    }

    @Test func itIsTakenWhenItHasBeenFreeTwice() {
        var wait = TerminalWait()
        let looks: [(String, String?)] = [
            ("/dev/tty1", nil), ("/dev/tty1", "Xorg"), ("/dev/tty1", nil), ("/dev/tty2", nil), ("/dev/tty2", nil),
        ]
        #expect(looks.map { wait.saw($0.0, owner: $0.1) } == [false, false, false, false, true])
    }
}
