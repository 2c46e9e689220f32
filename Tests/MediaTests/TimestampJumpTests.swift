import KioskMedia
import KioskPlatform
import TestSupport
import Testing

/// Files whose timestamps jump by mistake, and files with intended gaps.
@Suite struct TimestampJumpTests {
    private struct Contents {
        var numbers: [Int] = [], times: [Double] = [], ends: [Double] = []
        var samples: [Float] = []
        var problems: [String] = []

        /// The longest silence in the sound, in seconds.
        var longestSilence: Double { Double(samples.split(whereSeparator: { abs($0) > 1e-3 }).map(\.count).max() ?? 0) / 48000 }
    }

    /// Reads a whole file as the player does: the sound along with the pictures.
    private func read(_ path: String, sound: Bool = true) throws -> Contents {
        var reader = try MediaReader.open(path, samples: sound ? AudioFormat(sampleRate: 48000, channelCount: 2) : nil)
        var contents = Contents()
        var chunk = [Float](repeating: 0, count: 2 * 1600)
        func listen(to reader: inout MediaReader) -> Int {
            let frames = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            for frame in 0..<frames { contents.samples.append(chunk[2 * frame]) }
            return frames
        }
        while let frame = reader.nextFrame() {
            contents.numbers.append(burnedInNumber(frame.frame))
            contents.times.append(frame.time.seconds)
            contents.ends.append((frame.time + frame.duration).seconds)
            if sound { _ = listen(to: &reader) }
        }
        while sound, contents.samples.count < 200 * 48000, listen(to: &reader) > 0 {}
        contents.problems = reader.problems
        return contents
    }

