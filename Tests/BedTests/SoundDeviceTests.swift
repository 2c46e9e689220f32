import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// The choice of the sound card, and whether its sound can be heard.
    @Suite struct SoundDevices {
        let clip: NumberedClip

        init() throws { clip = try BedGallery.clip("a", frames: 150, frameRate: 30) }

        /// `front` is one of the names that ALSA's configuration has only for the cards present when it was read.
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

        /// Returns the EDID of a display called "BED TV". `eld` is the ELD that a graphics driver makes of it. The bed's display has no
        /// EDID of its own.
        private func edid() -> String {
            var bytes = [UInt8](repeating: 0, count: 128)
            bytes.replaceSubrange(0..<12, with: [0, 255, 255, 255, 255, 255, 255, 0, 0x1E, 0x6D, 0x08, 0x5B])
            bytes.replaceSubrange(54..<66, with: [0, 0, 0, 0xFC, 0] + Array("BED TV\n".utf8))
            return bytes.map { "\\" + String($0, radix: 8) }.joined()
        }
        private let eld = "10000700661100010000000000000000" + "1e6d085b" + "424544205456" + "090707"
        private let noELD = String(repeating: "00", count: 24)

        private func control(_ name: String, _ value: String, card: String = "hw:Loopback") -> ActionTimeline.Action {
            .shell("control \(card) \"\(name)\" \(value)")
        }

        private var identify: ActionTimeline.Action {
            .shell("printf '\(edid())' >/run/edid; mount --bind /run/edid /sys/class/drm/card0-Virtual-1/edid")
        }

        /// ALSA's own default is card 0, which leads nowhere. The bed records the first output of the second card.
        @Test func `the sound goes to the display that is lit, through a switch that starts muted`() async throws {
            let machine = Machine { $0.time = .free }
            let configuration = KioskConfiguration(audio: "device = \"auto\"")
            let record = try await Bed.run("display's sound", for: .seconds(5), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.4, identify)
                at(-0.4, control("iface=PCM,name=ELD,device=1", "bytes \(noELD)"))
                at(-0.4, control("iface=PCM,name=ELD,device=0", "bytes \(eld)"))
                at(-0.4, control("iface=MIXER,name=IEC958 Playback Switch", "switch 0"))
                at(-0.4, control("iface=MIXER,name=Line Playback Switch", "switch 0"))
                at(3, .shell("amixer -c Loopback sget IEC958; amixer -c Loopback sget Line"), "switches")
                at(3.5, .shell("kiosk=$(readlink /proc/$PLAYER/exe); $kiosk devices | sed -n '/^Sound/,/→/p'"), "devices")
            }
            expectLog(record, "hw:CARD=Loopback,DEV=0", "the sound of the display BED TV on Virtual-1", "IEC958 of Loopback was muted")
            let sound = try #require(record.sound)
            #expect(!sound[.seconds(3)..<(.seconds(4))].isSilent)
            let switches = record.outputs["switches"] ?? ""
            #expect(switches.contains("Mono: Playback [on]"), "\(switches)")
            #expect(switches.contains("'Line'") && switches.contains("Mono: Playback [off]"), "only what is on the way: \(switches)")
            let devices = record.outputs["devices"] ?? ""
            #expect(devices.contains("a display that takes sound: BED TV") && devices.contains("no display that takes sound"), "\(devices)")
        }

        /// The other end of the card records a tone on each of six channels, in ALSA's order. The other two channels are silent.
        @Test func `a display that takes eight channels gets each where it belongs`() async throws {
            let path = try SurroundTones.clip("surround-bed.mkv", layout: "5.1", count: 6, ["-c:a", "pcm_s16le"], picture: true)
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let configuration = KioskConfiguration(audio: "device = \"auto\"", playlist: ["source = \"\(path)\""])
            let wide = eld.dropLast(6) + "0f0707"
            let record = try await Bed.run("surround", for: .seconds(5), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.4, identify)
                at(-0.4, control("iface=PCM,name=ELD,device=1", "bytes \(noELD)"))
                at(-0.4, control("iface=PCM,name=ELD,device=0", "bytes \(wide)"))
                at(2, .shell("arecord -q -D hw:Loopback,1,0 -t raw -f S16_LE -r 48000 -c 8 -s 14400 | base64 -w 0"), "sound")
                at(4, .shell("kiosk=$(readlink /proc/$PLAYER/exe); $kiosk devices | sed -n '/^Sound/,/→/p'"), "devices")
            }
            expectLog(record, "hw:CARD=Loopback,DEV=0 S16_LE 48000 Hz 7.1")
            let devices = record.outputs["devices"] ?? ""
            #expect(devices.contains("a display that takes sound: BED TV, up to 8 channels"), "\(devices)")
            let text = record.outputs["sound"]?.split(whereSeparator: \.isWhitespace).joined() ?? ""
            let data = try #require(Data(base64Encoded: text), "\(text.prefix(200))")
            let samples = data.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count - 1, by: 2).map { Float(bytes.loadUnaligned(fromByteOffset: $0, as: Int16.self)) / 32768 }
            }
            #expect(samples.count >= 8 * 9600)
            #expect(SurroundTones.tones(samples, channelCount: 8) == [[0], [1], [4], [5], [2], [3], [], []])
        }

        @Test func `the sound follows when the display says later that it takes sound`() async throws {
            let machine = Machine { $0.time = .free }
            let configuration = KioskConfiguration(audio: "device = \"auto\"")
            let record = try await Bed.run("display's sound later", for: .seconds(8), playing: [clip], .kiosk(configuration), on: machine) {
                at in
                at(-0.4, identify)
                at(-0.4, control("iface=PCM,name=ELD,device=0", "bytes \(noELD)"))
                at(-0.4, control("iface=PCM,name=ELD,device=1", "bytes \(noELD)"))
                at(2, control("iface=PCM,name=ELD,device=0", "bytes \(eld)"))
            }
            let sound = try #require(record.sound)
            #expect(sound[.seconds(1)..<(.seconds(2))].isSilent && !sound[.seconds(6)..<(.seconds(7))].isSilent)
            expectLog(record, "a display with sound, has come: choosing again")
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
        }

        @Test func `a mixer that starts muted is turned on where the choice is ours, and told where it is not`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            for device in ["auto", "hw:Dummy,0"] {
                let configuration = KioskConfiguration(audio: "device = \"\(device)\"")
                let record = try await Bed.run("muted \(device)", for: .seconds(3), playing: [clip], .kiosk(configuration), on: machine) {
                    at in
                    at(-0.4, control("iface=MIXER,name=Headphone Playback Switch", "switch 0", card: "hw:Dummy"))
                    at(-0.4, control("iface=MIXER,name=Headphone Playback Volume", "volume 80 0", card: "hw:Dummy"))
                    at(-0.4, control("iface=MIXER,name=Speaker Playback Switch", "switch 1", card: "hw:Dummy"))
                    at(-0.4, control("iface=MIXER,name=Speaker Playback Volume", "volume 80 0", card: "hw:Dummy"))
                    at(2, .shell("amixer -c Dummy sget Headphone; amixer -c Dummy sget Speaker"), "mixer")
                }
                let mixer = record.outputs["mixer"] ?? ""
                #expect(mixer.contains("Playback 80 [100%] [on]") == (device == "auto"), "\(mixer)")
                #expect(mixer.contains("Playback 0 [0%] [off]") == (device != "auto"), "\(mixer)")
                #expect(mixer.contains("Playback 0 [0%] [on]"), "a volume that somebody may have set: \(mixer)")
                expectLog(record, "Speaker of Dummy is at volume 0, so nothing is heard: amixer -c Dummy sset Speaker 100%")
                let said = device == "auto" ? "Headphone of Dummy was muted: turned on" : "amixer -c Dummy sset Headphone 100% unmute"
                expectLog(record, said)
            }
        }

        /// Expects the player to have logged each of these texts.
        private func expectLog(_ record: Record, _ texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            for text in texts {
                #expect(record.log.contains { $0.text.contains(text) }, "it never said: \(text)", sourceLocation: sourceLocation)
            }
        }
    }
}
