import KioskVocabulary
import Testing

@testable import KioskAudioCore

/// The choice of the sound output that leads to the display.
@Suite struct DisplaySoundTests {
    private static func bytes(_ text: String) -> [UInt8] { text.split(separator: " ").map { UInt8($0, radix: 16)! } }

    /// Returns an ELD as a driver makes it from an EDID with this maker, product and name.
    private static func eld(_ model: String, _ name: String) -> [UInt8] {
        bytes("10 00 07 00") + [0x60 | UInt8(name.utf8.count)] + bytes("11 00 01 00 00 00 00 00 00 00 00") + bytes(model) + Array(name.utf8)
            + bytes("09 07 07")
    }

    // The EDID of a television of 2008, and the ELD that an AMD Radeon HD 7450 had for it: 24 bytes without maker or name.
    private static let sharpEDID =
        bytes(
            """
            00 ff ff ff ff ff ff 00 4d 10 22 10 00 00 00 00 ff 12 01 03 80 52 2e 78 2a 1b be a2 55 34 b3 26 \
            14 4a 52 af ce 00 a9 40 90 40 81 80 01 01 01 01 01 01 01 01 01 01 02 3a 80 d0 72 38 2d 40 10 2c \
            45 80 34 cc 31 00 00 1a 66 21 50 b0 51 00 1b 30 40 70 36 00 00 00 00 00 00 1e 00 00 00 fc 00 53 \
            48 41 52 50 20 48 44 4d 49 0a 20 20 00 00 00 fd 00 17 4c 0f 4b 11 00 0a 20 20 20 20 20 20 01 40
            """)
    private static let sharpELD = bytes("10 00 05 00 00 10 00 01 00 00 00 00 00 00 00 00 00 00 00 00 09 07 01 00")

    private let sharp = MonitorIdentity(model: [0x4D, 0x10, 0x22, 0x10], name: "SHARP HDMI".utf8)
    private let lg = MonitorIdentity(model: [0x1E, 0x6D, 0x08, 0x5B], name: "LG TV".utf8)

    @Test func aMonitorIsKnownByItsEDID() {
        #expect(MonitorIdentity(edid: Self.sharpEDID) == sharp)
        #expect(MonitorIdentity(edid: []) == nil && MonitorIdentity(edid: Array(Self.sharpEDID.prefix(127))) == nil)
        #expect(MonitorIdentity(edid: [UInt8](repeating: 0, count: 256)) == nil)
    }

    @Test func aMonitorIsKnownByItsELD() {
        #expect(MonitorIdentity(eld: Self.eld("1e 6d 08 5b", "LG TV")) == lg)
        #expect(MonitorIdentity(eld: Self.sharpELD)?.isAnonymous == true)
        // NVIDIA's driver pads names.
        #expect(MonitorIdentity(eld: Self.eld("00 00 00 00", "27QHD240\n    "))?.name == "27QHD240")
        // Nothing plugged in, as two drivers report it; then invalid data.
        #expect(MonitorIdentity(eld: []) == nil && MonitorIdentity(eld: [UInt8](repeating: 0, count: 128)) == nil)
        var long = Self.eld("1e 6d 08 5b", "LG TV")
        long[4] = 0x1F
        #expect(MonitorIdentity(eld: long) == nil, "a name of 31 bytes")
        long[4] = 0x10
        #expect(MonitorIdentity(eld: long) == nil, "a name beyond the end")
        for count in 0..<20 { #expect(MonitorIdentity(eld: Array(Self.sharpELD.prefix(count))) == nil) }
    }

    /// Returns the channels of an ELD with these descriptors. Its header counts `count` of them, true or not.
    private func channels(_ descriptors: String, count: UInt8, name: String = "LG TV") -> Int? {
        var eld = Self.eld("1e 6d 08 5b", name).dropLast(3) + Self.bytes(descriptors)
        eld[5] = count << 4 | 1
        return MonitorIdentity.channelCount(eld: Array(eld))
    }

    @Test func howManyChannelsItTakesIsInTheDescriptors() {
        #expect(channels("09 07 07", count: 1) == 2)
        #expect(channels("0f 7f 07", count: 1) == 8)
        #expect(channels("0d 07 07", count: 1) == 6)
        #expect(channels("09 07 07 0f 07 07 15 07 50", count: 3) == 8, "the most of several")
        #expect(channels("0f 07 07", count: 1, name: "") == 8 && channels("0f 07 07", count: 1, name: "0123456789abcdef") == 8)
        // AC-3 with six channels and DTS with eight are no PCM.
        #expect(channels("15 07 50 3f 06 c0", count: 2) == 2)
        #expect(channels("89 07 07", count: 1) == 2, "a reserved bit")
        #expect(MonitorIdentity.channelCount(eld: Self.sharpELD) == 2)
    }

    @Test func descriptorsThatAreNotThereSayNothing() {
        #expect(channels("", count: 15) == 2 && channels("0f 07", count: 15) == 2 && channels("09 07 07 0f 07", count: 2) == 2)
        #expect(channels("09 07 07 0f 07 07", count: 1) == 2, "beyond their number")
        #expect(channels("0f 07 07", count: 0) == 2)
        #expect(MonitorIdentity.channelCount(eld: []) == nil)
        #expect(MonitorIdentity.channelCount(eld: [UInt8](repeating: 0, count: 128)) == nil, "no monitor")
        var long = Self.eld("1e 6d 08 5b", "LG TV")
        long[4] = 0x1F
        #expect(MonitorIdentity.channelCount(eld: long) == nil, "a name of 31 bytes")
        for count in 0..<Self.sharpELD.count {
            let cut = MonitorIdentity.channelCount(eld: Array(Self.sharpELD.prefix(count)))
            #expect(cut == (count < 20 ? nil : 2))
        }
        let full = [UInt8](repeating: 0xFF, count: 512)
        #expect(MonitorIdentity.channelCount(eld: full) == nil)
        #expect((2...8).contains(MonitorIdentity.channelCount(eld: [0x10, 0xFF, 0xFF, 0xFF, 0x10] + full) ?? 0))
    }

    @Test func noBytesAreTooOddToBeRead() {
        var seed: UInt64 = 1
        for _ in 0..<2000 {
            let bytes = (0..<Int(seed % 160)).map { _ -> UInt8 in
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: seed >> 56)
            }
            seed &+= 1
            _ = MonitorIdentity(eld: [0x10] + bytes)
            #expect((2...8).contains(MonitorIdentity.channelCount(eld: [0x10] + bytes) ?? 2))
            _ = MonitorIdentity(edid: Self.sharpEDID.prefix(8) + bytes)
        }
    }