    private func expect(_ damaged: Contents, isLike healthy: Contents, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(damaged.numbers == healthy.numbers, sourceLocation: sourceLocation)
        let worst = zip(damaged.times, healthy.times).map { abs($0 - $1) }.max() ?? 0
        #expect(worst < 0.1, "a picture is \(worst) s off", sourceLocation: sourceLocation)
        #expect(abs((damaged.ends.last ?? 0) - (healthy.ends.last ?? 0)) < 0.1, sourceLocation: sourceLocation)
        #expect(abs(damaged.samples.count - healthy.samples.count) < 9600, sourceLocation: sourceLocation)
        #expect(damaged.longestSilence < 0.1, sourceLocation: sourceLocation)
        #expect(healthy.problems == [], sourceLocation: sourceLocation)
        #expect(
            damaged.problems.count == 1 && damaged.problems[0].hasPrefix("its timestamps jump"), "\(damaged.problems)",
            sourceLocation: sourceLocation)
    }

    @Test("What goes on in another track is not missing without a word") func otherTracks() throws {
        let first = try Clips.numbered("tracks-1.ts", frames: 60)
        let second = try Clips.numbered(
            "tracks-2.ts", frames: 60, from: 61,
            extra: ["-output_ts_offset", "2", "-mpegts_start_pid", "0x200", "-mpegts_pmt_start_pid", "0x1100"])
        let contents = try read(Clips.file("tracks.ts", Clips.bytes(first) + Clips.bytes(second)))
        #expect(contents.numbers == Array(1...60))
        #expect(
            contents.problems.contains {
                $0.hasPrefix("its pictures go on in another track, which kiosk does not play")
                    && $0.hasSuffix("join them again (ffmpeg -f concat)")
            }, "\(contents.problems)")
    }

    /// Makes a clip of 24 seconds in clusters of one second.
    private static func clusters() throws -> String {
        try Clips.numbered("clusters.mkv", frames: 720, size: "256x64", extra: ["-bf", "2", "-g", "30", "-cluster_time_limit", "1000"])
    }

    /// A new time for one cluster, in milliseconds: far beyond the end, a little beyond it, or within the file. Within the file, only the
    /// return to regular times reveals the jump.
    @Test(arguments: [(3, 65535), (30, 65535), (12, 27000), (8, 22000), (9, 21000)]) func theTimeOfACluster(
        _ number: Int, _ time: Int
    ) throws {
        let path = try Self.clusters()
        var bytes = try Clips.bytes(path)
        let clusters = bytes.indices.dropLast(16).filter { bytes[$0..<$0 + 4].elementsEqual([0x1F, 0x43, 0xB6, 0x75]) }
        let place = try #require(bytes[clusters[number]...].dropFirst(4).firstIndex(of: 0xE7))
        try #require(bytes[place + 1] == 0x82, "two bytes")
        (bytes[place + 2], bytes[place + 3]) = (UInt8(time >> 8), UInt8(time & 255))
        let damaged = try read(Clips.file("cluster-\(number)-\(time).mkv", bytes))
        expect(damaged, isLike: try read(path))
    }

    /// Reads the pictures only.
    @Test func theTimeOfAClusterWithoutSound() throws {
        var bytes = try Clips.bytes(Self.clusters())
        let clusters = bytes.indices.dropLast(16).filter { bytes[$0..<$0 + 4].elementsEqual([0x1F, 0x43, 0xB6, 0x75]) }
        let place = try #require(bytes[clusters[10]...].dropFirst(4).firstIndex(of: 0xE7))
        bytes[place + 2] = 0xFF
        let damaged = try read(Clips.file("cluster-mute.mkv", bytes), sound: false)
        #expect(damaged.numbers == Array(1...720) && abs(damaged.ends.last! - 24) < 0.1)
        #expect(zip(damaged.times, damaged.times.dropFirst()).allSatisfy { $1 - $0 < 0.1 })
    }

    /// The top byte of one tag's timestamp: a jump of three weeks.
    @Test(arguments: [(9, 40), (8, 60), (9, 2)]) func oneTagOfAFlashVideo(_ kind: UInt8, _ number: Int) throws {
        let path = try Clips.numbered("tags.flv", frames: 120, size: "256x64", extra: ["-bf", "2", "-ar", "48000"])
        var bytes = try Clips.bytes(path)
        var (place, count) = (13, 0)
        while count < number || bytes[place] != kind {
            if bytes[place] == kind { count += 1 }
            place += 15 + Int(bytes[place + 1]) << 16 + Int(bytes[place + 2]) << 8 + Int(bytes[place + 3])
        }
        bytes[place + 7] = 0x70
        expect(try read(Clips.file("tags-\(kind)-\(number).flv", bytes)), isLike: try read(path))
    }

    /// One entry of an MP4's timing tables: the time a frame takes to decode, or waits for presentation. The edit list ends long before.
    @Test(arguments: [("stts", 1, 1 << 23), ("stts", 1, 0x7F00_0000), ("ctts", 5, 1 << 23)]) func anEntryOfAnMP4(
        table: String, entry: Int, value: Int32
    ) throws {
        let path = try Clips.numbered(
            "tables.mp4", frames: 60, size: "256x64",
            extra: ["-bf", "2", "-bsf:v", "setts=pts=PTS+gte(N\\,20)*512:dts=DTS+gte(N\\,20)*512"])
        var bytes = try Clips.bytes(path)
        let place = try #require(bytes.firstIndex(of: Array(table.utf8))) + 16 + 8 * entry
        bytes.replace(at: place, with: value.bigEndian)
        let (damaged, healthy) = (try read(Clips.file("\(table)-\(entry)-\(value).mp4", bytes)), try read(path))
        #expect(damaged.numbers == healthy.numbers)
        #expect(damaged.ends.last ?? .infinity < 2 * healthy.ends.last!, "\(damaged.ends)")
        #expect(damaged.problems.count == 1 && damaged.problems[0].hasPrefix("its timestamps jump"), "\(damaged.problems)")
    }

    // MARK: Intended gaps

    /// Seconds 0 to 1 and 3 to 4 of a clip, from edit lists with two edits, as video editors write them.
    @Test func twoEdits() throws {
        let path = try Clips.numbered("edits.mp4", frames: 120, size: "256x64", extra: ["-bf", "2", "-g", "30"])
        var bytes = try Clips.bytes(path)
        func number(_ place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        func places(_ type: String) -> [Int] { bytes.indices.dropLast(4).filter { bytes[$0..<$0 + 4].elementsEqual(type.utf8) } }
        let (film, tracks) = (try #require(places("moov").last), places("trak"))
        for (list, track) in zip(places("elst"), tracks).reversed() {
            try #require(number(list + 8) == 1 && number(list - 12) == number(list - 4) + 8 && film < track)
            let scale = number(try #require(places("mdhd").first { $0 > list }) + 16)
            let second = [1000, number(list + 16) + 3 * scale].flatMap { value in
                (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
            }
            bytes.replace(at: list + 8, with: Int32(2).bigEndian)
            bytes.replace(at: list + 12, with: Int32(1000).bigEndian)
            bytes.insert(contentsOf: second + [0, 1, 0, 0], at: list + 24)
            for box in [list - 4, list - 12, track - 4, film - 4] { bytes.replace(at: box, with: Int32(number(box) + 12).bigEndian) }
        }
        let shown = try read(Clips.file("two-edits.mp4", bytes))
        #expect(shown.problems == [])
        #expect(shown.numbers == Array(1...30) + Array(91...120))
        #expect(zip(shown.times, shown.times.dropFirst()).allSatisfy { abs($1 - $0 - 1 / 30.0) < 0.001 }, "\(shown.times)")
        #expect(abs(shown.samples.count - 96000) < 2400 && shown.longestSilence < 0.1, "\(shown.samples.count)")
    }

    @Test(arguments: ["slides.mkv", "slides.mp4", "slides.webm", "slides.avi"]) func slides(name: String) throws {
        let codec =
            name.hasSuffix("webm")
            ? ["-c:v", "libvpx-vp9", "-deadline", "realtime"] : ["-c:v", "libx264", "-bf", "2", "-pix_fmt", "yuv420p"]
        let path = try Clips.make(name, ["-f", "lavfi", "-i", "testsrc2=s=256x64:r=1/30:d=150"] + codec)
        let slides = try read(path)
        #expect(slides.times.map { ($0 * 10).rounded() / 10 } == [0, 30, 60, 90, 120] && slides.problems == [])
    }

    /// A screen recording in which nothing moves for a minute; also without a duration, as browsers record it.
    @Test(arguments: [[], ["-live", "1"]]) func aScreenOnWhichNothingMoves(extra: [String]) throws {
        let path = try Clips.make(
            "screen-\(extra.count).mkv",
            [
                "-f", "lavfi", "-i", "testsrc2=s=256x64:r=10:d=75,select='lt(t,2)+gt(t,60)'", "-fps_mode", "vfr", "-c:v", "libx264", "-bf",
                "2",
            ] + extra)
        let screen = try read(path)
        let gap = zip(screen.times, screen.times.dropFirst()).map { $1 - $0 }.max() ?? 0
        #expect(abs(gap - 58.2) < 0.5 && screen.problems == [], "\(gap) \(screen.problems)")
    }

    @Test func aSlowAnimation() throws {
        let path = try Clips.make("slow.gif", ["-f", "lavfi", "-i", "testsrc2=s=256x64:r=1/20:d=60"])
        #expect(try read(path).times.map { $0.rounded() } == [0, 20, 40])
    }

    @Test(arguments: ["late.mkv", "late.mp4"]) func soundThatBeginsLateAndPauses(name: String) throws {
        let path = try Clips.make(
            name,
            [
                "-f", "lavfi", "-i", "testsrc2=s=256x64:r=10:d=60", "-f", "lavfi", "-i",
                "aevalsrc=0.5:s=48000:d=50,aselect='lt(t,1)+gt(t,20)'",
            ]
                + ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-af", "asetpts=PTS+5/TB", "-c:a", "flac", "-strict", "-2"])
        let late = try read(path)
        let sounding = late.samples.indices.filter { abs(late.samples[$0]) > 0.25 }
        #expect(abs(Double(sounding.first ?? 0) / 48000 - 5) < 0.1 && late.problems == [])
        let gap = zip(sounding, sounding.dropFirst()).map { $1 - $0 }.max() ?? 0
        #expect(abs(Double(gap) / 48000 - 19) < 0.2, "\(gap)")
    }
}
