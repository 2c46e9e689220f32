import Configuration
import Testing

@testable import Audio

@Suite struct AudioDeviceTests {
    private func card(_ index: Int, _ id: String, driver: String = "HDA-Intel", devices: [Int] = [0]) -> AudioCard {
        AudioCard(
            index: index, id: id, name: id, driver: driver,
            devices: devices.map { .init(number: $0, pcm: "hw:CARD=\(id),DEV=\($0)", name: "PCM") })
    }

    private func names(_ device: AudioDevice, _ route: DefaultRoute?, _ cards: [AudioCard]) -> [String] {
        device.candidates(route: route, cards: cards).map(\.name)
    }

    @Test func textOfTheConfiguration() {
        #expect(AudioDevice("auto") == .automatic)
        #expect(AudioDevice("off") == .off)
        #expect(AudioDevice("hw:1,0") == .pcm("hw:1,0"))
    }

    @Test func aNamedDeviceIsTheOnlyOneTried() {
        #expect(names(.pcm("hw:1"), DefaultRoute(cardIndex: 0, isPlainMixer: false), [card(0, "PCH")]) == ["hw:1"])
    }

    @Test func theDefaultComesFirst() {
        let route = DefaultRoute(cardIndex: 0, isPlainMixer: false)
        #expect(names(.automatic, route, [card(0, "PCH")]) == ["default", "hw:CARD=PCH,DEV=0", "sysdefault:CARD=PCH"])
    }

    @Test func aSoundServerIsADefaultWithoutACard() {
        #expect(names(.automatic, DefaultRoute(cardIndex: nil, isPlainMixer: false), [card(0, "PCH")]).first == "default")
    }

    @Test func theMixerIsPassedByForItsCard() {
        let route = DefaultRoute(cardIndex: 1, isPlainMixer: true)
        #expect(
            names(.automatic, route, [card(0, "HDMI", devices: [3]), card(1, "PCH")])
                == ["hw:CARD=PCH,DEV=0", "sysdefault:CARD=PCH", "default", "hw:CARD=HDMI,DEV=3", "sysdefault:CARD=HDMI"])
    }

    @Test func aRealCardComesBeforeADefaultThatLeadsToADummy() {
        let cards = [card(0, "Dummy", driver: "Dummy"), card(1, "Mic", devices: []), card(2, "vc4hdmi", driver: "vc4-hdmi")]
        #expect(
            names(.automatic, DefaultRoute(cardIndex: 0, isPlainMixer: false), cards)
                == ["hw:CARD=vc4hdmi,DEV=0", "sysdefault:CARD=vc4hdmi", "hw:CARD=Dummy,DEV=0", "sysdefault:CARD=Dummy"])
    }

    @Test func aDummyIsBetterThanNothing() {
        let cards = [card(0, "Dummy", driver: "Dummy")]
        #expect(names(.automatic, DefaultRoute(cardIndex: 0, isPlainMixer: false), cards).first == "default")
        #expect(names(.automatic, nil, cards).first == "hw:CARD=Dummy,DEV=0")
        #expect(names(.automatic, nil, []).isEmpty)
    }
}