    @Test func anOutputStandsByWhatIsOnIt() {
        let anonymous = MonitorIdentity(eld: Self.sharpELD)
        func standing(_ output: AudioCard.Output, _ displays: ConnectedDisplay...) -> AudioCard.Output.Standing {
            output.standing(among: displays)
        }
        let (hdmi, panel) = (ConnectedDisplay(connector: "HDMI-A-1", monitor: lg), ConnectedDisplay(connector: "DSI-1", monitor: nil))
        #expect(standing(.display(lg), hdmi) == .active)
        #expect(standing(.display(MonitorIdentity(model: [UInt8](), name: "LG TV".utf8)), hdmi) == .active, "by its name")
        #expect(standing(.display(sharp), hdmi) == .otherDisplay)
        #expect(standing(.display(anonymous), hdmi) == .maybeActive)
        #expect(standing(.display(sharp), ConnectedDisplay(connector: "DP-1", monitor: nil)) == .maybeActive, "an EDID that cannot be read")
        #expect(standing(.display(sharp)) == .maybeActive, "a framebuffer")
        #expect(standing(.display(sharp), panel) == .otherDisplay && standing(.display(anonymous), panel) == .otherDisplay)
        #expect(standing(.display(nil), hdmi) == .noMonitor && standing(.other, hdmi) == .other)
    }

    // MARK: Choosing an output

    private func card(_ index: Int, _ id: String, driver: String = "HDA-Intel", _ outputs: [(Int, AudioCard.Output)]) -> AudioCard {
        AudioCard(
            index: index, id: id, name: id, driver: driver,
            devices: outputs.map { .init(number: $0.0, pcm: "hw:CARD=\(id),DEV=\($0.0)", name: "PCM", output: $0.1) })
    }

    private func names(_ route: DefaultRoute?, _ cards: [AudioCard], _ displays: [ConnectedDisplay]) -> [String] {
        AudioDevice.automatic.candidates(route: route, cards: cards, displays: displays).map(\.name)
    }

    private func route(_ card: Int, _ device: Int, isPlainMixer: Bool = false, isSet: Bool = false) -> DefaultRoute {
        DefaultRoute(hardware: Hardware(card: card, device: device), isPlainMixer: isPlainMixer, isSet: isSet)
    }

    private var displays: [ConnectedDisplay] { [ConnectedDisplay(connector: "HDMI-A-2", monitor: lg)] }

