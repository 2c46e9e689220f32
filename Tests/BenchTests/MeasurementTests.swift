import Testing

@testable import Bed
@testable import Bench

@Suite struct MeasurementTests {
    private static let period = Duration.seconds(1) / 60
    private let main = BenchCase.all[0]
    private let clip = NumberedClip("a.mp4", frames: 150, frameRate: 30)

    /// Returns vblanks at 60 Hz, starting at 0.5 s. Each number lasts for the given count of vblanks.
    private func vblanks(_ holds: [(number: Int, vblanks: Int)]) -> [Vblank] {
        holds.flatMap { hold in (0..<hold.vblanks).map { _ in hold.number } }.enumerated().map { index, number in
            Vblank(sequence: index, time: .milliseconds(500) + Self.period * index, number: number)
        }
    }

    private func record(_ vblanks: [Vblank], sound: Sound? = nil, events: [Record.Event] = []) -> Record {
        let samples = [(2.0, 1.0, 60), (12.0, 3.5, 62)].map {
            Record.Usage.Sample(time: .seconds($0.0), cpu: .seconds($0.1), residentMemory: $0.2, threads: 9, descriptors: 20)
        }
        return Record(
            displays: [vblanks], sound: sound, log: [], events: events,
            usage: Record.Usage(cpu: .seconds(4), peakMemory: 80 << 20, samples: samples), status: 0, timeToEnd: nil, wasKilled: false,
            terminal: "", clips: [clip], screenshots: [:], outputs: [:])
    }

    /// Returns the frames of the looping clip, two vblanks each.
    private func turns(_ frames: Int) -> [(number: Int, vblanks: Int)] { (0..<frames).map { (number: $0 % 150 + 1, vblanks: 2) } }

    @Test func `a run without a fault`() {
        let samples = Measurement(record(vblanks([(0, 3)] + turns(400))), main, .kiosk).samples
        #expect(samples[.firstPicture] == [550] && samples[.motion]?.map { $0.rounded() } == [583])
        #expect(samples[.wrongHolds] == [0] && samples[.skippedFrames] == [0] && samples[.stepsBack] == [0])
        #expect(samples[.cleanSeams] == [1, 1] && samples[.lastFrameHold] == [2, 2] && samples[.firstFrameHold] == [2, 2])
        #expect(samples[.cpu] == [10] && samples[.peakMemory] == [80])
        // 300 frames begin between the samples at 2 s and at 12 s. The picture is visible from 0.55 s on.
        #expect(samples[.steadyCPU].map { $0.map { $0.rounded(.down) } } == [8])
    }

    @Test func `a seam as mpv has it, frames that are skipped, and holds that are wrong`() {
        var holds = turns(300)
        // The last frame is missing; the frame before it stays on the screen.
        holds[148].vblanks = 8
        holds.remove(at: 149)
        // In the second turn one frame stays too long, and the next one is skipped.
        holds[200].vblanks = 4
        holds.remove(at: 201)
        // Then an earlier picture returns: 250, 248, 249, 250, 251.
        holds.insert(contentsOf: [(248, 2), (249, 2), (250, 2)].map { (number: $0.0 - 150, vblanks: $0.1) }, at: 248)
        let samples = Measurement(record(vblanks(holds)), main, .mpv).samples
        #expect(samples[.stepsBack] == [1])
        #expect(samples[.cleanSeams] == [0] && samples[.lastFrameHold] == [8] && samples[.firstFrameHold] == [2])
        #expect(samples[.wrongHolds] == [100 * 2 / 299.0])
        #expect(samples[.skippedFrames]?.map { $0.text(3) } == [(1000 / 299.0).text(3)])
    }

    @Test func `a frame that the rates leave out is none that a seam has lost`() {
        // 72 fps at 60 Hz skips every sixth frame, here the last of the first turn. The second turn loses its last two frames.
        let shown = (0..<300).filter { $0 % 6 != 5 && $0 != 298 }.map { (number: $0 % 150 + 1, vblanks: 1) } + [(number: 1, vblanks: 1)]
        var record = record(vblanks(shown))
        #expect(Measurement(record, main, .kiosk).samples[.cleanSeams] == [0, 0])
        record.clips[0].frameRate = 72
        #expect(Measurement(record, main, .kiosk).samples[.cleanSeams] == [1, 0])
    }

