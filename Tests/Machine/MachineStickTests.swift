import Testing

/// `[playback] usb`: what is done with the videos of a stick that somebody plugs in.
extension MachineTests {
    @Test func `a stick takes the playlist's place, or is copied`() throws {
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
        try machine.shell("printf '[playback]\\nusb = \"play\"\\n' >> /etc/kiosk/kiosk.conf")
        try plug()
        #expect(try machine.shell("grep /run/kiosk-usb/ /proc/mounts").contains(" ro,nosuid,nodev,noexec"))
        try machine.wait(for: PlayOrder.stick)
        try expect(stick, seams: 2)
        try pull()
        try machine.wait(for: PlayOrder.disk)
        try expect(disk, seams: 1)

        try machine.shell("sed -i 's/^usb = .*/usb = \"copy\"/' /etc/kiosk/kiosk.conf")
        try plug()
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'USB stick: 1 files, .*it may be pulled out'")
        try pull()
        try machine.wait(for: PlayOrder.stick)
        try expect(stick, seams: 2)
        #expect(try machine.shell("ls /var/lib/kiosk/usb") == "two.mp4")
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }
}
