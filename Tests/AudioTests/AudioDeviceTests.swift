import KioskVocabulary
import Testing

@testable import KioskAudioCore

@Suite struct AudioDeviceTests {
    private func card(_ index: Int, _ id: String, driver: String = "HDA-Intel", devices: [Int] = [0]) -> AudioCard {
        AudioCard(
            index: index, id: id, name: id, driver: driver,
            devices: devices.map { .init(number: $0, pcm: "hw:CARD=\(id),DEV=\($0)", name: "PCM") })
    }

    private let own = DefaultRoute(hardware: Hardware(card: 0, device: 0), isPlainMixer: false, isSet: false)

    private func names(_ device: AudioDevice, _ route: DefaultRoute?, _ cards: [AudioCard]) -> [String] {
        device.candidates(route: route, cards: cards).map(\.name)
    }

    @Test func textOfTheConfiguration() {
        #expect(AudioDevice("auto") == .automatic)
        #expect(AudioDevice("off") == .off)
        #expect(AudioDevice("hw:1,0") == .pcm("hw:1,0"))
    }

    @Test func aNamedDeviceIsTheOnlyOneTried() {
        #expect(names(.pcm("hw:1"), own, [card(0, "PCH")]) == ["hw:1"])
    }

    @Test func theDefaultComesFirst() {
        #expect(names(.automatic, own, [card(0, "PCH")]) == ["default", "hw:CARD=PCH,DEV=0", "sysdefault:CARD=PCH"])
    }

    @Test func aSoundServerIsADefaultWithoutACard() {
        #expect(names(.automatic, DefaultRoute(hardware: nil, isPlainMixer: false, isSet: true), [card(0, "PCH")]).first == "default")
    }

    @Test func theMixerIsPassedByForItsCard() {
        let route = DefaultRoute(hardware: Hardware(card: 1, device: 0), isPlainMixer: true, isSet: false)
        #expect(
            names(.automatic, route, [card(0, "HDMI", devices: [3]), card(1, "PCH")])
                == ["hw:CARD=PCH,DEV=0", "sysdefault:CARD=PCH", "default", "hw:CARD=HDMI,DEV=3", "sysdefault:CARD=HDMI"])
    }

    @Test func aRealCardComesBeforeADefaultThatLeadsToADummy() {
        let cards = [card(0, "Dummy", driver: "Dummy"), card(1, "Mic", devices: []), card(2, "vc4hdmi", driver: "vc4-hdmi")]
        #expect(
            names(.automatic, own, cards)
                == ["hw:CARD=vc4hdmi,DEV=0", "sysdefault:CARD=vc4hdmi", "hw:CARD=Dummy,DEV=0", "sysdefault:CARD=Dummy"])
    }

    @Test func aDummyIsBetterThanNothing() {
        let cards = [card(0, "Dummy", driver: "Dummy")]
        #expect(names(.automatic, own, cards).first == "default")
        #expect(names(.automatic, nil, cards).first == "hw:CARD=Dummy,DEV=0")
        #expect(names(.automatic, nil, []).isEmpty)
    }
}
