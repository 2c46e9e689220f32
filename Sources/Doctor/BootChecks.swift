// Checks of the boot, and of other programs that it starts.

extension BoxCheck {
    /// The kernel parameters that docs/install.md recommends.
    private static let parameters = ["quiet", "vt.global_cursor_default=0", "consoleblank=0"]

    /// Checks whether the console blanks the screen.
    static let consoleBlanking = BoxCheck(
        "console-blanking", "the console does not blank the screen", unknown: "the kernel does not report it"
    ) { facts in
        guard let seconds = facts.consoleBlank else { return nil }
        if seconds <= 0 { return [] }
        return .found(
            .warning, "the console blanks the screen after \(seconds) s whenever kiosk does not play",
            advice: [boot("consoleblank=0", facts), "until the next boot: sudo sh -c 'setterm --term linux --blank 0 >/dev/tty1'"])
    }

    /// Checks whether a boot is silent.
    static let commandLine = BoxCheck(
        "kernel-command-line", "the kernel's command line keeps the screen free of text", unknown: "/proc/cmdline cannot be read"
    ) { facts in
        guard let line = facts.commandLine else { return nil }
        let missing = parameters.filter { !line.contains($0) }
        if missing.isEmpty { return [] }
        return .found(
            .warning, "the kernel's command line lacks \(missing.joined(separator: " ")): text or a cursor shows before the first picture",
            advice: [boot(missing.joined(separator: " "), facts)])
    }

    /// Returns where to add parameters. Only the operator edits the boot loader's files.
    private static func boot(_ parameters: String, _ facts: BoxFacts) -> String {
        switch facts.bootFile {
        case "/etc/default/grub":
            "add \(parameters) to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then: sudo update-grub && sudo reboot"
        case let file?: "add \(parameters) to the one line of \(file), then: sudo reboot"
        case nil: "add \(parameters) to the kernel's command line in your boot loader, then: sudo reboot"
        }
    }

    /// Checks whether a desktop takes the display at the next boot.
    static let displayManager = BoxCheck("display-manager", "no desktop starts", unknown: "systemd does not answer") { facts in
        guard let target = facts.units.defaultTarget else { return nil }
        guard target == "graphical.target", let manager = facts.units.displayManager else { return [] }
        return .found(
            .error, "the box boots to \(target) and starts \(manager), which takes the display",
            advice: ["sudo systemctl set-default multi-user.target && sudo reboot"])
    }

    /// Checks whether a login prompt uses the player's terminal.
    static let getty = BoxCheck("getty", "no login prompt is on tty1", unknown: "kiosk.service is not installed") { facts in
        guard facts.units.isInstalled else { return nil }
        if facts.units.isGettyMasked { return [] }
        return .found(
            .warning, "getty@tty1.service is not masked: a login prompt shows at the boot, and whenever kiosk is stopped",
            advice: ["sudo systemctl mask getty@tty1.service   # keep ssh or a serial console as a way in"])
    }

    /// Checks whether the service is installed, enabled and running.
    static let service = BoxCheck("service", "kiosk.service starts with the box and has not failed") { facts in
        if !facts.units.isInstalled {
            return .found(
                .warning, "kiosk.service is not installed: nothing plays after a boot",
                advice: ["sudo make install, or the Debian package: docs/install.md"])
        }
        var findings: [Finding] = []
        if !facts.units.isEnabled {
            findings += .found(
                .error, "kiosk.service is not enabled: nothing plays after a boot",
                advice: ["sudo systemctl enable --now kiosk.service kiosk.path"])
        }
        if facts.units.state == "failed" {
            findings += .found(
                .error, "kiosk.service has failed",
                advice: ["journalctl -u kiosk -b -n 20 shows the reason; then: sudo systemctl restart kiosk"])
        }
        return findings
    }

    /// Checks whether saving kiosk.conf starts a player that refused it.
    static let servicePath = BoxCheck(
        "service-path", "kiosk.path starts the player once you correct kiosk.conf",
        unknown: "kiosk.service is not installed and enabled"
    ) { facts in
        guard facts.units.isInstalled, facts.units.isEnabled else { return nil }
        if facts.units.isPathEnabled { return [] }
        let words = ["systemctl", "enable", "--now", "kiosk.path"]
        return .found(
            .warning, "kiosk.path is not enabled: after a mistake in kiosk.conf the player stays off, even once you correct the file",
            advice: ["sudo \(words.joined(separator: " "))"], remedies: [.run(words)])
    }

    /// Checks whether keys lead out of the player. Only with the service installed and enabled: on a desk such keys are useful.
    static let keys = BoxCheck("way-out", "no key leads out of the player", unknown: "kiosk.service is not installed and enabled") {
        facts in
        guard facts.units.isInstalled, facts.units.isEnabled else { return nil }
        var findings: [Finding] = []
        if let sysrq = facts.sysrq, sysrq != 0 {
            let file = "/etc/sysctl.d/kiosk.conf"
            findings += .found(
                .warning, "the SysRq key is on (kernel.sysrq = \(sysrq)): a keyboard can end the player or reboot the box",
                advice: ["echo 'kernel.sysrq = 0' | sudo tee \(file) && sudo systemctl restart systemd-sysctl"],
                remedies: [.write(path: file, text: "kernel.sysrq = 0\n"), .run(["systemctl", "restart", "systemd-sysctl.service"])])
        }
        if facts.startsLogins == true {
            let file = "/etc/systemd/logind.conf.d/kiosk.conf"
            let text = "[Login]\nNAutoVTs=0\nReserveVT=0\nHandlePowerKey=ignore\nHandleSuspendKey=ignore\n"
            findings += .found(
                .warning, "logind starts a login on every terminal that a keyboard switches to",
                advice: ["write [Login] with NAutoVTs=0 and ReserveVT=0 to \(file) (docs/install.md); it holds from the next boot on"],
                remedies: [.write(path: file, text: text)])
        }
        return findings
    }

    /// Checks whether the clock can be right.
    static let clock = BoxCheck("time", "the clock is set", unknown: "timedatectl does not report it") { facts in
        guard let time = facts.time else { return nil }
        if time.year < 2024 {
            return .found(
                .error, "this box has the year \(time.year): https refuses certificates, and logs have the wrong date",
                advice: ["sudo timedatectl set-ntp true; without a network: sudo date -s '2026-01-31 12:00'"])
        }
        guard time.isServed, !time.isSynchronized else { return [] }
        return .found(
            .warning, "systemd-timesyncd has not reached a time server since the boot",
            advice: ["timedatectl timesync-status; is UDP port 123 open to the servers in /etc/systemd/timesyncd.conf?"])
    }
}
