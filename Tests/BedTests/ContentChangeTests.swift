import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Random changes of folder, list and kiosk.conf while the player runs.
    @Suite struct ContentChanges {
        /// $KIOSK_CHANGES sets the number of changes (60 by default), $KIOSK_SEED their order.
        @Test func `whatever changes, seams are clean and nothing unfinished is played`() async throws {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["KIOSK_CHANGES"].flatMap { Int($0) } ?? 60
            let seed = Proof.seed
            print("KIOSK_SEED=\(seed) KIOSK_CHANGES=\(count)")
            let clips = try ["404060", "604040", "406040", "606040", "604060", "406060", "505050", "707040", "ff0000"].enumerated().map {
                try BedGallery.plain("change-\($0)", "0x\($1)", size: "320x240", frames: 15, from: 1 + 1000 * $0)
            }
            let folder = NSTemporaryDirectory() + "kiosk-changes-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let script = try ContentChangeScript(seed: seed, changes: count, clips: clips, in: folder)
            let machine = Machine {
                ($0.time, $0.mode, $0.recordsSound) = (.free, Machine.Mode(width: 640, height: 480), count <= 200)
            }
            // The player logs a second change within a minute at debug level only.
            let command = [try Bed.player(), "--config", folder + "/kiosk.conf", "--log-level", "debug"]
            let record = try await Bed.run(
                "changes", for: .seconds(script.end), playing: clips, .command(command), on: machine
            ) { at in for (time, line) in script.lines { at(time, .shell(line)) } }
            let told = record.log.map { "\(($0.time / .seconds(1) * 100).rounded() / 100) \($0.text)" }.joined(separator: "\n")
            let about: Comment = "KIOSK_SEED=\(seed) KIOSK_CHANGES=\(count)"

            // The numbers of a turned picture cannot be read.
            let turned = script.turned
            func isRead(_ from: Duration, _ to: Duration) -> Bool {
                !turned.contains { from < .seconds($0.upperBound + 0.5) && to > .seconds($0.lowerBound - 0.1) }
            }
            let seams = record.seams.filter { isRead($0.last.time, $0.first.time + .milliseconds(100)) }
            #expect(seams.count > Int(script.end) && seams.filter { !$0.isClean } == [], about)
            #expect(record.wrongHolds.filter { isRead($0.time - .milliseconds(100), $0.time + .milliseconds(100)) } == [], about)
            if let sound = record.sound { #expect(sound.holes == [], about) }
            #expect(record.statistics?.worstSeam == 0 && record.statistics?.dropped == 0, about)

            // A clip may be seen only while a complete file holds it, and up to 2.5 s later: its item may be ready by then.
            let wrong = record.frames.filter { frame in
                !script.complete[frame.number / 1000].contains {
                    .seconds($0.lowerBound) <= frame.time && frame.time <= .seconds($0.upperBound + 2.5)
                }
            }
            #expect(wrong == [], "\(about), \(told)")
            let shown = Set(record.frames.filter { $0.time > .seconds(script.end - 6) }.map { $0.number / 1000 })
            #expect(shown == script.playing, "\(about), \(told)")

            for said in script.said {
                let isSaid = record.log.contains { line in
                    line.time >= .seconds(said.time) && line.time <= .seconds(said.time + said.within)
                        && said.words.allSatisfy(line.text.contains)
                }
                #expect(isSaid, "\(said), \(about), \(told)")
            }

            let samples = record.usage.samples.filter { $0.time > .seconds(30) }
            try #require(samples.count >= 9)
            let (first, last) = (samples.prefix(samples.count / 3), samples.suffix(samples.count / 3))
            func grown(_ path: KeyPath<Record.Usage.Sample, Int>) -> Int {
                median(last.map { $0[keyPath: path] }) - median(first.map { $0[keyPath: path] })
            }
            let figures: Comment = "\(about), \(samples.map { ($0.residentMemory >> 10, $0.threads, $0.descriptors) })"
            print("grown by \(grown(\.residentMemory) >> 10) KB, \(grown(\.descriptors)) descriptors, \(grown(\.threads)) threads")
            #expect(grown(\.residentMemory) < 2 << 20, figures)
            // The number of open files depends on the playlist of the moment.
            #expect(grown(\.descriptors) <= 2 && grown(\.threads) <= 2, figures)
            #expect(record.status == 0)
        }

        private func median(_ values: [Int]) -> Int { values.sorted()[values.count / 2] }
    }
}

/// Random changes, as lines of shell with their times, and their expected effects.
struct ContentChangeScript {
    /// Words that the log must have within `within` seconds.
    struct Said {
        var time: Double, within = 3.0
        var words: [String]
    }

