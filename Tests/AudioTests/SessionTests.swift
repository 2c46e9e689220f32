import CKioskALSA
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskAudioCore

/// The choice of the device with a shared mixer, and with jack detection.
@Suite struct SessionTests {
    private func card(_ index: Int, _ id: String, isPlugged: Bool? = nil, monitor: MonitorIdentity? = nil) -> AudioCard {
        AudioCard(
            index: index, id: id, name: id, driver: "HDA-Intel",
            devices: [
                .init(
                    number: 0, pcm: "hw:CARD=\(id),DEV=0", name: "PCM", output: monitor.map { .display($0) } ?? .other, isPlugged: isPlugged
                )
            ])
    }
    private let television = MonitorIdentity(model: [1, 2, 3, 4], name: "TV".utf8)
    private var display: ConnectedDisplay { ConnectedDisplay(connector: "HDMI-A-1", monitor: television) }

    private func names(_ device: AudioDevice, _ cards: [AudioCard], _ change: (inout AudioSession) -> Void) -> [String] {
        var session = AudioSession()
        change(&session)
        return device.candidates(route: nil, cards: cards, displays: [display], session: session).map(\.name)
    }

    @Test func theMixerOfACardIsTriedBeforeTheCard() {
        #expect(names(.pcm("hw:1,0"), []) { $0.mixesWithOthers = true } == ["dmix:1,0", "hw:1,0"])
        #expect(names(.pcm("plughw:CARD=A"), []) { $0.mixesWithOthers = true } == ["dmix:CARD=A", "plughw:CARD=A"])
        #expect(names(.pcm("hw:1,0,2"), []) { $0.mixesWithOthers = true } == ["dmix:1,0", "hw:1,0,2"])
        #expect(names(.pcm("hw:CARD=A,DEV=0,SUBDEV=1"), []) { $0.mixesWithOthers = true }.first == "dmix:CARD=A,DEV=0")
        #expect(names(.pcm("my-own"), []) { $0.mixesWithOthers = true } == ["my-own"])
        #expect(names(.pcm("hw:1,0"), []) { _ in } == ["hw:1,0"])
        #expect(names(.off, []) { $0.mixesWithOthers = true } == [])
        let automatic = names(.automatic, [card(0, "TV", monitor: television)]) { $0.mixesWithOthers = true }
        #expect(automatic.prefix(2) == ["dmix:CARD=TV,DEV=0", "hw:CARD=TV,DEV=0"])
    }

    @Test func aDefaultThatMixesIsTaken() {
        let route = DefaultRoute(hardware: Hardware(card: 0, device: 0), isPlainMixer: true, isSet: true)
        var session = AudioSession()
        session.mixesWithOthers = true
        #expect(AudioDevice.automatic.candidates(route: route, cards: [card(0, "PCH")], session: session).first?.name == "default")
    }

    @Test func headphonesComeBeforeTheDisplayWherePlugsAreFollowed() {
        let cards = [card(0, "PCH", isPlugged: true), card(1, "TV", monitor: television)]
        #expect(names(.automatic, cards) { $0.route = .port }.first == "hw:CARD=PCH,DEV=0")
        #expect(names(.automatic, cards) { $0.route = .display }.first == "hw:CARD=TV,DEV=0")
        let unplugged = [card(0, "PCH", isPlugged: false), card(1, "TV", monitor: television)]
        #expect(names(.automatic, unplugged) { $0.route = .port }.first == "hw:CARD=TV,DEV=0")
    }

    // MARK: Jacks

    @Test(arguments: [
        ("Headphone Jack", true), ("Front Headphone Jack", true), ("Line Out Front Jack", true), ("Headset Jack", true),
        ("Headphone Mic Jack", false), ("Mic Jack", false), ("Headphone Phantom Jack", false), ("HDMI/DP,pcm=3 Jack", false),
        ("Headphone Playback Volume", false),
    ]) func whichControlsAreJacks(name: String, isOutput: Bool) { #expect(Jack.isOutput(name) == isOutput) }

    @Test func toWhichDeviceAJackBelongs() {
        let jacks = [Jack(name: "Headphone Jack", isPlugged: false), Jack(name: "Line Out,pcm=2 Jack", isPlugged: true)]
        #expect(Jack.isPlugged(jacks, device: 0, isFirst: true) == false)
        #expect(Jack.isPlugged(jacks, device: 2, isFirst: false) == true)
        #expect(Jack.isPlugged(jacks, device: 1, isFirst: false) == nil)
        #expect(Jack.isPlugged([], device: 0, isFirst: true) == nil)
    }

    // MARK: Pulled plugs

    private func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 1_000_000_000) + .seconds(seconds) }

    @Test func aPlugThatStaysPulledHasAnotherDeviceChosen() {
        let hardware = Hardware(card: 0, device: 0)
        let line = AudioCard.plugLine(hardware), kernel = "00-00: PCH : playback 1"
        var watch = CardWatch(list: "\(kernel)\n\(line)", holding: AudioCard.plugs(of: hardware), at: at(0))
        var found: [Bool] = []
        for (time, list) in [
            (1.0, "\(kernel)\n\(line)"), (2, kernel), (3, "\(kernel)\n\(line)"), (4, kernel), (5, kernel), (6.1, kernel), (7, kernel),
            (9, kernel),
        ] { found.append(watch.hasNewCard(at: at(time)) { list }) }
        #expect(found == [false, false, false, false, false, true, false, false], "a contact that is loose does nothing")
    }

    @Test func whatWasNotThereNeedNotStay() {
        let kernel = "00-00: PCH : playback 1"
        var watch = CardWatch(list: kernel, holding: AudioCard.plugs(of: Hardware(card: 0, device: 0)), at: at(0))
        for time in 1..<10 { #expect(!watch.hasNewCard(at: at(Double(time))) { kernel }) }
    }

    @Test func headphonesThatComeAreNoticed() {
        let kernel = "00-00: PCH : playback 1", line = AudioCard.plugLine(Hardware(card: 0, device: 0))
        var watch = CardWatch(list: kernel, at: at(0))
        let found = (1..<5).map { time in watch.hasNewCard(at: at(Double(time))) { "\(kernel)\n\(line)" } }
        #expect(found == [false, false, true, false])
    }
}
