import KioskMedia
import KioskPlatform
import TestSupport
import Testing

@testable import KioskReaderProtocol

/// Simulates both ends in steps, in random order. Each step reads or changes the shared memory once.
///
/// The player wants some pictures, takes them, and returns them late and in any order. In between it takes sound.
/// A third thread rings the player's bell for messages. A sleeper does nothing until it is woken; if all sleep, a ring was lost.
private struct Interleaving {
    /// The state of a sleeper.
    private enum Place { case awake, saw(UInt32), looked(UInt32), said(UInt32), asleep, woken }

    /// The rest of a ring.
    private struct Ring {
        var bell: Bell, subjects: Bell.Subjects
        var hasAdded = false
    }

    private struct Side {
        var place = Place.awake
        /// Pending rings, in order.
        var rings: [Ring] = []
    }

    private let pair: Pair
    private var pictures: (player: PlayerPictures, reader: ReaderPictures)
    private var sound: (player: PlayerSound, reader: ReaderSound)
    private var player = Side(), reader = Side(), third = Side()
    private var random: Proof.Random
    /// Whether the ringer clears the owner's subjects.
    private let ringerTakesBack: Bool

    private var published = 0, written = 0
    private(set) var taken: [Int] = [], heard = 0
    /// Whether all sound heard so far equals the sound written.
    private(set) var isWhole = true
    private var shown: [Int] = []
    private var isOver = false
    private static let pictureCount = 100, chunk = 48

    init(seed: UInt64, ringerTakesBack: Bool = false) throws {
        pair = try Pair()
        (pictures, sound) = (pair.pictures, pair.sound)
        random = Proof.Random(seed: seed)
        self.ringerTakesBack = ringerTakesBack
    }

    /// Runs until everything has been shown and heard. Returns false if all sleep before that.
    mutating func run() throws -> Bool {
        while true {
            let isDone = isOver && shown.isEmpty && heard >= Self.pictureCount * Self.chunk
            if isDone { return true }
            var sides = [0, 1, 2].filter(canStep)
            // The third thread alone makes no progress.
            if sides == [2], third.rings.isEmpty { sides = [] }
            guard let side = sides.randomElement(using: &random) else { return false }
            switch side {
            case 0: try stepPlayer()
            case 1: stepReader()
            default: stepThird()
            }
        }
    }

    private func canStep(_ side: Int) -> Bool {
        switch side {
        case 0: if case .asleep = player.place { !player.rings.isEmpty } else { true }
        case 1: if case .asleep = reader.place { !reader.rings.isEmpty } else { true }
        default: true
        }
    }

    /// Makes one step of a ring. Returns false if no ring is pending.
    private mutating func ring(_ side: WritableKeyPath<Self, Side>) -> Bool {
        guard var ring = self[keyPath: side].rings.first else { return false }
        if !ring.hasAdded {
            ring.bell.add()
            ring.hasAdded = true
            self[keyPath: side].rings[0] = ring
            return true
        }
        self[keyPath: side].rings.removeFirst()
        guard ring.bell.isAwaited(ring.subjects) else { return true }
        if ringerTakesBack { ring.bell.say([]) }
        let owner = side == \Self.player ? \Self.reader : \Self.player
        if case .asleep = self[keyPath: owner].place { self[keyPath: owner].place = .woken }
        return true
    }

    /// Makes one step of a sleep. `look` does the pending work and returns whether there was any.
    private mutating func sleep(
        _ side: WritableKeyPath<Self, Side>, at bell: Bell, for subjects: Bell.Subjects, _ look: (inout Self) throws -> Bool
    ) rethrows {
        switch self[keyPath: side].place {
        case .awake: self[keyPath: side].place = .saw(bell.value)
        case .saw(let seen):
            let hasFound = try look(&self)
            self[keyPath: side].place = hasFound ? .awake : .looked(seen)
        case .looked(let seen):
            bell.say(subjects)
            self[keyPath: side].place = .said(seen)
        case .said(let seen): self[keyPath: side].place = bell.value == seen ? .asleep : .woken
        case .asleep: break
        case .woken:
            bell.say([])
            self[keyPath: side].place = .awake
        }
    }

