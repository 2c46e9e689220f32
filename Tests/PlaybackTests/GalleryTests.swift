import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// Every clip of the gallery, looped through the whole engine. At the seam no picture and no sample is lost or comes twice.
@Suite(.blocking) struct GalleryTests {
    /// Some clips that play side by side, to save time.
    struct Group: CustomTestStringConvertible {
        var clips: [GalleryClip]
        var testDescription: String { clips.map(\.name).joined(separator: ", ") }

        static func groups(of clips: [GalleryClip]) -> [Group] {
            stride(from: 0, to: clips.count, by: 4).map { Group(clips: Array(clips[$0..<min($0 + 4, clips.count)])) }
        }
    }

    @Test(arguments: Group.groups(of: Gallery.moving.sorted { $0.seconds < $1.seconds })) func twoPlaythroughsOfEach(_ group: Group) throws
    {
        let stages = try group.clips.map { clip in
            let audio = RecordingOutput()
            let display = RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate)
            return (clip, audio, Stage([PlaylistItem(source: try Clips.named(clip.name))], display: display, audio: audio))
        }
        for (clip, audio, stage) in stages {
            #expect(stage.wait { stage.statistics.seams >= 2 }, "\(clip.name)")
            // 0 is the background, if the machine took its time to begin.
            let missing = Stage.missing(from: stage.numbers.filter { $0 != 0 }, cycle: Array(clip.numbers!))
            #expect(missing != nil && missing! <= stage.statistics.framesDropped, "\(clip.name): \(stage.numbers)")
            #expect(stage.complaints.isEmpty, "\(clip.name): \(stage.complaints)")
            if clip.frameCount > 1 { expectSound(of: clip, from: audio, of: stage) }
        }
    }

    @Test func twoPlaythroughsOfSoundAlone() throws {
        let stages = try Gallery.soundAlone.map { clip in
            let audio = RecordingOutput()
            let display = RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate)
            return (clip, audio, Stage([PlaylistItem(source: try Clips.named(clip.name))], display: display, audio: audio))
        }
        for (clip, audio, stage) in stages {
            #expect(stage.wait { stage.statistics.seams >= 2 }, "\(clip.name)")
            expectSound(of: clip, from: audio, of: stage)
        }
    }

    /// The tone goes on over the seams without a gap. In the second playthrough it begins anew, in phase, one playthrough's length after
    /// the first.
    private func expectSound(of clip: GalleryClip, from audio: RecordingOutput, of stage: Stage) {
        guard let sound = clip.sound, (sound.seconds ?? clip.seconds) >= clip.seconds else { return }
        let length = Int((clip.seconds * 48000).rounded())
        // Seams are the picture's: on a starved machine the sound comes later.
        _ = stage.wait { audio.loudSamples >= 2 * length }
        let samples = audio.samples
        // If a starved machine had nothing to render, silence lasts to the end of a card period; the rest only comes later. Periods are
        // counted from the last one. Any other silence was enqueued.
        var heard: [Float] = []
        var silence = 0
        for index in samples.indices {
            guard samples[index] != 0 else {
                silence += 1
                continue
            }
            if silence >= 48, !heard.isEmpty, (samples.count - index + 2) % RecordingOutput.period > 4 {
                Issue.record("\(clip.name): \(silence) samples of silence after \(heard.count), with playthroughs of \(length)")
            }
            if 1..<3 ~= silence, !heard.isEmpty { heard += [Float](repeating: 0, count: silence) }
            heard.append(samples[index])
            silence = 0
        }
        guard heard.count >= 2 * length - 480 else {
            Issue.record("\(clip.name): \(heard.count) samples of \(2 * length)")
            return
        }
        guard let late = sound.inexactness.late else { return }
        let phase = tonePhase(heard[length..<min(heard.count, 2 * length)])
        // The playthrough's own length is in whole milliseconds as well.
        #expect(phase.strength > 0.9 && abs(phase.samples) < (late > 1 ? 3 * late : 3), "\(clip.name): \(phase)")
    }

    @Test func stillsOneAfterAnother() throws {
        let stage = Stage(try Gallery.stills.map { PlaylistItem(source: try Clips.named($0.name), duration: .milliseconds(100)) })
        #expect(stage.wait { stage.statistics.seams >= Gallery.stills.count })
        #expect(stage.pictures.allSatisfy { $0 == 401 }, "\(stage.numbers)")
        #expect(stage.numbers.count + stage.statistics.framesDropped >= Gallery.stills.count)
        #expect(stage.complaints.isEmpty, "\(stage.complaints)")
    }

    /// The player skips unplayable items, each with one line that names it.
    @Test func theUnplayableAreLeftOut() throws {
        let sources = try Gallery.unplayable.map(Clips.named)
        let stage = Stage((sources + [try Reel.three()]).map { PlaylistItem(source: $0) })
        stage.expectPlays([301, 302, 303], count: 15)
        #expect(stage.complaints.map(\.index).sorted() == Array(sources.indices))
        for (index, message) in stage.complaints { #expect(message.hasPrefix("\(sources[index]): ")) }
    }

    /// Damaged clips play as far as they go, and the next item follows. If the header promises more, one line says so.
    @Test(arguments: Gallery.damaged) func theDamagedArePlayedAsFarAsTheyGo(name: String) throws {
        let path = try Clips.named(name)
        let stage = Stage([PlaylistItem(source: path), PlaylistItem(source: try Reel.three())]) { $0.imageDuration = .milliseconds(100) }
        #expect(stage.wait { stage.numbers.count { $0 == 303 } >= 3 })
        let isCutOff = name == "truncated.mp4" || name == "truncated.mkv"
        #expect(stage.complaints.count == (isCutOff ? 1 : 0), "\(stage.complaints)")
        #expect(stage.complaints.allSatisfy { $0.message.hasPrefix("\(path): its picture ends ") })
    }

    /// A file that a program is still writing plays as it grows. If it grows slower than the clock, it ends, and the next playthrough has
    /// more.
    @Test(arguments: ["long.ts", "ntsc60.mkv"]) func aGrowingFile(name: String) throws {
        let whole = try Clips.bytes(Clips.named(name))
        let last = try #require((Gallery.moving.first { $0.name == name })?.frameCount)
        let path = try Clips.file("growing-\(UInt32.random(in: 0 ... .max))-\(name)", Array(whole.prefix(whole.count / 3)))
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        let stage = Stage([PlaylistItem(source: path), PlaylistItem(source: try Reel.three())])
        #expect(stage.wait(for: 3))
        try file.write(contentsOf: whole.dropFirst(whole.count / 3))
        #expect(stage.wait(for: last) && stage.wait { stage.numbers.count { $0 == 303 } >= 2 })
        // The machine's timing decides which playthrough sees all of it: none goes back, and each goes on with the next item.
        for shown in stage.pictures.split(whereSeparator: { $0 > 300 }) {
            #expect(shown == ArraySlice(shown.sorted()), "\(shown)")
        }
        #expect(stage.complaints.count <= 1, "\(stage.complaints)")
    }

    /// A file that grows too slowly ends after its present data, each time its turn comes.
    @Test func aFileThatStopsGrowing() throws {
        let whole = try Clips.bytes(Clips.named("long.ts"))
        let path = try Clips.file("stopped-\(UInt32.random(in: 0 ... .max)).ts", Array(whole.prefix(whole.count / 4)))
        let stage = Stage([PlaylistItem(source: path), PlaylistItem(source: try Reel.three())])
        #expect(stage.wait { stage.numbers.count { $0 == 303 } >= 2 })
        let playthrough = try #require(stage.pictures.split { $0 > 300 }.first)
        // The last picture was only half there; the decoder made up the rest from the one before.
        let missing = Stage.missing(from: Array(playthrough.dropLast()), cycle: Array(1...120))
        #expect(playthrough.count < 60 && missing ?? 999 <= stage.statistics.framesDropped, "\(playthrough)")
        #expect(stage.complaints.isEmpty, "\(stage.complaints)")
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: whole.dropFirst(whole.count / 4))
        #expect(stage.wait(for: 120), "the next playthrough has all of it")
    }
}