    @Test func `a hole in the sound counts where a seam is, and not elsewhere`() {
        // Frame 1 returns at 5.5 s: 5 s after the start at 0.5 s.
        var tone = (0..<48_000 * 8).map { Int16(8000 * ($0 / 24 % 2 == 0 ? 1 : -1)) }
        for index in 48_000 * 55 / 10..<48_000 * 55 / 10 + 2400 { tone[index] = 0 }
        for index in 48_000 * 3..<48_000 * 3 + 480 { tone[index] = 0 }
        let samples = Measurement(record(vblanks(turns(240)), sound: Sound(left: tone)), main, .mpv).samples
        #expect(samples[.soundHole]?.map { $0.rounded() } == [50])
    }

    @Test func `ffmpeg shows nothing and is measured by the frames it was given`() {
        let samples = Measurement(record(vblanks([(0, 100)])), main, .ffmpeg).samples
        #expect(samples[.cpu] == [4000 / 360.0] && samples[.firstPicture] == nil)
    }

    @Test func `flashes are compared with the beeps that begin with them`() throws {
        let flash = try #require(BenchCase.all.first { $0.kind == .flash })
        // Frames 16, 46, 76 … are white: at 1 s, 2 s … if frame 1 is shown at 0.5 s. Each beep comes 20 ms later.
        var samples = [Int16](repeating: 0, count: 48_000 * 6)
        for second in 1...5 { for index in 0..<2400 { samples[48_000 * second + 960 + index] = index % 48 < 24 ? 16_000 : -16_000 } }
        let sound = Sound(left: samples)
        let offsets = try #require(Measurement(record(vblanks(turns(149)), sound: sound), flash, .kiosk).samples[.soundOffset])
        #expect(offsets.count == 5 && offsets.allSatisfy { abs($0 - 20) < 0.1 })
        #expect(sound.onsets.count == 5)
        // A beep that precedes its flash, and a flash without a beep.
        #expect(FlashAndBeep.offsets(flashes: [.seconds(1), .seconds(3)], beeps: [.milliseconds(955)]) == [.milliseconds(-45)])
    }

    @Test func `a pause is answered by the first vblank without a new frame, play by the first with one`() throws {
        let controls = try #require(BenchCase.all.first { $0.kind == .controls })
        // One frame per vblank. 31 is the last one before the pause, at 1 s; 32 comes 1 s later.
        let holds = (1...30).map { (number: $0, vblanks: 1) } + [(number: 31, vblanks: 60)] + (32...60).map { (number: $0, vblanks: 1) }
        let events = [
            Record.Event(name: Control(.touchScreen, .pause, 0).name, time: .milliseconds(990)),
            Record.Event(name: Control(.keyboard, .play, 0).name, time: .milliseconds(1980)),
            Record.Event(name: Control(.keyboard, .next, 0).name, time: nil),
        ]
        let samples = Measurement(record(vblanks(holds), events: events), controls, .kiosk).samples
        #expect(samples[.touch]?.map { $0.rounded() } == [27])
        #expect(samples[.key]?.map { $0.rounded() } == [20])
        #expect(samples[.nextItem] == nil)
        #expect(Pause.response(to: .milliseconds(600), in: vblanks((1...60).map { (number: $0, vblanks: 1) })) == nil)
    }

    @Test func `mpv's name of a mode`() {
        let lines = [
            "[vo/drm/kms] Available modes for DRM connector 0", "[vo/drm/kms]   Mode 12: 1920x1080 (1920x1080@49.98Hz)",
            "[vo/drm/kms]   Mode 29: 1280x720 (1280x720@60.00Hz)", "[vo/drm/kms]   Mode 30: 1280x720 (1280x720@50.03Hz)",
        ]
        #expect(ModeList.name(of: Machine.Mode(refresh: 50), in: lines) == "1280x720@50.03")
        #expect(ModeList.name(of: Machine.Mode(), in: lines) == "1280x720@60.00")
        #expect(ModeList.name(of: Machine.Mode(width: 1920, height: 1080, refresh: 50), in: lines) == "1920x1080@49.98")
        #expect(ModeList.name(of: Machine.Mode(width: 1920, height: 1080), in: lines) == nil)
    }

    @Test func `events are told by their names, and come at different moments of a period`() {
        for device in [ActionTimeline.Device.touchScreen, .keyboard] {
            for action in [Control.Action.pause, .play, .next] {
                #expect(Control(name: Control(device, action, 3).name) == Control(device, action, 3))
            }
        }
        #expect(Control(name: "screenshot") == nil)
        #expect(Set(BenchCase.all.map(\.name)).count == BenchCase.all.count, "--case could not tell them apart")
    }
}
