import Foundation
import TestSupport
import Testing

/// Actions of systemd, apt and the operator during playback.
extension MachineTests {
    /// A stopped process handles neither SIGTERM nor commands. Only the watchdog (WatchdogSec= in the unit) detects it.
    @Test(.thorough("a minute of an emulated machine"))
    func `a player that hangs is killed by the watchdog and plays again`() throws {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        let before = try machine.shell("systemctl show -P MainPID kiosk.service")
        #expect(try machine.shell("systemctl show -P WatchdogUSec kiosk.service") == "20s")
        try machine.shell("kill -STOP \(before)")
        try machine.wait(
            untilSucceeds: "pid=$(systemctl show -P MainPID kiosk.service); test $pid != \(before) && test $pid != 0", within: 90)
        try machine.waitForMovingPicture(within: 60)
        #expect(try machine.shell("journalctl -b -u kiosk -o cat --no-pager").contains("Watchdog timeout"))
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "1")
        #expect(try machine.shell("cat /run/kiosk/restarts") == "1")
    }

    /// `Tests/Machine/install` keeps the package in the machine.
    @Test(.thorough("a minute of an emulated machine")) func `an upgrade while it plays shows no console, and it plays again`() throws {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        let before = try machine.shell("systemctl show -P MainPID kiosk.service")
        try machine.shell(
            """
            cd /var/tmp && dpkg-deb -R package.deb next && sed -i 's/^Version: .*/&.1/' next/DEBIAN/control \
                && dpkg-deb --root-owner-group -Znone -b next next.deb && rm -r next
            """, within: 180)
        try machine.shell("(dpkg -i /var/tmp/next.deb; echo $? >/var/tmp/status) >/var/tmp/upgrade.log 2>&1 &")
        let end = Date.steady + 180
        var isDone = false
        while !isDone {
            let screen = try machine.screen()
            #expect(screen.number != nil || screen.isBlack, "something else is on the screen")
            isDone = (try? machine.shell("test -e /var/tmp/status")) != nil
            try #require(Date.steady < end, "dpkg -i does not end")
        }
        let log = try machine.shell("cat /var/tmp/upgrade.log")
        #expect(try machine.shell("cat /var/tmp/status") == "0", "\(log)")
        try machine.waitForMovingPicture(within: 60)
        #expect(try machine.shell("dpkg-query -W -f '${Version}' kiosk").hasSuffix(".1"))
        #expect(try machine.shell("systemctl show -P MainPID kiosk.service") != before)
        #expect(try machine.shell("systemctl is-active kiosk.service kiosk.path") == "active\nactive")
    }

    @Test(.thorough("a minute of an emulated machine")) func `who is in its group may ask it, who is not may not`() throws {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        try machine.shell("useradd -M -G kiosk attendant && useradd -M stranger")
        let ask = "env -i PATH=$PATH runuser -u"
        try machine.wait(untilSucceeds: "\(ask) attendant -- kiosk status | grep -q playing")
        let status = try machine.shell("\(ask) attendant -- kiosk status")
        #expect(status.contains("Virtual-1"), "\(status)")
        #expect(try machine.shell("\(ask) attendant -- kiosk ctl pause").contains("shown: true"))
        _ = try machine.waitForStill()
        #expect(try machine.shell("\(ask) attendant -- kiosk ctl play").contains("shown: true"))
        try machine.waitForMovingPicture()
        // kiosk.conf contains the socket's path, and passwords.
        let refused = try machine.shell("cd / && \(ask) stranger -- kiosk ctl pause; echo status $?")
        #expect(refused.contains("join the group kiosk") && refused.hasSuffix("status 78"), "\(refused)")
        let unheard = try machine.shell("\(ask) stranger -- kiosk ctl --socket /run/kiosk/control.sock pause; echo status $?")
        #expect(unheard.contains("permission denied") && unheard.hasSuffix("status 1"), "\(unheard)")
        #expect(try machine.shell("stat -c '%a %U %G' /run/kiosk /run/kiosk/control.sock") == "750 kiosk kiosk\n660 kiosk kiosk")
    }

    /// A machine installed as docs/install.md says, except for the kernel's command line. Then the test breaks it.
    @Test(.thorough("a minute of an emulated machine")) func `the doctor finds what is wrong with the box`() throws {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        func codes() throws -> Set<String> { try machine.findings() }
        let well = try codes()
        #expect(well.contains("kernel-command-line"))
        #expect(
            well.isDisjoint(with: ["service", "getty", "display-permission", "sound-permission", "display-manager", "codecs"]), "\(well)")
        func expect(_ wrong: Set<String>, after command: String) throws {
            #expect(well.isDisjoint(with: wrong), "\(well)")
            try machine.shell(command)
            let found = try codes()
            #expect(found.isSuperset(of: wrong), "missing: \(wrong.subtracting(found)), found: \(found)")
        }
        try expect(
            ["service", "getty", "display-permission", "sound-permission", "input-permission", "display-manager", "console-blanking"],
            after: """
                systemctl disable kiosk.service && systemctl unmask getty@tty1.service
                chmod 600 /dev/snd/pcm* /dev/dri/card* /dev/input/event*
                ln -s /lib/systemd/system/lightdm.service /etc/systemd/system/display-manager.service
                systemctl set-default graphical.target && printf '\\033[9;10]' > /dev/tty1
                """)
        // Another program has the display, the cables are unplugged, the disk is full, and the clock has no battery.
        try expect(
            ["display-holder", "display-connected", "sound-card", "free-space", "time"],
            after: """
                systemctl stop kiosk.service kiosk.path && systemctl enable kiosk.service && systemctl disable kiosk.path
                (exec 3<>/dev/dri/card0 && sleep 600) >/dev/null 2>&1 &
                for connector in /sys/class/drm/card0-*/status; do echo off > $connector; done
                modprobe -r snd_hda_intel
                fallocate -l $(($(df -B1 --output=avail / | tail -n 1) - (40 << 20))) /var/full
                date -s @1000
                """)
        #expect(try codes().contains("service-path"))
        try machine.shell("rm /var/full && echo 'volume = 101' >> /etc/kiosk/kiosk.conf")
        #expect(try codes().contains("configuration"))
    }

    /// Faults that no plug and no operator's command causes here: a hot, weak or slow machine, as the kernel would report it, and a
    /// libavcodec without a decoder.
    @Test(.thorough("a minute of an emulated machine")) func `the doctor finds what is wrong with sound, decoders, storage, air and power`()
        throws
    {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        let codes: Set = ["sound-muted", "codecs", "storage", "temperature", "power", "decoder-permission", "display-device"]
        let well = try machine.findings()
        #expect(well.isDisjoint(with: codes), "\(well)")

        // Writes zeros to every switch that may exist: a snd_ctl_elem_value each, with SNDRV_CTL_IOCTL_ELEM_WRITE.
        let mute = """
            open(my $card, "+<", "/dev/snd/controlC0") or die; my $count = 0;
            for my $name ("Master", "PCM", "Line Out", "Speaker", "Headphone", "Front") {
                my $value = pack("L l L L a44 L x1160", 0, 2, 0, 0, "$name Playback Switch", 0);
                $count++ if ioctl($card, 0xC4C85513, $value);
            }
            exit($count == 0);
            """
        try machine.shell("perl -e '\(mute)'")
        #expect(try machine.findings().contains("sound-muted"))

        // Rename the decoder in a copy of the library.
        let library = "/lib/x86_64-linux-gnu/libavcodec.so.59"
        try machine.shell("mkdir /var/tmp/lib && sed s/mpeg2video/mpeg2vidio/g \(library) > /var/tmp/lib/libavcodec.so.59", within: 120)
        #expect(try machine.findings(from: "LD_LIBRARY_PATH=/var/tmp/lib kiosk doctor --json").contains("codecs"))

        let slow = "systemd-run --quiet --pipe --property='IOReadBandwidthMax=/srv/kiosk 4K' kiosk doctor --json"
        #expect(try machine.findings(from: slow).contains("storage"))

        // In a mount namespace of the doctor's own.
        let air = "mount -t tmpfs none /sys/class/thermal && mkdir /sys/class/thermal/thermal_zone0 && cd /sys/class/thermal/thermal_zone0"
        let hot = "\(air) && echo cpu-thermal > type && echo 96000 > temp && kiosk doctor --json"
        #expect(try machine.findings(from: "unshare -m sh -c '\(hot)'").contains("temperature"))
        let firmware = "/sys/devices/platform/soc/soc:firmware"
        let weak = "mount -t tmpfs none /sys/devices/platform && mkdir -p \(firmware) && echo 50005 > \(firmware)/get_throttled"
        #expect(try machine.findings(from: "unshare -m sh -c '\(weak) && kiosk doctor --json'").contains("power"))

        try machine.shell("test -e /dev/dri/renderD128 || mknod /dev/dri/renderD128 c 226 128; chmod 600 /dev/dri/renderD*")
        #expect(try machine.findings().contains("decoder-permission"))
        try machine.shell("systemctl stop kiosk.service kiosk.path && rm -f /dev/dri/card* /dev/fb*")
        #expect(try machine.findings().contains("display-device"))
    }
}

extension Machine {
    /// Returns the codes of the doctor's errors and warnings.
    fileprivate func findings(from command: String = "kiosk doctor --json") throws -> Set<String> {
        let report = try shell("\(command) 2>/dev/null; true", within: 120)
        let findings = try #require(try JSONSerialization.jsonObject(with: Data(report.utf8)) as? [String: Any])["findings"]
        let wrong = try #require(findings as? [[String: Any]]).filter { ["error", "warning"].contains($0["severity"] as? String) }
        return Set(wrong.compactMap { $0["code"] as? String })
    }
}

extension ScreenDump {
    /// Whether the screen is black. Text and cursors are brighter than this.
    fileprivate var isBlack: Bool { pixels.allSatisfy { $0 < 32 } }
}