    private(set) var lines: [(Double, String)] = []
    private(set) var said: [Said] = []
    /// For each clip, the times when a complete file held it.
    private(set) var complete: [[ClosedRange<Double>]]
    /// The times when the picture was upside down.
    private(set) var turned: [ClosedRange<Double>] = []
    /// The time of the next change; after the last one, the time when the player has to end.
    private(set) var end = 4.0
    /// The clips on the playlist at the end.
    var playing: Set<Int> { Set(files.values).union(list) }

    private let clips: [NumberedClip]
    private let folder: String
    private var state: UInt64
    /// The clips of the folder, by file name.
    private var files: [String: Int] = ["v0.mp4": 0]
    private var list: Set<Int> = [5]
    /// For each clip in a complete file, the time since when it is complete.
    private var since: [Int: Double] = [0: 0, 5: 0]
    private var settings = Settings()
    private var named = 0

    private struct Settings {
        var loop = "playlist", gravity = "fit", volume = 80, rotation = 0, shuffles = false
    }

    /// Draws `changes` changes and makes `folder`. Only incomplete files hold the last of `clips`; the list holds clips from 5 on.
    init(seed: UInt64, changes: Int, clips: [NumberedClip], in folder: String) throws {
        (self.clips, self.folder, state) = (clips, folder, seed)
        complete = Array(repeating: [], count: clips.count)
        try FileManager.default.createDirectory(atPath: folder + "/media", withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: clips[0].path, toPath: folder + "/media/v0.mp4")
        try Data(listText.utf8).write(to: URL(fileURLWithPath: folder + "/list.m3u"))
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/kiosk.conf"))
        for _ in 0..<changes {
            switch draw(16) {
            case 0, 1: add()
            case 2: addSlowly()
            case 3, 4: remove()
            case 5: replace()
            case 6: addUnfinished()
            case 7: cutOff()
            case 8, 9, 10: changeList()
            case 11: turn()
            case 12: breakConfiguration()
            default: changeConfiguration()
            }
        }
        // Show the whole playlist at the end.
        (settings.loop, settings.shuffles) = ("playlist", false)
        save()
        end += 10
        for (clip, time) in since { complete[clip].append(time...end) }
    }

