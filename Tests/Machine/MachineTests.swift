import Foundation
import TestSupport
import Testing

/// Tests the package on an emulated Debian 12, with that system's own kernel, drivers and systemd. They judge the frame numbers on the
/// screen, their order and the sound, never speed: the emulation is about twelve times slower than its host.
@Suite(.serialized, .onMachine)
struct MachineTests {}

/// Normal playback, and user actions.
extension MachineTests {
    @Test func `systemd starts it at boot, as a user without rights`() throws {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        #expect(try machine.shell("systemctl is-system-running") == "running")
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
        #expect(try machine.shell("systemctl show -P Type kiosk.service") == "notify")
        // While the sound has run dry, the status says that it waits.
        try machine.wait(untilSucceeds: "systemctl show -P StatusText kiosk.service | grep -q '^playing: '")
        #expect(try machine.shell("systemctl show -P After -P Wants -P Requires kiosk.service | grep -c network; true") == "0")
        #expect(try machine.shell("stat -c %U /proc/$(systemctl show -P MainPID kiosk.service)") == "kiosk")
        #expect(try machine.shell("systemctl is-enabled kiosk.service kiosk.path getty@tty1.service || true") == "enabled\nenabled\nmasked")
    }

    @Test(arguments: Machine.Adapter.tried)
    func `frames come in their order, over the seams too`(adapter: Machine.Adapter) throws {
        let machine = try Machine.playing(adapter)
        let seen = try machine.watch(seams: 3)
        #expect(seen.foreign == 0, "\(seen)")
        #expect(PlayOrder.whole.faults(in: seen).isEmpty, "\(seen)")
    }

    @Test(arguments: ["key", "tap"])
    func `pauses and goes on`(by gesture: String) throws {
        let machine = try Machine.playing()
        let touch = { gesture == "key" ? try machine.qmp.key("spc") : try machine.qmp.tap(0.5, 0.4) }
        try machine.waitForMovingPicture()
        try touch()
        let paused = try #require(try machine.waitForStill().number)
        try touch()
        // The first frame seen after the pause.
        var next = paused
        try machine.wait("a picture after \(paused)") { screen in
            next = screen.number ?? paused
            return next != paused
        }
        try machine.waitForMovingPicture()
        let distance = try #require(PlayOrder.whole.distance(from: paused, to: next))
        #expect((1...50).contains(distance), "paused at \(paused), went on with \(next)")
    }

    @Test func `plays the tones of both clips`() throws {
        let machine = try Machine.playing()
        var tones: [SoundRecording.Tone] = []
        // On a busy host the sound has holes. A tone counts only if it lasts.
        for _ in 0..<6 where !(tones.contains { $0.frequency < 550 } && tones.contains { $0.frequency > 550 }) {
            _ = try machine.watch(seams: 3)
            tones = try machine.recording().tones()
        }
        let frequencies = tones.map { $0.frequency.rounded() }
        // The sound rate follows the display, by up to 0.125 %.
        #expect(frequencies.allSatisfy { abs($0 - 440) <= 1 || abs($0 - 660) <= 1 }, "\(frequencies)")
        #expect(frequencies.contains { $0 < 550 } && frequencies.contains { $0 > 550 }, "\(frequencies)")
    }

    @Test(.thorough("a minute of an emulated machine")) func `purging the package leaves nothing of it`() throws {
        let machine = try Machine.playing()
        try machine.waitForMovingPicture()
        try machine.shell("apt-get purge -y -q kiosk", within: 120)
        try machine.wait("the console") { $0.number == nil }
        // Program, man pages, units and links to them, completions, configuration, proof of play; socket and counters in /run.
        #expect(try machine.shell("find / -xdev -name '*kiosk*'") == "/srv/kiosk")
        #expect(try machine.shell("find /run -name '*kiosk*' -not -path '/run/udev/*'") == "")
        #expect(try machine.shell("getent passwd kiosk; getent group kiosk; true") == "")
        #expect(try machine.shell("systemctl is-system-running") == "running")
    }
}
