import Bed
import Glibc
import Testing

extension BedTests {
    /// Which sound card is played to, and whether anything can be heard of it.
    @Suite struct SoundDevices {
        let clip: NumberedClip

        init() throws { clip = try Gallery.clip("a", frames: 150, frameRate: 30) }

        /// `front` is one of the names that ALSA's configuration has for a card only when the card was there as the configuration was read.
        @Test func `a card that comes late opens by a name of its driver's configuration`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let driver = "/sys/bus/platform/drivers/snd_aloop"
            let configuration = KioskConfiguration(audio: "device = \"front:CARD=Loopback\"")
            let record = try await Bed.run("late card", for: .seconds(6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.2, .shell("echo snd_aloop.0 >\(driver)/unbind"))
                at(2, .shell("echo snd_aloop.0 >\(driver)/bind"))
                at(5, .shell("cat /proc/asound/Loopback/pcm0p/sub0/status"), "status")
            }
            expectLog(record, "no sound: there is no device front:CARD=Loopback", "audio: front:CARD=Loopback")
            #expect(record.outputs["status"]?.contains("state: RUNNING") == true)
        }

        /// Expects that the player said each of these.
        private func expectLog(_ record: Record, _ texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            for text in texts {
                #expect(record.log.contains { $0.text.contains(text) }, "it never said: \(text)", sourceLocation: sourceLocation)
            }
        }
    }
}
