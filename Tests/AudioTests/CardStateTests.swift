import Glibc
import KioskPlatform
import Testing

@testable import KioskAudioCore

@Suite struct CardStateTests {
    private let busy = AudioError.cannotOpen(device: "hw:0", errno: EBUSY, holder: nil)
    private let gone = AudioError.lost(device: "hw:0", operation: "snd_pcm_writei", errno: ENODEV)

    private func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 0) + .milliseconds(milliseconds) }

    @Test func absentTriesAgainEverMoreSeldom() {
        var state = CardState.initial(error: .noCard, at: at(0))
        var now: Int64 = 0
        var gaps: [Int64] = []
        for _ in 0..<8 {
            let next = state.nextTry!
            #expect(state.handle(.tick, at: next - MediaTime(nanoseconds: 1)) == .none)
            #expect(state.handle(.tick, at: next) == .open)
            gaps.append(next.nanoseconds / 1_000_000 - now)
            now = next.nanoseconds / 1_000_000
            #expect(state.handle(.openFailed(.noCard), at: next) == .none, "the same failure is logged once")
        }
        #expect(gaps == [500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000])
    }

    @Test func anotherFailureIsLogged() {
        var state = CardState.initial(error: .noCard, at: at(0))
        #expect(state.handle(.openFailed(busy), at: at(500)) == .log(busy))
        #expect(state.handle(.openFailed(busy), at: at(1500)) == .none)
        #expect(state.handle(.openFailed(.noCard), at: at(3500)) == .log(.noCard))
    }

    @Test func aChangeOfDevicesIsLookedAtSoon() {
        var state = CardState.initial(error: .noCard, at: at(0))
        for k in 1...6 { _ = state.handle(.openFailed(.noCard), at: at(Int64(k))) }
        #expect(state.handle(.devicesChanged, at: at(100)) == .none)
        #expect(state.nextTry == at(300))
        #expect(state.handle(.tick, at: at(300)) == .open)
    }

    @Test func openPlaysUntilTheCardIsLost() {
        var state = CardState.initial(error: .noCard, at: at(0))
        #expect(state.handle(.opened, at: at(0)) == .play)
        #expect(state.nextTry == nil)
        for event in [CardState.Event.tick, .devicesChanged, .opened, .openFailed(busy)] {
            #expect(state.handle(event, at: at(1)) == .none)
        }
        #expect(state.handle(.lost(gone), at: at(60_000)) == .fallSilent(gone))
        #expect(state == .recovering(.init(next: at(60_500), backOff: .milliseconds(1000), error: gone)))
    }

    @Test func aCardThatComesIsChosenAtOnce() {
        var state = CardState.open(since: at(0), backOff: .milliseconds(8000))
        #expect(state.handle(.cardCame, at: at(1)) == .open)
        #expect(state.handle(.cardCame, at: at(1)) == .none)
        #expect(state.handle(.tick, at: at(1)) == .open)
        #expect(state.handle(.openFailed(busy), at: at(1)) == .log(busy))
        #expect(state.nextTry == at(501))
    }

    @Test func aCardHasComeWhenItIsNewAndStays() {
        let hdmi = "00-03: HDMI 0 : HDMI 0 : playback 1"
        let microphone = "01-00: USB Audio : USB Audio : capture 1"
        let speakers = "02-00: USB Audio : USB Audio : playback 1"
        var watch = CardWatch(list: hdmi, at: at(0))
        var looks = 0
        /// Looks every half second, and returns the times, in ms, at which a card has come.
        func come(_ lines: String..., from: Int64, to: Int64) -> [Int64] {
            stride(from: from, through: to, by: 500).filter { time in
                watch.hasNewCard(at: at(time)) {
                    looks += 1
                    return lines.joined(separator: "\n") + "\n"
                }
            }
        }
        #expect(come(hdmi, speakers, from: 499, to: 499) == [] && looks == 0)
        #expect(come(hdmi, microphone, from: 500, to: 9500) == [], "nothing can be played to it")
        #expect(come(hdmi, speakers, from: 10_000, to: 19_500) == [12_000], "and that is said once")
        #expect(come(hdmi, from: 20_000, to: 29_500) == [], "one that goes is none that comes")
        #expect(come(hdmi, speakers, from: 30_000, to: 39_500) == [32_000], "it has been put back")
        for second in Int64(40)..<60 {
            #expect(come(hdmi, from: second * 1000, to: second * 1000) == [], "a loose plug")
            #expect(come(hdmi, speakers, from: second * 1000 + 500, to: second * 1000 + 500) == [], "a loose plug")
        }
        #expect(looks == 19 + 20 + 20 + 20 + 40)
        let headphones = "03-00: USB Headset : USB Headset : playback 1"
        var chosen: [Int64] = []
        for second in Int64(60)..<70 {
            chosen += come(hdmi, headphones, from: second * 1000, to: second * 1000)
            chosen += come(hdmi, headphones, speakers, from: second * 1000 + 500, to: second * 1000 + 500)
        }
        #expect(chosen.first == 62_000, "a loose plug beside one that stays")
    }

    @Test func recoveringFindsTheCardAgain() {
        var state = CardState.recovering(.init(next: at(500), backOff: .milliseconds(1000), error: gone))
        #expect(state.handle(.lost(gone), at: at(100)) == .none)
        #expect(state.handle(.tick, at: at(500)) == .open)
        #expect(state.handle(.openFailed(busy), at: at(500)) == .log(busy))
        #expect(state.nextTry == at(1500))
        #expect(state.handle(.devicesChanged, at: at(600)) == .none)
        #expect(state.nextTry == at(800))
        #expect(state.handle(.opened, at: at(800)) == .play)
        #expect(state == .open(since: at(800), backOff: .milliseconds(500)))
    }

    /// ALSA's null device takes everything at once. Each attempt to find that out costs a second of pictures.
    @Test func whatKeepsNoTimeIsNotTriedAgainByItself() {
        let fault = AudioError.keepsNoTime(device: "null")
        var state = CardState.initial(error: fault, at: at(0))
        #expect(state.handle(.tick, at: at(86_400_000)) == .none)
        state = .open(since: at(0), backOff: .milliseconds(500))
        #expect(state.handle(.lost(fault), at: at(1500)) == .fallSilent(fault))
        #expect(state.handle(.tick, at: at(86_400_000)) == .none)
        #expect(state.handle(.devicesChanged, at: at(86_400_000)) == .none)
        #expect(state.handle(.tick, at: at(86_400_200)) == .open)
        #expect(state.handle(.openFailed(fault), at: at(86_400_300)) == .none)
        #expect(state.handle(.tick, at: at(90_000_000)) == .none)
    }

    @Test func aLoosePlugIsTriedEverMoreSeldom() {
        var state = CardState.initial(error: .noCard, at: at(0))
        var now = at(0)
        var waits: [Int64] = []
        for _ in 0..<7 {
            #expect(state.handle(.opened, at: now) == .play)
            now += .milliseconds(100)
            #expect(state.handle(.lost(gone), at: now) == .fallSilent(gone))
            waits.append((state.nextTry! - now).nanoseconds / 1_000_000)
            now = state.nextTry!
        }
        #expect(waits == [1000, 2000, 4000, 8000, 10_000, 10_000, 10_000])
    }

    @Test func errorNumbersMeanWhatALSASays() {
        let meanings = [EPIPE, ESTRPIPE, EAGAIN, EINTR, ENODEV, EBADF, EIO].map { CardFault(errno: $0) }
        #expect(meanings == [.underrun, .suspended, .busy, .busy, .lost, .lost, .lost])
    }

    @Test func errorsSayWhatToDo() {
        #expect(AudioError.cannotOpen(device: "hw:0", errno: EACCES, holder: nil).description.contains("group audio"))
        let held = AudioError.cannotOpen(device: "hw:0", errno: EBUSY, holder: "aplay (pid 7)")
        #expect(held.description == "hw:0 is in use by aplay (pid 7); end it, or set [audio] device to another one")
        #expect(AudioError.lost(device: "hw:0", operation: "x", errno: EIO).description == "hw:0 failed in x: Input/output error")
    }

    @Test func theCardStandsInTheName() {
        func parts(_ name: String) -> [String] { [PCMName(name).card ?? "none", "\(PCMName(name).device)"] }
        #expect(parts("hw:CARD=PCH,DEV=3") == ["PCH", "3"] && parts("hw:1,7") == ["1", "7"] && parts("plughw:2") == ["2", "0"])
        #expect(parts("front:CARD=Loopback") == ["Loopback", "0"] && parts("hdmi:DEV=1,CARD=vc4hdmi0,AES0=0x04") == ["vc4hdmi0", "1"])
        #expect(parts("default") == ["none", "0"] && parts("plug:'hw:1,0'") == ["none", "0"] && parts("hw:") == ["none", "0"])
        #expect(PCMName("front:CARD=NoSuchCard").cardIndex.map { $0 < 0 } == true)
    }

    @Test func manyUnderrunsLengthenTheBufferAndAreLoggedRarely() {
        var history = UnderrunHistory()
        #expect(history.record(at: at(0)) == .init(log: 1, lengthen: false))
        #expect(history.record(at: at(20_000)) == .init(log: nil, lengthen: false))
        #expect(history.record(at: at(21_000)) == .init(log: nil, lengthen: false))
        #expect(history.record(at: at(22_000)) == .init(log: nil, lengthen: true))
        #expect(history.record(at: at(23_000)) == .init(log: nil, lengthen: false))
        #expect(history.record(at: at(61_000)) == .init(log: 5, lengthen: false))
        #expect(history.total == 6)
    }

    @Test func aCardThatStopsAtEachStartIsHopeless() {
        var history = UnderrunHistory()
        for _ in 0..<3 {
            #expect(!history.record(at: at(0), isEarly: true).hasFailed)
            #expect(!history.record(at: at(1), isEarly: true).hasFailed)
            let third = history.record(at: at(2), isEarly: true)
            #expect(third.lengthen && third.hasFailed)
        }
        // A single early stop, or a late one, is no failure.
        for second in 1...20 { #expect(!history.record(at: at(Int64(second) * 11_000), isEarly: true).hasFailed) }
        for k in 0..<9 { #expect(!history.record(at: at(300_000 + Int64(k)), isEarly: k % 3 != 1).hasFailed) }
    }
}