    @Test func theDisplayOnTheFourthOutputIsFound() {
        let nvidia = card(0, "NVidia", [(3, .display(nil)), (7, .display(nil)), (8, .display(sharp)), (9, .display(lg))])
        #expect(
            names(nil, [nvidia], displays) == [
                "hw:CARD=NVidia,DEV=9", "hdmi:CARD=NVidia,DEV=3", "hw:CARD=NVidia,DEV=8", "hdmi:CARD=NVidia,DEV=2", "hw:CARD=NVidia,DEV=3",
                "hdmi:CARD=NVidia,DEV=0", "sysdefault:CARD=NVidia", "hw:CARD=NVidia,DEV=7", "hdmi:CARD=NVidia,DEV=1",
            ])
    }

    @Test func theDisplayComesBeforeAnalog() {
        let pch = card(0, "PCH", [(0, .other), (3, .display(nil)), (7, .display(lg))])
        for isPlainMixer in [true, false] {
            let names = names(route(0, 0, isPlainMixer: isPlainMixer), [pch], displays)
            #expect(names.first == "hw:CARD=PCH,DEV=7" && Set(names).count == names.count && names.contains("default"))
        }
        // This holds only for ALSA's own default. A default set by an administrator is deliberate.
        #expect(names(route(0, 0, isSet: true), [pch], displays).first == "default")
        #expect(names(route(0, 0, isPlainMixer: true, isSet: true), [pch], displays).first == "hw:CARD=PCH,DEV=0")
        #expect(names(DefaultRoute(hardware: nil, isPlainMixer: false, isSet: true), [pch], displays).first == "default", "a sound server")
    }

    @Test func withoutSoundOnTheDisplayAnalogComesFirst() {
        let cards = [
            card(0, "vc4hdmi0", driver: "vc4-hdmi", [(0, .display(nil))]), card(1, "vc4hdmi1", driver: "vc4-hdmi", [(0, .display(nil))]),
            card(2, "Headphones", driver: "bcm2835", [(0, .other)]),
        ]
        let names = names(route(0, 0), cards, displays)
        #expect(names.first == "hw:CARD=Headphones,DEV=0" && names.contains("default") && names.contains("hw:CARD=vc4hdmi1,DEV=0"))
        let panel = [ConnectedDisplay(connector: "DSI-1", monitor: nil)]
        let pch = card(0, "PCH", [(0, .other), (3, .display(sharp))])
        #expect(self.names(route(0, 0), [pch], panel).first == "default")
    }

    @Test func aRaspberryPiPlaysToTheSecondSocket() {
        let cards = [
            card(0, "vc4hdmi0", driver: "vc4-hdmi", [(0, .display(nil))]), card(1, "vc4hdmi1", driver: "vc4-hdmi", [(0, .display(lg))]),
            card(2, "Headphones", driver: "bcm2835", [(0, .other)]),
        ]
        #expect(names(route(0, 0), cards, displays).prefix(2) == ["hw:CARD=vc4hdmi1,DEV=0", "hdmi:CARD=vc4hdmi1,DEV=0"])
        let reason = AudioDevice.automatic.candidates(route: route(0, 0), cards: cards, displays: displays)[0].reason
        #expect(reason == "the sound of the display LG TV on HDMI-A-2")
    }

    // MARK: Muted controls

    private func silencers(_ device: Int, _ elements: [MixerElement]) -> [String] {
        let cards = [card(0, "PCH", [(0, .other), (3, .display(nil)), (7, .display(lg))]), card(1, "HDMI", [(3, .display(lg))])]
        let hardware = Hardware(card: device < 10 ? 0 : 1, device: device % 10)
        return Mixer(hardware, cards: cards)!.silencers(among: elements).map(\.command)
    }

    @Test func whatIsOnTheWayOfTheSoundIsToldWithItsCommand() {
        let elements = [
            MixerElement(name: "Master", isMuted: true, isAtMinimum: true),
            MixerElement(name: "Headphone+LO", isMuted: true, isAtMinimum: false),
            MixerElement(name: "Line Out", isMuted: nil, isAtMinimum: true), MixerElement(name: "PCM", isAtMinimum: false),
            MixerElement(name: "Mic", isMuted: true, isAtMinimum: true), MixerElement(name: "IEC958", isMuted: true),
            MixerElement(name: "IEC958", index: 1, isMuted: true), MixerElement(name: "Beep", isMuted: true),
            MixerElement(name: "Speaker Mixer Line Bypass", isMuted: true),
        ]
        #expect(
            silencers(0, elements) == [
                "amixer -c PCH sset Master 100% unmute", "amixer -c PCH sset 'Headphone+LO' unmute", "amixer -c PCH sset 'Line Out' 100%",
            ])
        #expect(silencers(3, elements) == ["amixer -c PCH sset IEC958 unmute"])
        #expect(silencers(7, elements) == ["amixer -c PCH sset IEC958,1 unmute"])
        #expect(silencers(13, elements).contains("amixer -c HDMI sset IEC958 unmute"))
        #expect(silencers(13, elements).count == 4, "a card for displays alone has no other way")
    }
}
