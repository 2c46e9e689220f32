import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import TestSupport
import Testing

@testable import KioskReaderProtocol

/// Two mappings of one file, as the player and its reader have them.
struct Pair {
    let player: ControlPage, reader: ControlPage

    init(channelCount: Int = 2) throws {
        guard let file = ControlPage.makeFile(ControlLayout(channelCount: channelCount)), let player = ControlPage(mapping: file),
            let reader = ControlPage(mapping: file)
        else { throw SystemError() }
        (self.player, self.reader) = (player, reader)
    }

    static let rules = PictureRules(arenaBytes: 1 << 20, pictureMemory: 1 << 20)

    var pictures: (player: PlayerPictures, reader: ReaderPictures) { (PlayerPictures(player, Self.rules), ReaderPictures(reader)) }
    var sound: (player: PlayerSound, reader: ReaderSound) { (PlayerSound(player), ReaderSound(reader)) }

    /// Returns a picture whose time is its number.
    static func picture(_ number: Int, slot: Int) -> PictureRecord {
        var picture = PictureRecord(format: AV_PIX_FMT_GRAY8.rawValue, width: 16, height: 16)
        (picture.slot, picture.strides, picture.time) = (slot, [16, 0, 0, 0], MediaTime(nanoseconds: Int64(number)))
        return picture
    }
}

@Suite struct ControlPageTests {
    @Test func aPageIsAFileOfItsSize() throws {
        for channels in 1...8 {
            let layout = ControlLayout(channelCount: channels)
            #expect(layout.byteCount.isMultiple(of: 4096) && ControlLayout(byteCount: layout.byteCount) == layout)
            #expect(ControlLayout(byteCount: layout.byteCount + 1) == nil && ControlLayout(byteCount: layout.byteCount - 1) == nil)
        }
        for count in [0, -1, 4096, 16384, 16384 + 9 * 65536, .max, .min] { #expect(ControlLayout(byteCount: count) == nil) }
        guard let file = Descriptor(opening: "/proc/self/exe") else { throw SystemError() }
        #expect(ControlPage(mapping: file) == nil)
    }

    /// The words, and the areas behind them, do not overlap.
    @Test func placesAreApart() {
        let places = ControlPage.Word.allCases.map(\.rawValue)
        #expect(Set(places).count == places.count && places.allSatisfy { $0.isMultiple(of: 4) })
        #expect(places.max()! + 8 + 8 * GaugeWords(repeating: 0).count <= ControlLayout.sandbox)
        #expect(ControlLayout.sandbox + ControlLayout.sandboxBytes <= ControlLayout.records)
        #expect(ControlLayout.records + ControlLayout.pictureCount * RawPicture.byteCount <= ControlLayout.returns)
        #expect(ControlLayout.returns + ControlLayout.pictureCount * 4 <= ControlLayout.sound)
        // Only one side writes each cache line.
        func lines(_ words: [ControlPage.Word]) -> Set<Int> { Set(words.map { $0.rawValue / 64 }) }
        let reader = lines([.pictures, .sound, .soundIsOver, .activity, .progress, .readerWaits, .gauges])
        let player = lines([.picturesTaken, .picturesWanted, .soundTaken, .soundWanted, .returns, .playerWaits])
        #expect(reader.isDisjoint(with: player) && reader.union(player).isDisjoint(with: lines([.playerBell, .readerBell])))
    }

    @Test func gaugesCross() throws {
        let pair = try Pair()
        var gauges = ReaderGauges(LoadedMedia(until: .seconds(3), isWhole: true, speed: 1.5, goal: .seconds(1)))
        gauges.reception = Reception(receivedUntil: .seconds(4), goal: .seconds(2), gaps: 7)
        gauges.soundEnd = .seconds(5)
        #expect(pair.player.gauges == ReaderGauges(LoadedMedia(until: .zero)))
        pair.reader.show(gauges)
        #expect(pair.player.gauges == gauges)
        let few = ReaderGauges(LoadedMedia(until: .seconds(1)))
        pair.reader.show(few)
        #expect(pair.player.gauges == few)
        // A reader that stops or exits during an update.
        pair.reader.writeGaugeWords(GaugeWords(repeating: .max))
        #expect(pair.player.gauges == few)
        pair.reader.show(gauges)
        #expect(pair.player.gauges == gauges)
        // Random words.
        var random = Proof.Random()
        for _ in 0..<10_000 {
            var words = GaugeWords(repeating: 0)
            for index in words.indices { words[index] = random.next() }
            pair.reader.writeGaugeWords(words)
            pair.reader.showGaugeWords()
            let read = try #require(pair.player.gauges)
            #expect(read.loaded.until.nanoseconds.magnitude <= MediaTime.longestPlausible.nanoseconds.magnitude)
            #expect(read.loaded.speed.map { 0...1e6 ~= $0 } ?? true && read.reception.map { $0.gaps >= 0 && $0.goal >= .zero } ?? true)
        }
    }

    @Test func activityAndProgressCross() throws {
        let pair = try Pair()
        pair.reader.activity = .reading
        pair.reader.advance()
        pair.reader.advance()
        #expect(pair.player.activity == .reading && pair.player.progress == 2)
        pair.reader.store(.activity, 1000)
        #expect(pair.player.activity == .decoding)
    }
}

@Suite struct PictureRingTests {
    @Test func picturesGoRound() throws {
        var (player, reader) = try Pair().pictures
        let none = try player.take()
        #expect(!reader.isWanted && none == nil)
        player.want(2)
        for number in 0..<2 {
            #expect(reader.isWanted)
            let slot = try #require(reader.freeSlot)
            reader.publish(Pair.picture(number, slot: slot))
        }
        #expect(!reader.isWanted)
        let first = try #require(try player.take()), second = try #require(try player.take())
        let third = try player.take()
        #expect(first.time.nanoseconds == 0 && second.time.nanoseconds == 1 && third == nil)
        #expect(player.held.count == 2 && reader.takeReturn() == nil)
        player.held.giveBack(second.slot)
        player.held.giveBack(second.slot)
        player.held.giveBack(99)
        player.held.giveBack(-1)
        #expect(reader.takeReturn() == second.slot && reader.takeReturn() == nil && player.held.count == 1)
        player.want(9)
        reader.end()
        let end = try player.take(), beyond = try player.take()
        #expect(!reader.isWanted && end == nil && player.isOver && beyond == nil)
        reader.restart()
        #expect(reader.isWanted)
    }