    private mutating func draw(_ count: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(count))
    }

    private mutating func draw<Element>(of elements: [Element]) -> Element? { elements.isEmpty ? nil : elements[draw(elements.count)] }

    private mutating func name(_ prefix: String) -> String {
        named += 1
        return "\(prefix)\(named).mp4"
    }

    // MARK: The folder

    private var spare: [Int] { (0..<5).filter { !files.values.contains($0) } }

    private mutating func put(_ clip: Int, in name: String) {
        lines.append((end, "cp \(clips[clip].path) \(folder)/media/.new && mv \(folder)/media/.new \(folder)/media/\(name)"))
        (files[name], since[clip]) = (clip, end)
    }

    private mutating func take(_ clip: Int) { complete[clip].append(since.removeValue(forKey: clip)!...end) }

    private mutating func add() {
        guard let clip = draw(of: spare) else { return remove() }
        let name = name("v")
        put(clip, in: name)
        said.append(Said(time: end, words: ["the playlist has changed: ", "new: ", name]))
        end += 2
    }

    /// Writes a file in four pieces, half a second apart. It must not play before the last piece.
    private mutating func addSlowly() {
        guard let clip = draw(of: spare) else { return remove() }
        let (name, path) = (name("v"), clips[clip].path)
        let size = ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int ?? 0) / 4
        let pieces = (0..<4).map { "tail -c +\(size * $0 + 1) \(path)" + ($0 < 3 ? " | head -c \(size); sleep 0.5" : "") }
        lines.append((end, "{ \(pieces.joined(separator: "; ")); } > \(folder)/media/\(name)"))
        (files[name], since[clip]) = (clip, end + 1.5)
        said.append(Said(time: end + 1.5, words: ["the playlist has changed: ", "new: ", name]))
        end += 4
    }

    private mutating func remove() {
        guard files.count > 1, let name = draw(of: files.keys.sorted()), let clip = files.removeValue(forKey: name) else {
            return changeList()
        }
        lines.append((end, "rm \(folder)/media/\(name)"))
        take(clip)
        said.append(Said(time: end, words: ["the playlist has changed: ", "gone: ", name]))
        end += 2
    }

    private mutating func replace() {
        guard let name = draw(of: files.keys.sorted()), let clip = draw(of: spare) else { return changeList() }
        take(files[name]!)
        put(clip, in: name)
        said.append(Said(time: end, words: ["the playlist has changed: ", "changed: ", name]))
        end += 2
    }

    /// Adds an unfinished download: a name that the player ignores, or a file that stays open until it is deleted.
    private mutating func addUnfinished() {
        let path = clips[clips.count - 1].path
        if draw(2) == 0 {
            lines.append((end, "cp \(path) \(folder)/media/\(name("u")).part"))
        } else {
            let name = name("u")
            lines.append((end, "{ cat \(path); sleep 1.4; } > \(folder)/media/\(name); rm \(folder)/media/\(name)"))
        }
        end += 2
    }

    private mutating func cutOff() {
        let name = name("c")
        let path = "\(folder)/media/\(name)"
        lines.append((end, "head -c 2000 \(clips[clips.count - 1].path) > \(folder)/.cut && mv \(folder)/.cut \(path)"))
        said.append(Said(time: end, words: ["\(name) is left out: "]))
        lines.append((end + 1.8, "rm \(path)"))
        end += 2.5
    }

    // MARK: The list

    private var listText: String { list.sorted().map { clips[$0].path + "\n" }.joined() }

    /// Selects other clips, and either moves the new list into place, as an editor does, or overwrites it.
    private mutating func changeList() {
        let before = list
        while list == before || list.isEmpty { list = Set((5..<8).filter { _ in draw(2) == 0 }) }
        let text = listText.split(separator: "\n").map { "'\($0)'" }.joined(separator: " ")
        let isMoved = draw(2) == 0
        lines.append(
            (
                end, "printf '%s\\n' \(text) > \(folder)/\(isMoved ? ".list && mv \(folder)/.list \(folder)/" : "")list.m3u"
            ))
        func names(_ clips: Set<Int>) -> [String] { clips.map { String(self.clips[$0].path.split(separator: "/").last!) } }
        for clip in before.subtracting(list) { take(clip) }
        for clip in list.subtracting(before) { since[clip] = end }
        said.append(
            Said(time: end, words: ["the playlist has changed: "] + names(list.symmetricDifference(before))))
        end += 2
    }

    // MARK: kiosk.conf

    private var configuration: String {
        """
        [display]
        mode = "640x480"
        gravity = "\(settings.gravity)"
        rotation = \(settings.rotation)
        [audio]
        device = "hw:Loopback,0,0"
        volume = \(settings.volume)
        [playback]
        loop = "\(settings.loop)"
        shuffle = \(settings.shuffles)
        [control]
        socket = "off"
        [[playlist]]
        source = "media"
        [[playlist]]
        source = "list.m3u"

        """
    }

    private mutating func save(_ text: String? = nil) {
        let isMoved = draw(2) == 0
        let to = isMoved ? "\(folder)/kiosk.conf.new && mv \(folder)/kiosk.conf.new \(folder)/kiosk.conf" : "\(folder)/kiosk.conf"
        let words = (text ?? configuration).split(separator: "\n").map { "'\($0)'" }.joined(separator: " ")
        lines.append((end, "printf '%s\\n' \(words) > \(to)"))
    }

    private mutating func changeConfiguration() {
        let key: String
        switch draw(4) {
        case 0: (settings.loop, key) = (settings.loop == "item" ? "playlist" : "item", "[playback] loop")
        case 1: (settings.volume, key) = (settings.volume == 80 ? 40 : 80, "[audio] volume")
        case 2: (settings.shuffles, key) = (!settings.shuffles, "[playback] shuffle")
        default: (settings.gravity, key) = (settings.gravity == "fit" ? "fill" : "fit", "[display] gravity")
        }
        save()
        said.append(Said(time: end, words: ["kiosk.conf was read again: ", key]))
        end += 2
    }

    /// Turns the picture upside down, and back.
    private mutating func turn() {
        let begin = end
        for rotation in [180, 0] {
            settings.rotation = rotation
            save()
            said.append(Said(time: end, words: ["kiosk.conf was read again: ", "[display] rotation"]))
            end += 1.5
        }
        turned.append(begin...begin + 1.5)
    }

    /// Saves a mistake, and corrects it.
    private mutating func breakConfiguration() {
        let mistake = ["[display", "volume = 80", "[audio]\nvolume = 101", "[nonsense]\nkey = 1"][draw(4)]
        save(mistake + "\n" + configuration)
        said.append(Said(time: end, words: ["kiosk.conf is not applied: kiosk keeps the old settings"]))
        end += 1.5
        save()
        end += 1
    }
}
