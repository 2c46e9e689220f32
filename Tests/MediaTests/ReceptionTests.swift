import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskMedia

@Suite struct ReceptionTests {
    private func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 1_000_000_000) + .seconds(seconds) }

    // MARK: ReceptionGate

    /// Returns whether the gate lets a packet pass at each of these times, with these levels.
    private func passes(_ gate: inout ReceptionGate, _ trials: [(level: Double, at: Double)], isFull: Bool = false) -> [Bool] {
        trials.map { gate.isOpen(level: .seconds($0.level), isFull: isFull, at: at($0.at)) }
    }

    @Test func everythingPassesWhileItIsOpened() {
        var gate = ReceptionGate(goal: .seconds(1))
        let passed = passes(&gate, [(0, 0)])
        #expect(passed == [true])
    }

    @Test func nothingPassesBeforeTheGoalIsReached() {
        var gate = ReceptionGate(goal: .seconds(1))
        gate.fill(at: at(0))
        let passed = passes(&gate, [(0.9, 1), (1, 1.1), (0.01, 1.2)])
        #expect(passed == [false, true, true], "it stays open")
    }

    @Test func whatComesSlowlyIsNotWaitedForWithoutEnd() {
        var gate = ReceptionGate(goal: .seconds(1))
        gate.fill(at: at(0))
        let passed = passes(&gate, [(0.5, 3.9), (0.5, 4.1)])
        #expect(passed == [false, true])
        gate.fill(at: at(10))
        let full = passes(&gate, [(0.5, 10)], isFull: true)
        #expect(full == [true], "nor what there is no room for, or has ended")
    }

    @Test func aShortGapRaisesTheGoalAndALongOneDoesNot() {
        var gate = ReceptionGate(goal: .seconds(1))
        gate.ranDry(at: at(0))
        gate.ranDry(at: at(0.1))
        gate.received(at: at(0.4))
        #expect(gate.gaps == 1 && gate.goal == .seconds(1.5))
        let passed = passes(&gate, [(1.4, 1), (1.5, 1)])
        #expect(passed == [false, true])
        gate.ranDry(at: at(20))
        gate.received(at: at(30))
        #expect(gate.gaps == 2 && gate.goal == .seconds(1.5))
        for gap in 0..<20 {
            gate.ranDry(at: at(40 + Double(gap)))
            gate.received(at: at(40.5 + Double(gap)))
        }
        #expect(gate.goal == .seconds(4), "four times what was asked for, at most")
    }

    // MARK: ReceptionProgress

    /// Receives media at `speed` from `begin` to `end`, in steps of 40 ms, one packet of each stream.
    private func receive(_ progress: inout ReceptionProgress, speed: Double, from begin: Double, to end: Double) {
        var time = begin
        while time < end - 1e-6 {
            time += 0.04 / speed
            progress.receive(.milliseconds(40), isPicture: true, at: at(time))
            progress.receive(.milliseconds(40), isPicture: false, at: at(time))
        }
    }

    @Test func theSpeedIsThatOfTheLastSeconds() {
        var progress = ReceptionProgress(since: at(0))
        #expect(progress.speed(at: at(0)) == 0)
        receive(&progress, speed: 2, from: 0, to: 1)
        #expect(abs(progress.speed(at: at(1)) - 2) < 0.1 && progress.received == .seconds(2))
        receive(&progress, speed: 0.5, from: 1, to: 12)
        #expect(abs(progress.speed(at: at(12)) - 0.5) < 0.1, "\(progress.speed(at: at(12)))")
        #expect(progress.speed(at: at(14)) < 0.3, "nothing comes")
        #expect(progress.speed(at: at(40)) < 0.02)
    }

    @Test func whoHasEnoughIsNotSlow() {
        var progress = ReceptionProgress(since: at(0))
        receive(&progress, speed: 10, from: 0, to: 3)
        progress.rest(at: at(3))
        #expect(abs(progress.speed(at: at(100)) - 10) < 0.5)
        progress.goOn(at: at(100))
        receive(&progress, speed: 10, from: 100, to: 101)
        #expect(abs(progress.speed(at: at(101)) - 10) < 0.5, "\(progress.speed(at: at(101)))")
    }

    @Test func whatHasBrokenOffDoesNotCome() {
        var progress = ReceptionProgress(since: at(0))
        receive(&progress, speed: 2, from: 0, to: 2)
        progress.finish(.failed)
        #expect(progress.speed(at: at(2)) == 0)
        progress.seek()
        #expect(progress.end == nil && progress.speed(at: at(2)) > 1 && progress.received == .seconds(4))
    }

    @Test func whatComesWhileTheReaderWaitsIsLoaded() {
        let meter = Monitor(ReceptionProgress(since: at(0)))
        let loading = Loading(until: .seconds(1), goal: nil, meter, received: .zero, seeks: 0)
        meter.withLock { receive(&$0, speed: 2, from: 0, to: 6) }
        #expect(loading.loaded(at: at(6)).until == .seconds(13))
        meter.withLock { $0.finish(.whole) }
        #expect(loading.loaded(at: at(6)).isWhole)
        meter.withLock { $0.seek() }
        #expect(loading.loaded(at: at(6)).until == .seconds(1) && !loading.loaded(at: at(6)).isWhole, "it was asked before the seek")
    }

    // MARK: ReceivedPackets

    private func packet(isKey: Bool = false) -> Packet {
        let packet = Packet()
        if isKey { packet.raw.pointee.flags |= AV_PKT_FLAG_KEY }
        return packet
    }

    /// Appends a second of media from `second` on: 25 video packets, the first a key frame, and as many of sound.
    private func fill(_ packets: inout ReceivedPackets, second: Int, hasSound: Bool = true) {
        for frame in 0..<25 {
            let time = MediaTime.seconds(Double(second) + Double(frame) / 25)
            packets.append(packet(isKey: frame == 0), isPicture: true, at: time, lasting: .milliseconds(40))
            if hasSound { packets.append(packet(), isPicture: false, at: time, lasting: .milliseconds(40)) }
        }
    }

    @Test func theLevelIsThatOfTheStreamThatHasComeLessFar() {
        var packets = ReceivedPackets()
        fill(&packets, second: 0)
        var levels = [packets.level]
        fill(&packets, second: 1, hasSound: false)
        levels += [packets.pictures.level, packets.level]
        for _ in 0..<50 { _ = packets.popFirst() }
        levels.append(packets.level)
        #expect(levels == [.seconds(1), .seconds(2), .seconds(1), .seconds(1)])
    }

    @Test func timestampsMayJump() {
        var packets = ReceivedPackets()
        fill(&packets, second: 0)
        fill(&packets, second: 90_000)
        let level = packets.level
        #expect(level == .seconds(2))
    }

    @Test func whatIsDroppedBeginsAgainWithAKeyFrameAndCountsOn() {
        var packets = ReceivedPackets()
        for second in 0..<5 { fill(&packets, second: second) }
        let before = packets.pictures.level
        packets.drop(keeping: .seconds(1.5), hasPictures: true)
        let count = packets.count
        #expect(count == 100, "two seconds")
        let level = packets.pictures.level
        #expect(level == before, "\(level): what has been read and what is here still make what has been received")
        var isKey = false
        if let first = packets.popFirst() { isKey = first.raw.pointee.flags & AV_PKT_FLAG_KEY != 0 }
        #expect(isKey)
        let rest = packets.pictures.level
        #expect(rest == .seconds(1.96), "\(rest)")
    }

    @Test func soundAloneIsDroppedAnywhere() {
        var packets = ReceivedPackets()
        for index in 0..<250 {
            packets.append(packet(), isPicture: false, at: .seconds(Double(index) / 25), lasting: .milliseconds(40))
        }
        packets.drop(keeping: .seconds(2), hasPictures: false)
        let count = packets.count
        #expect(49...51 ~= count)
    }

    // MARK: libavformat options

    private func options(_ source: String, _ change: (inout StreamSettings) -> Void = { _ in }) -> [String: String] {
        var settings = StreamSettings()
        change(&settings)
        return Dictionary(SourceOptions.options(for: source, settings).map { ($0.name, $0.value) }) { $1 }
    }

    @Test func aFileHasNoNetworkOptions() {
        #expect(options("/srv/a.mp4") == ["pattern_type": "none"])
        #expect(options("file:///srv/a.mp4") == ["pattern_type": "none"])
    }

    @Test func headersAndTimeLimitsReachHTTP() {
        var settings = StreamSettings()
        settings.headers = ["Authorization: Bearer 1", "X-Screen: lobby"]
        settings.userAgent = "sign/1"
        settings.timeout = .seconds(3)
        let given = Dictionary(SourceOptions.http(settings).map { ($0.name, $0.value) }) { $1 }
        #expect(given["headers"] == "Authorization: Bearer 1\r\nX-Screen: lobby\r\n")
        #expect(given["user_agent"] == "sign/1" && given["rw_timeout"] == "3000000")
        #expect(options("http://example.com/a.mp4")["headers"] == nil)
    }

    @Test func camerasAreAskedByTCPFirst() {
        let camera = options("rtsp://10.0.0.2/stream")
        #expect(camera["rtsp_transport"] == "udp+tcp" && camera["rtsp_flags"] == "prefer_tcp" && camera["timeout"] == "10000000")
        #expect(options("srt://10.0.0.2:9000") { $0.latency = .seconds(2) }["latency"] == "1000000")
        #expect(options("/srv/session.sdp")["timeout"] == "10000000", "it names a stream")
    }

    // MARK: Throughput

    @Test func aSlowLineIsBelievedSooner() {
        var throughput = Throughput()
        throughput.received(1000, from: "a", in: .seconds(1))
        #expect(throughput.of("a") == nil, "too little to tell")
        throughput.received(1_000_000, from: "a", in: .seconds(1))
        #expect(throughput.of("a") == 8_000_000)
        throughput.received(500_000, from: "a", in: .seconds(1))
        #expect(throughput.of("a").map { 5_100_000...5_300_000 ~= $0 } == true)
        #expect(throughput.of("b") == nil)
        #expect(Throughput.server("https://cdn.example.com:8443/a/b.ts?x") == "cdn.example.com:8443")
    }
}

/// kiosk pauses between closing a camera and opening it again: a camera may allow only one session.
@Suite struct ClosingSourceTests {
    private func wait(for source: String, since begin: HostTime = .now) -> (ClosingSource, MediaTime) {
        (ClosingSource(waitingFor: source, interruption: Interruption()), HostTime.now - begin)
    }

    @Test func whatHasJustBeenClosedIsOpenedAfterAPause() {
        let (first, _) = wait(for: "rtsp://camera/a")
        // The pause begins when the first one closes.
        let begin = HostTime.now
        first.hasClosed()
        let (second, waited) = wait(for: "rtsp://camera/a", since: begin)
        #expect(waited >= .milliseconds(240), "\(waited)")
        // A source that never closes delays the next opening by a second; another source causes no delay.
        let (third, longest) = wait(for: "rtsp://camera/a")
        #expect(longest >= .milliseconds(950), "\(longest)")
        for source in [second, third] { source.hasClosed() }
    }
}