    @Test func whatLiesBeforeALandingIsLeftOut() throws {
        var (player, reader) = try Pair().pictures
        player.want(10)
        for number in 0..<5 { reader.publish(Pair.picture(number, slot: number)) }
        reader.end()
        let cursor = reader.count
        reader.restart()
        reader.publish(Pair.picture(100, slot: 5))
        _ = try player.take()
        for beyond in [cursor &+ 2, 0, 1 << 31, .max] {
            var copy = player
            #expect(throws: ReaderLie.self) { try copy.skip(to: beyond) }
        }
        try player.skip(to: cursor)
        #expect(player.held.count == 1 && !player.isOver)
        #expect(try player.take()?.time.nanoseconds == 100)
        #expect((0..<9).compactMap { _ in reader.takeReturn() } == [1, 2, 3, 4])
        // A skip takes back the end of the pictures.
        reader.end()
        #expect(try player.take() == nil && player.isOver)
        try player.skip(to: reader.count)
        #expect(!player.isOver)
    }

    @Test func liesAreSeen() throws {
        let pair = try Pair()
        var (player, reader) = pair.pictures
        for ahead: UInt32 in [65, 1000, 1 << 31, .max] {
            pair.reader.store(.pictures, ahead)
            #expect(throws: ReaderLie.cursor("pictures", ahead)) { try player.take() }
        }
        pair.reader.store(.pictures, 0)
        var raw = RawPicture.end
        raw[RawPicture.kind] = 2
        reader.publish(raw)
        #expect(throws: ReaderLie.kind(2)) { try player.take() }
        // The slot of a picture that the player still holds.
        (player, reader) = try Pair().pictures
        reader.publish(Pair.picture(0, slot: 7))
        reader.publish(Pair.picture(1, slot: 7))
        let first = try player.take()
        #expect(first != nil)
        #expect(throws: ReaderLie.slot(7)) { try player.take() }
    }

