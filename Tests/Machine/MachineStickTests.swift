import Foundation
import TestSupport
import Testing

/// `[playback] usb`: how kiosk treats the videos of an inserted stick.
extension MachineTests {
    @Test(.thorough("a minute of an emulated machine")) func `a stick takes the playlist's place, or is copied`() throws {
        let machine = try Machine.playing()
        let (disk, stick) = (PlayOrder(clips: [PlayOrder.disk]), PlayOrder(clips: [PlayOrder.stick]))
        try machine.wait(for: PlayOrder.stick)
        #expect(try machine.shell("systemctl list-units --no-legend 'kiosk-usb@*'") == "", "nobody has asked for it")
        func pull() throws {
            try machine.pull("stick")
            try machine.wait(untilSucceeds: "! grep -qE '/media/stick|/run/kiosk-usb' /proc/mounts")
        }
        func plug() throws {
            try machine.plug("usb-storage", id: "stick", ["drive": "stick-image", "removable": true])
            try machine.wait(untilSucceeds: "grep -q /run/kiosk-usb/ /proc/mounts")
        }
        func expect(_ order: PlayOrder, seams: Int) throws {
            let seen = try machine.watch(seams: seams, of: order)
            #expect(seen.foreign == 0, "\(seen)")
            #expect(order.faults(in: seen).isEmpty, "\(seen)")
        }
        try pull()
        try machine.wait(for: PlayOrder.disk)
        // From here on, the stick's clip is not on the playlist.
        try machine.askForSticks("play")
        try plug()
        let mount = try machine.shell("grep /run/kiosk-usb/ /proc/mounts")
        #expect(mount.contains(" vfat ro,nosuid,nodev,noexec") && mount.contains(",nosymfollow"), "\(mount)")
        try machine.waitForItem(in: "/run/kiosk-usb/")
        try expect(stick, seams: 2)
        try pull()
        try machine.wait(for: PlayOrder.disk)
        try expect(disk, seams: 1)

        try machine.shell("sed -i 's/^usb = .*/usb = \"copy\"/' /etc/kiosk/kiosk.conf")
        try plug()
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'USB stick: 1 file .*it may be pulled out'")
        try pull()
        try machine.waitForItem(in: "/var/lib/kiosk/usb/")
        try expect(stick, seams: 2)
        #expect(try machine.shell("ls /var/lib/kiosk/usb") == "two.mp4")
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }
}

/// Sticks that fail.
extension MachineTests {
    /// Frames 101 to 145 loop for two minutes, read at less than twice the playback rate: a read is always in progress.
    @Test(.thorough("a minute of an emulated machine")) func `a stick is pulled out in the middle of a read`() throws {
        let machine = try Machine.playing()
        try machine.askForSticks("play")
        let long = try machine.makeLongClip()
        try machine.makeStick("slow", [long], bytesPerSecond: 150_000)
        try machine.pull("stick")
        try machine.plugStick("slow")
        try machine.waitForItem(in: "/run/kiosk-usb/")
        let playing = try machine.watch(frames: 20)
        #expect(playing.foreign == 0, "\(playing)")
        try machine.pull("stick")
        // The old playlist is back. Until then nothing else is shown, and no frame stands for long.
        let after = try machine.watch(until: PlayOrder.disk, within: 20)
        #expect(after.foreign == 0, "\(after)")
        #expect(after.longestStill < 5, "stood for \(after.longestStill) s: \(after)")
        let alone = PlayOrder(clips: [PlayOrder.disk])
        let seen = try machine.watch(seams: 2, of: alone)
        #expect(seen.foreign == 0 && alone.faults(in: seen).isEmpty, "\(seen)")
        try machine.wait(untilSucceeds: "! grep -q /run/kiosk-usb /proc/mounts")
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }

    @Test(.thorough("a minute of an emulated machine")) func `a stick is pulled out while it is copied, and one does not fit`() throws {
        let machine = try Machine.playing()
        let alone = PlayOrder(clips: [PlayOrder.disk])
        try machine.askForSticks("copy")
        let long = try machine.makeLongClip()
        try machine.makeStick("slow", [long], bytesPerSecond: 100_000)
        try machine.pull("stick")
        try machine.plugStick("slow")
        try machine.wait(untilSucceeds: "test -n \"$(find /var/lib/kiosk/usb.new -size +100k)\"")
        try machine.pull("stick")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'USB stick: .*; playback goes on as before'")
        #expect(try machine.shell("ls /var/lib/kiosk") == "")
        try machine.wait(for: PlayOrder.disk)
        let seen = try machine.watch(seams: 1, of: alone)
        #expect(seen.foreign == 0 && alone.faults(in: seen).isEmpty, "\(seen)")

        // The disk is full, except for the reserve of 64 MB and 1 MB more.
        try machine.wait(untilSucceeds: "! grep -q /run/kiosk-usb /proc/mounts")
        try machine.shell("fallocate -l $(($(df -B1 --output=avail / | tail -n 1) - (65 << 20))) /var/full")
        try machine.makeStick("fast", [long])
        try machine.plugStick("fast")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'USB stick: .* do not fit into .* MB: '")
        #expect(try machine.shell("ls /var/lib/kiosk") == "")
        // There is room again: the stick is copied when it is plugged in again.
        try machine.pull("stick")
        try machine.wait(untilSucceeds: "! grep -q /run/kiosk-usb /proc/mounts")
        try machine.shell("rm /var/full")
        try machine.plugStick("fast")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'USB stick: 1 file .*it may be pulled out'")
        try machine.pull("stick")
        try machine.wait(for: PlayOrder.stick)
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }

    /// A stick with unreadable sectors in the middle of a file, and one with a corrupt file system.
    @Test(.thorough("a minute of an emulated machine")) func `a damaged stick is played as far as it goes`() throws {
        let machine = try Machine.playing()
        try machine.askForSticks("play")
        let good = try machine.makeLongClip(turns: 1, named: "good.mp4"), bad = try machine.makeLongClip(named: "bad.mp4")
        try machine.makeStick("damaged", [bad, good], unreadable: bad)
        try machine.pull("stick")
        try machine.plugStick("damaged")
        try machine.wait(for: PlayOrder.stick, within: 120)
        // kiosk reports the unreadable file and plays the other one, round after round.
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'bad.mp4: '")
        try machine.wait(untilSucceeds: "kiosk status --socket /run/kiosk/control.sock | grep -q '^Source .*/good.mp4'")
        let seen = try machine.watch(frames: 20)
        #expect(seen.foreign == 0, "\(seen)")
        #expect(seen.frames.allSatisfy { PlayOrder.stick.contains($0.number) }, "\(seen)")
        try machine.pull("stick")
        try machine.wait(for: PlayOrder.disk)

        // The file allocation table is overwritten. Whether the kernel mounts it or not, there is nothing to play.
        try machine.wait(untilSucceeds: "! grep -q /run/kiosk-usb /proc/mounts")
        try machine.makeStick("nonsense", [good], hasNonsense: true)
        try machine.plugStick("nonsense")
        try machine.wait(untilSucceeds: "journalctl -b -k | grep -q 'sd .*Attached SCSI removable disk' && sleep 5")
        let alone = PlayOrder(clips: [PlayOrder.disk])
        let after = try machine.watch(seams: 2, of: alone)
        #expect(after.foreign == 0 && alone.faults(in: after).isEmpty, "\(after)")
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }
}

extension Machine {
    /// Sets `usb` in kiosk.conf, and waits until kiosk has read it.
    fileprivate func askForSticks(_ use: String) throws {
        // These tests leave the playlist's own stick out.
        try setPlaylist(["/srv/kiosk/one.mp4"], "[playback]\nusb = \"\(use)\"")
        try wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'was read again: .*usb'")
    }

    /// Waits until the screen shows an item of this folder. Its frame numbers could also come from an item that has left the playlist but
    /// still plays to its end.
    fileprivate func waitForItem(in folder: String) throws {
        try wait(untilSucceeds: "kiosk status --socket /run/kiosk/control.sock | grep -q '^Source .*\(folder)'")
    }

    /// Makes a file in the machine's folder with frames 101 to 145, repeated `turns` times.
    fileprivate func makeLongClip(turns: Int = 40, named name: String = "long.mp4") throws -> String {
        let path = folder + "/" + name
        let short = folder + "/two.mp4"
        try run("mcopy", ["-n", "-i", base + "/stick.img", "::two.mp4", short])
        try run(
            "ffmpeg", ["-nostdin", "-v", "error", "-y", "-stream_loop", "\(turns - 1)", "-i", short, "-c", "copy", path])
        return path
    }

    /// Makes an image of a stick with these files, for ``plugStick(_:)``.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: the read speed.
    ///   - unreadable: the file with an unreadable sector, after an eighth of its length.
    ///   - hasNonsense: whether to overwrite its file allocation table.
    fileprivate func makeStick(
        _ name: String, _ files: [String], bytesPerSecond: Int? = nil, unreadable: String? = nil, hasNonsense: Bool = false
    ) throws {
        let image = "\(folder)/\(name).img"
        try run("truncate", ["-s", "64M", image])
        try run(
            "env", ["PATH=\(ProcessInfo.processInfo.environment["PATH"] ?? ""):/usr/sbin", "mkfs.vfat", "-F", "32", "-n", "STICK", image])
        try run("mcopy", ["-i", image] + files + ["::"])
        if hasNonsense {
            // Behind the reserved sectors: the boot sector and its copies.
            try run("dd", ["if=/dev/urandom", "of=\(image)", "bs=512", "seek=32", "count=8000", "conv=notrunc", "status=none"])
        }
        var node: [String: Any] = ["driver": "file", "filename": image, "read-only": true]
        if let unreadable {
            let (all, file) = (try Data(contentsOf: URL(fileURLWithPath: image)), try Data(contentsOf: URL(fileURLWithPath: unreadable)))
            let middle = file.count / 8 / 4096 * 4096
            guard let place = all.range(of: file[middle..<middle + 4096]) else { throw MachineError("\(unreadable) is not on \(image)") }
            node = [
                "driver": "blkdebug", "image": node, "read-only": true,
                "inject-error": [["event": "none", "iotype": "read", "errno": 5, "sector": place.lowerBound / 512, "once": false]],
            ]
        }
        if let bytesPerSecond {
            try qmp.execute(
                "object-add", ["qom-type": "throttle-group", "id": "\(name)-speed", "limits": ["bps-read": bytesPerSecond]])
            node = ["driver": "throttle", "throttle-group": "\(name)-speed", "file": node, "read-only": true]
        }
        node["node-name"] = name
        try qmp.execute("blockdev-add", node)
    }

    fileprivate func plugStick(_ name: String) throws { try plug("usb-storage", id: "stick", ["drive": name, "removable": true]) }
}