    private mutating func stepPlayer() throws {
        if ring(\.player) { return }
        // The player returns pictures at any time, usually from another thread.
        if let slot = shown.randomElement(using: &random), shown.count > 3 || isOver || Int.random(in: 0..<8, using: &random) == 0 {
            shown.removeAll { $0 == slot }
            pictures.player.held.giveBackSilently(slot)
            player.rings.append(Ring(bell: pair.player.readerBell, subjects: .returns))
            return
        }
        let wantsSound = heard < (taken.count + (isOver ? 0 : 1)) * Self.chunk && heard < Self.pictureCount * Self.chunk
        if isOver, !wantsSound { return }
        try sleep(\.player, at: pair.player.playerBell, for: wantsSound ? .sound : .pictures) { my in
            if wantsSound {
                let ready = try my.sound.player.ready().frames
                guard ready >= Self.chunk else {
                    if my.sound.player.want(Self.chunk) {
                        my.player.rings.append(Ring(bell: my.pair.player.readerBell, subjects: .sound))
                    }
                    return false
                }
                var samples = [Float](repeating: 0, count: 2 * Self.chunk)
                let count = try samples.withUnsafeMutableBufferPointer { try my.sound.player.take(into: $0) }
                let heard = my.heard
                my.isWhole = my.isWhole && (0..<2 * count).allSatisfy { samples[$0] == Float((2 * heard + $0) % 9973) }
                my.heard += count
                return true
            }
            if let picture = try my.pictures.player.take() {
                my.taken.append(Int(picture.time.nanoseconds))
                my.shown.append(picture.slot)
                return true
            }
            my.isOver = my.pictures.player.isOver
            if my.isOver { return true }
            if my.pictures.player.want(Int.random(in: 1...3, using: &my.random)) {
                my.player.rings.append(Ring(bell: my.pair.player.readerBell, subjects: .pictures))
            }
            return false
        }
    }

    private mutating func stepReader() {
        if ring(\.reader) { return }
        sleep(\.reader, at: pair.reader.readerBell, for: [.pictures, .sound, .returns]) { my in
            if my.pictures.reader.takeReturn() != nil { return true }
            if my.sound.reader.isWanted {
                my.sound.reader.writeSilently { memory in
                    for index in memory.indices { memory[index] = Float((2 * my.written + index) % 9973) }
                    my.written += memory.count / 2
                    return memory.count / 2
                }
                my.reader.rings.append(Ring(bell: my.pair.reader.playerBell, subjects: .sound))
                return true
            }
            guard my.pictures.reader.isWanted else { return false }
            if my.published == Self.pictureCount {
                my.pictures.reader.endSilently()
            } else {
                guard let slot = my.pictures.reader.freeSlot else { return false }
                my.pictures.reader.publishSilently(Pair.picture(my.published, slot: slot))
                my.published += 1
            }
            my.reader.rings.append(Ring(bell: my.pair.reader.playerBell, subjects: .pictures))
            return true
        }
    }

    private mutating func stepThird() {
        if !ring(\.third) { third.rings.append(Ring(bell: pair.player.playerBell, subjects: .messages)) }
    }
}

@Suite struct BellTests {
    private static let seeds = 0..<UInt64(Proof.isThorough ? 5000 : 200)

    @Test func nothingIsLostOrDoubledWhateverComesFirst() throws {
        for seed in Self.seeds {
            var run = try Interleaving(seed: Proof.seed &* 1000 &+ seed)
            #expect(try run.run(), "a ring was lost: seed \(seed)")
            #expect(run.taken == Array(0..<100) && run.isWhole)
        }
    }