    @Test func countsWrapAround() throws {
        let pair = try Pair()
        var (player, reader) = pair.pictures
        let begin = UInt32.max - 10
        // The counters are about to wrap, after 2^32 pictures.
        pair.reader.store(.pictures, begin)
        player = PlayerPictures(pair.player, Pair.rules, from: begin)
        reader = ReaderPictures(pair.reader, from: begin)
        for number in 0..<100 {
            player.want(1)
            #expect(reader.isWanted)
            reader.publish(Pair.picture(number, slot: try #require(reader.freeSlot)))
            let picture = try #require(try player.take())
            #expect(picture.time.nanoseconds == Int64(number) && !reader.isWanted)
            player.held.giveBack(picture.slot)
            #expect(reader.takeReturn() == picture.slot)
        }
    }
}

@Suite struct SoundRingTests {
    @Test func soundGoesRound() throws {
        let pair = try Pair(channelCount: 3)
        var (player, reader) = pair.sound
        var random = Proof.Random()
        var (written, read) = (0, 0)
        var samples = [Float](repeating: 0, count: 3 * 20_000)
        for _ in 0..<100 {
            player.want(Int.random(in: 0...20_000, using: &random))
            while reader.isWanted {
                reader.write { memory in
                    for index in memory.indices { memory[index] = Float((written + index) % 65_521) }
                    written += memory.count
                    return memory.count / 3
                }
            }
            let wanted = Int.random(in: 0...20_000, using: &random)
            let count = try samples[..<(3 * wanted)].withUnsafeMutableBufferPointer { try player.take(into: $0) }
            #expect(samples[..<(3 * count)].enumerated().allSatisfy { $1 == Float((read + $0) % 65_521) })
            read += 3 * count
        }
        #expect(read > 100_000 && written - read <= 3 * ControlLayout.soundFrames)
    }

    @Test func soundEndsAndBeginsAnew() throws {
        var (player, reader) = try Pair().sound
        player.want(100)
        reader.write { memory in
            memory.update(repeating: 0.5)
            memory[3] = .nan
            memory[4] = -.infinity
            return 60
        }
        #expect(reader.isOver && !reader.isWanted)
        let ready = try player.ready()
        #expect(try ready == (60, true) && !player.isOver())
        var samples = [Float](repeating: 1, count: 200)
        #expect(try samples.withUnsafeMutableBufferPointer { try player.take(into: $0) } == 60)
        #expect(try player.isOver())
        #expect(samples[..<6] == [0.5, 0.5, 0.5, 0, 0, 0.5] && samples[120] == 1)
        reader.restart()
        player.want(10)
        #expect(reader.isWanted)
        reader.write { $0.count / 2 }
        let again = try player.ready()
        #expect(try again == (10, false) && !player.isOver())
        let cursor = reader.count
        #expect(throws: ReaderLie.self) {
            var copy = player
            try copy.skip(to: cursor &+ 1)
        }
        try player.skip(to: cursor)
        #expect(try player.ready().frames == 0)
    }

    @Test func liesAreSeen() throws {
        let pair = try Pair()
        let player = pair.sound.player
        for ahead: UInt32 in [16385, 1 << 31, .max] {
            pair.reader.store(.sound, ahead)
            #expect(throws: ReaderLie.cursor("sound", ahead)) { try player.ready() }
        }
    }
}
