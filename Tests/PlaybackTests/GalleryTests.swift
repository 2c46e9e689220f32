import Foundation
import Media
import Platform
import Playback
import TestSupport
import Testing

/// Every clip of the gallery through the whole engine, round and round: at the seam no picture and no sample is lost or comes twice.
@Suite struct GalleryTests {
    /// Some clips that are played side by side, because each takes its time.
    struct Group: CustomTestStringConvertible {
        var clips: [GalleryClip]
        var testDescription: String { clips.map(\.name).joined(separator: ", ") }

        static func groups(of clips: [GalleryClip]) -> [Group] {
            stride(from: 0, to: clips.count, by: 4).map { Group(clips: Array(clips[$0..<min($0 + 4, clips.count)])) }
        }
    }

    @Test(arguments: Group.groups(of: Gallery.moving.sorted { $0.seconds < $1.seconds })) func twoTurnsOfEach(_ group: Group) throws {
        let stages = try group.clips.map { clip in
            let audio = RecordingOutput()
            return (clip, audio, Stage([PlaylistItem(source: try Clips.named(clip.name))], audio: audio))
        }
        for (clip, audio, stage) in stages {
            #expect(stage.wait(30) { stage.statistics.seams >= 2 }, "\(clip.name)")
            let missing = Stage.missing(from: stage.numbers, cycle: Array(clip.numbers!))
            #expect(missing != nil && missing! <= stage.statistics.framesDropped, "\(clip.name): \(stage.numbers)")
            #expect(stage.complaints.isEmpty, "\(clip.name): \(stage.complaints)")
            if clip.frameCount > 1 { expectSound(of: clip, in: audio.samples) }
        }
    }

    @Test func twoTurnsOfSoundAlone() throws {
        let stages = try Gallery.soundAlone.map { clip in
            let audio = RecordingOutput()
            return (clip, audio, Stage([PlaylistItem(source: try Clips.named(clip.name))], audio: audio))
        }
        for (clip, audio, stage) in stages {
            #expect(stage.wait(30) { stage.statistics.seams >= 2 }, "\(clip.name)")
            expectSound(of: clip, in: audio.samples)
        }
    }

    /// The tone runs on over the seams without a hole; in the second turn it begins anew, in phase, a turn's length after the first.
    private func expectSound(of clip: GalleryClip, in samples: [Float]) {
        guard let sound = clip.sound, (sound.seconds ?? clip.seconds) >= clip.seconds else { return }
        let length = Int((clip.seconds * 48000).rounded())
        // Where a starved machine has left a hole somewhere, what follows is only later; a hole at each of two seams is no chance.
        var heard: [Float] = []
        var holesAtSeams: Set<Int> = []
        var silence = 0
        for sample in samples.drop(while: { $0 == 0 }) {
            silence = sample == 0 ? silence + 1 : 0
            heard.append(sample)
            if silence < 24 { continue }
            heard.removeLast(silence == 24 ? 24 : 1)
            let seam = (heard.count + length / 2) / length
            if seam > 0, abs(heard.count - seam * length) < 2400 { holesAtSeams.insert(seam) }
        }
        #expect(!holesAtSeams.isSuperset(of: [1, 2]), "\(clip.name)")
        guard heard.count >= 2 * length - 480 else {
            Issue.record("\(clip.name): \(heard.count) samples of \(2 * length)")
            return
        }
        guard let late = sound.inexactness.late else { return }
        let phase = tonePhase(heard[length..<min(heard.count, 2 * length)])
        // Of whole milliseconds the turn itself is made as well.
        #expect(phase.strength > 0.9 && abs(phase.samples) < (late > 1 ? 3 * late : 3), "\(clip.name): \(phase)")
    }

    @Test func stillsOneAfterAnother() throws {
        let stage = Stage(try Gallery.stills.map { PlaylistItem(source: try Clips.named($0.name), duration: .milliseconds(100)) })
        #expect(stage.wait(30) { stage.statistics.seams >= Gallery.stills.count })
        #expect(stage.numbers.allSatisfy { $0 == 401 }, "\(stage.numbers)")
        #expect(stage.numbers.count + stage.statistics.framesDropped >= Gallery.stills.count)
        #expect(stage.complaints.isEmpty, "\(stage.complaints)")
    }

    /// What cannot be played is left out, each with one line that names it.
    @Test func theUnplayableAreLeftOut() throws {
        let sources = try Gallery.unplayable.map(Clips.named)
        let stage = Stage((sources + [try Reel.three()]).map { PlaylistItem(source: $0) })
        stage.expectPlays([301, 302, 303], count: 15)
        #expect(stage.complaints.map(\.index).sorted() == Array(sources.indices))
        for (index, message) in stage.complaints { #expect(message.hasPrefix("\(sources[index]): ")) }
    }

    /// What is damaged is shown as far as it goes, and the next item follows.
    @Test(arguments: Gallery.damaged) func theDamagedArePlayedAsFarAsTheyGo(name: String) throws {
        let stage = Stage([
            PlaylistItem(source: try Clips.named(name), duration: name.hasSuffix("jpg") ? .milliseconds(100) : nil),
            PlaylistItem(source: try Reel.three()),
        ])
        #expect(stage.wait(30) { stage.numbers.count { $0 == 303 } >= 3 })
        print(name, stage.numbers, stage.complaints)
        #expect(stage.complaints.count <= 1, "\(stage.complaints)")
    }

    /// A file that somebody is still writing: what is there is shown, the rest as it comes.
    @Test func aGrowingFile() throws {
        let whole = try Clips.bytes(Clips.named("long.ts"))
        let path = try Clips.file("growing-\(UInt32.random(in: 0 ... .max)).ts", Array(whole.prefix(whole.count / 3)))
        let stage = Stage([PlaylistItem(source: path), PlaylistItem(source: try Reel.three())])
        #expect(stage.wait(for: 5))
        let file = try #require(FileHandle(forWritingAtPath: path))
        file.seekToEndOfFile()
        try file.write(contentsOf: whole.dropFirst(whole.count / 3))
        try file.close()
        #expect(stage.wait(30) { stage.numbers.count { $0 == 303 } >= 2 })
        print("growing", stage.numbers, stage.complaints)
    }
}