    /// A simpler bell loses rings, and this test detects that.
    @Test func aRingIsLostWhereWhoRingsTakesBack() throws {
        #expect(
            try (0 as UInt64..<400).contains { seed in
                var run = try Interleaving(seed: seed, ringerTakesBack: true)
                return try !run.run()
            })
    }

    /// Runs two threads through the kernel, each with its own mapping.
    @Test func twoThreadsHandEverythingOver() throws {
        let pair = try Pair()
        let count = Proof.isThorough ? 20_000 : 5000, frames = 200
        let reader = Thread("reader") {
            var (pictures, sound) = (ReaderPictures(pair.reader), ReaderSound(pair.reader))
            var sleeper = Sleeper(at: pair.reader.readerBell)
            var (published, written) = (0, 0)
            // The end of the pictures may be wanted before the sound of the last ones.
            while !pictures.isOver || written < 2 * frames * count {
                _ = sleeper.sleep(for: [.pictures, .sound, .returns]) { () -> Bool? in
                    while pictures.takeReturn() != nil {}
                    return sound.isWanted || pictures.isWanted && pictures.freeSlot != nil ? true : nil
                }
                while pictures.takeReturn() != nil {}
                if sound.isWanted {
                    sound.write { memory in
                        for index in memory.indices { memory[index] = Float((written + index) % 9973) }
                        written += memory.count
                        return memory.count / 2
                    }
                } else if published == count {
                    pictures.end()
                } else if let slot = pictures.freeSlot {
                    pictures.publish(Pair.picture(published, slot: slot))
                    published += 1
                }
            }
        }
        let result = Monitor<(taken: Int, wrong: Int, heard: Int, error: ReaderLie?)>((0, 0, 0, nil))
        let player = Thread("player") {
            var (pictures, sound) = (PlayerPictures(pair.player, Pair.rules), PlayerSound(pair.player))
            var sleeper = Sleeper(at: pair.player.playerBell, slice: .seconds(600))
            var (taken, wrong, heard) = (0, 0, 0)
            var samples = [Float](repeating: 0, count: 2 * frames)
            do throws(ReaderLie) {
                while !pictures.isOver {
                    if pictures.want(2) { pair.player.readerBell.ring(.pictures) }
                    let picture = try sleeper.sleep(for: .pictures) { () throws(ReaderLie) -> PictureRecord?? in
                        if let picture = try pictures.take() { return .some(picture) }
                        return pictures.isOver ? .some(nil) : nil
                    }
                    guard let picture = picture ?? nil else { break }
                    if picture.time.nanoseconds != Int64(taken) { wrong += 1 }
                    taken += 1
                    pictures.held.giveBack(picture.slot)
                    if sound.want(frames) { pair.player.readerBell.ring(.sound) }
                    _ = try sleeper.sleep(for: .sound) { () throws(ReaderLie) -> Bool? in try sound.ready().frames >= frames ? true : nil }
                    var lie: ReaderLie?
                    samples.withUnsafeMutableBufferPointer { buffer in
                        do throws(ReaderLie) { heard += try sound.take(into: buffer) } catch { lie = error }
                    }
                    if let lie { throw lie }
                    if samples[0] != Float((2 * (heard - frames)) % 9973) { wrong += 1 }
                }
                result.withLock { $0 = (taken, wrong, heard, nil) }
            } catch {
                let error = error
                result.withLock { $0.error = error }
            }
        }
        #expect(player.join(until: .now + .seconds(300)) && reader.join(until: .now + .seconds(60)))
        let end = result.withLock { $0 }
        #expect(end.taken == count && end.wrong == 0 && end.heard == count * frames && end.error == nil)
    }

    /// A deadline ends a sleep, and so does a ring that does not check the sleeper's subjects.
    @Test func aSleepEnds() throws {
        let pair = try Pair()
        var sleeper = Sleeper(at: pair.player.playerBell, slice: .milliseconds(100))
        var looks = 0
        let found = sleeper.sleep(for: .pictures, until: .now + .milliseconds(250)) { () -> Bool? in
            looks += 1
            return nil
        }
        #expect(found == nil && looks >= 2)
        // The reader overwrites the player's subjects.
        let isCancelled = Monitor(false)
        let thread = Thread("canceller") {
            while !pair.reader.playerBell.isAwaited(.pictures) {}
            pair.reader.playerBell.say([])
            isCancelled.withLock { $0 = true }
            pair.player.playerBell.ring(.messages, always: true)
        }
        var patient = Sleeper(at: pair.player.playerBell, slice: .seconds(600))
        #expect(patient.sleep(for: .pictures) { () -> Bool? in isCancelled.withLock { $0 } ? true : nil } == true)
        #expect(thread.join(until: .now + .seconds(60)))
    }
}
