import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

@Suite(.blocking) struct NewCommandTests {
    @Test func anItemIsChosenByItsNumber() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.long()), PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.fifty()),
        ])
        #expect(stage.wait(for: 1003))
        stage.player.perform(.selectItem(3))
        #expect(stage.wait(for: 103))
        for number in [0, 4, -1, .max, .min] { stage.player.perform(.selectItem(number)) }
        stage.player.perform(.selectItem(1))
        #expect(stage.wait(for: 1005, since: stage.numbers.count))
    }

    @Test func theVolumeIsSet() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        for (given, volume) in [(40, 0.4), (-5, 0), (1000, 1), (0, 0), (100, 1)] {
            stage.player.perform(.setVolume(given))
            #expect(stage.player.snapshot.volume == volume)
        }
    }

    /// An item that waits repeats without a gap, until a command ends the wait.
    @Test func anItemWaits() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three(), waitsForTap: true), PlaylistItem(source: try Reel.long())])
        #expect(stage.wait { stage.numbers.count > 12 && stage.statistics.seams > 2 })
        #expect(stage.pictures.allSatisfy { (301...303).contains($0) } && stage.player.snapshot.waitsForTap)
        stage.player.perform(.waitEnded)
        #expect(stage.wait(for: 1003))
        let count = stage.numbers.count
        stage.player.perform(.waitEnded)
        #expect(stage.wait(for: 1040))
        #expect(!stage.numbers.dropFirst(count).contains(301), "this one does not wait")
    }

    /// From anywhere, also from a pause, to the first item, playing.
    @Test func thePlaylistBeginsAgain() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 1003))
        #expect(stage.pause() != nil)
        let count = stage.numbers.count
        stage.player.perform(.restartPlaylist)
        #expect(stage.wait(for: 12, since: count) && stage.wait { stage.player.timeControlStatus == .playing })
    }

    @Test func thePlaylistBeginsAgainWhenItHasEnded() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three())]) { $0.loop = .off }
        #expect(stage.wait { stage.player.snapshot.hasEnded })
        let count = stage.numbers.count
        stage.player.perform(.restartPlaylist)
        #expect(!stage.player.snapshot.hasEnded && stage.wait(for: 301, since: count))
    }

    @Test func aSourceIsPlayedBetween() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 1020))
        stage.player.perform(.playSource(try Reel.three(), resumes: true))
        #expect(stage.wait(for: 303))
        #expect(stage.player.items.count == 1)
        #expect(stage.wait { stage.numbers.last.map { $0 > 1000 } ?? false })
        let pictures = stage.pictures
        let left = try #require(pictures.prefix { $0 > 1000 }.last)
        let back = try #require(pictures.dropFirst(pictures.lastIndex { $0 < 1000 } ?? pictures.count).dropFirst().first)
        #expect((left...left + 30).contains(back), "\(pictures)")
        #expect(stage.player.snapshot.item == 0 && stage.complaints.isEmpty)
    }

    /// Several in a row, and bad ones: the player reports each bad one, and returns to the playlist.
    @Test func sourcesThatCannotBePlayed() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 1020))
        for source in ["/nowhere.mp4", "", "/dev/null", "http://127.0.0.1:1/x"] {
            let (count, complaints) = (stage.numbers.count, stage.complaints.count)
            stage.player.perform(.playSource(source, resumes: true))
            #expect(stage.wait { stage.numbers.count > count + 5 && stage.complaints.count == complaints + 1 }, "\(source)")
        }
        stage.player.perform(.playSource(try Reel.three(), resumes: true))
        stage.player.perform(.playSource(try Reel.fifty(), resumes: true))
        #expect(stage.wait(for: 105))
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.dropFirst(count).contains { $0 > 1020 } }, "\(stage.numbers)")
    }

    @Test func whatControlsShow() throws {
        var titled = PlaylistItem(source: try Reel.long())
        titled.title = "Ein Film"
        let source = titled.source
        let stage = Stage([titled, PlaylistItem(source: try Reel.thirty(), onTap: .player(.nextItem))]) { $0.volume = 0.5 }
        #expect(stage.wait(for: 1003))
        var now = stage.player.snapshot
        #expect((now.itemNumber, now.itemCount, now.title) == (1, 2, "Ein Film"))
        #expect(now.isSeekable && now.duration == .seconds(10) && now.bufferedUntil == .seconds(10))
        #expect(now.volume == 0.5 && !now.isMuted && !now.hasEnded && now.source == source && now.onTap == nil)
        stage.player.perform(.seekTo(.seconds(7)))
        #expect(stage.player.snapshot.time >= .seconds(7), "as soon as it is asked for")
        stage.player.perform(.toggleMute)
        stage.player.perform(.nextItem)
        #expect(stage.wait { stage.player.snapshot.itemNumber == 2 })
        now = stage.player.snapshot
        #expect(now.title == "thirty" && now.isMuted && now.onTap == .player(.nextItem))
    }

    @Test(arguments: [
        ("/a/My film.mp4", "My film"), ("/a/film", "film"), ("/a/.hidden", ".hidden"), ("/a/v1.2 final.cut", "v1.2 final"),
        ("https://u:p@host/live/stream.m3u8", "stream"), ("https://host/clip.mp4?sig=SECRET/x#y", "clip"), ("/a/what?.mp4", "what?"),
        ("/a/name.withalongending", "name.withalongending"), ("srt://127.0.0.1:9", "127.0.0.1:9"), ("http://host.tv/", "host.tv"),
    ])
    func aNameWithoutItsEnding(source: String, name: String) {
        #expect(PlaylistItem(source: source).plainName == name)
    }
}
