/// What a run was, on one time axis: all times count from the start of the player.
package struct Record: Sendable {
    /// What each display scanned out, vblank by vblank; one list a display.
    package var displays: [[Vblank]]
    /// What the sound card was fed; nil where nothing was recorded.
    package var sound: Sound?
    /// The player's lines on standard output and error.
    package var log: [LogLine]
    /// What was done, in the order of the timeline.
    package var events: [Event]
    /// The player's processor time and memory.
    package var usage: Usage
    /// Its exit status, 128 + n for signal n.
    package var status: Int
    /// How long it took to end from SIGTERM on; nil where it ended by itself.
    package var timeToEnd: Duration?
    /// It had to be killed because it did not end when asked to.
    package var wasKilled: Bool
    /// How the console's terminal was left: "text on auto" is as it should be (KDGETMODE, keyboard, VT switching).
    package var terminal: String
    /// The clips that were on the playlist; what the numbers are judged by.
    package var clips: [NumberedClip]
    /// Screenshots that succeeded, by name.
    package var screenshots: [String: Picture]
    /// What shell lines printed, by name.
    package var outputs: [String: String]
    /// What the guest could do just before; nil where that was not measured (``Machine/measuresHost``).
    package var host: Host?

    /// A line the player said.
    package struct LogLine: Sendable, Equatable {
        /// When it was read from the pipe.
        package var time: Duration
        /// All of it, without the line feed.
        package var text: String

        /// Reads "MICROSECONDS TEXT".
        init?(_ line: some StringProtocol, start: Int) {
            guard let blank = line.firstIndex(of: " "), let time = Int(line[..<blank]) else { return nil }
            self.time = .microseconds(time - start)
            text = String(line[line.index(after: blank)...])
        }
    }

    /// Something that was done to the player.
    package struct Event: Sendable, Equatable {
        /// What the timeline calls it.
        package var name: String?
        /// When; nil where the run was over before.
        package var time: Duration?
    }

    /// What the player used, and the processes that it has started. Processor time means nothing in virtual time.
    package struct Usage: Sendable, Equatable {
        /// User and system, of its whole life.
        package var cpu: Duration
        /// The most memory that the player itself ever had resident, in bytes.
        package var peakMemory: Int
        /// Looked at after 2 s, every so often, and just before its end.
        package var samples: [Sample]

        /// The most memory that all of them had at a look: what they share counts once, and for each its part of what others have, too (Pss).
        package var peakShare: Int { samples.map(\.share).max() ?? 0 }

        /// One look at it; memory in bytes, threads and descriptors of the player itself.
        package struct Sample: Sendable, Equatable {
            package var time: Duration, cpu: Duration
            package var residentMemory: Int, threads: Int, descriptors: Int
            package var share = 0
        }
    }

    /// The vblanks of the first display.
    package var vblanks: [Vblank] { displays.first ?? [] }

    /// Whether a number is of one of the clips.
    package func isFrame(_ number: Int) -> Bool { clips.contains { $0.numbers.contains(number) } }

    /// The frames of the clips that the first display showed, from the start of the player to its end.
    package var frames: [ShownFrame] { frames(on: 0) }

    /// The frames that a display showed.
    package func frames(on display: Int) -> [ShownFrame] {
        ShownFrame.all(in: displays[display].drop { $0.time < .zero }, where: isFrame)
    }

    /// Vblanks a second of the first display, by the median of its periods.
    package var refreshRate: Double {
        let shown = vblanks.drop { !isFrame($0.number) }
        let periods = zip(shown, shown.dropFirst()).filter { $1.sequence == $0.sequence + 1 }.map { $1.time - $0.time }.sorted()
        return periods.isEmpty ? 0 : .seconds(1) / periods[periods.count / 2]
    }

    /// Where one clip ends and the next begins.
    package var seams: [Seam] { Seam.all(in: frames, of: clips, refreshRate: refreshRate) }

    /// Frames that stood for too many or too few vblanks, by the frame rate of the first clip.
    package var wrongHolds: [ShownFrame] { wrongHolds(from: .zero) }

    /// The same among frames that began after `time`.
    package func wrongHolds(from time: Duration) -> [ShownFrame] {
        guard let clip = clips.first, refreshRate > 0 else { return [] }
        return Cadence(frameRate: clip.frameRate, refreshRate: refreshRate).wrongHolds(in: frames.filter { $0.time >= time })
    }

    /// From the start of the player to the first vblank that showed a frame.
    package var firstPicture: Duration? { vblanks.first { $0.time >= .zero && isFrame($0.number) }?.time }

    /// What the display showed at a moment, from the last vblank before it.
    package func vblank(at time: Duration, on display: Int = 0) -> Vblank? { displays[display].last { $0.time <= time } }

    /// The event called `name`.
    package subscript(name: String) -> Event? { events.first { $0.name == name } }

    /// When the event called `name` was done. Fails the run where there is none or it was not.
    package func time(of name: String) -> Duration {
        guard let time = self[name]?.time else { preconditionFailure("the timeline has done nothing called \(name)") }
        return time
    }

    /// From the event to the first vblank that shows something else than the clip going on; nil where that never came.
    ///
    /// Something else is another arrangement of planes, a number that jumps, or a picture that goes on after it stood still. Where it
    /// comes to stand still (for longer than 8 vblanks) it is the time to the last new frame; zero when none came.
    package func response(to name: String, on display: Int = 0) -> Duration? {
        let time = time(of: name)
        return Response.time(after: time, in: displays[display], clips: clips).map { $0 - time }
    }

    /// The jump that an event led to: the number before it, the first one that does not follow from the one before, and how long after the
    /// event that was on the display. Nil where the clip just went on for 3 s.
    package func jump(after name: String) -> (from: Int, to: Int, time: Duration)? {
        let time = time(of: name)
        guard var last = frames.last(where: { $0.time <= time }) else { return nil }
        for frame in frames where frame.time > time && frame.time < time + .seconds(3) {
            if !Response.goesOn(last.number, frame.number, clips) { return (last.number, frame.number, frame.time - time) }
            last = frame
        }
        return nil
    }

    /// What kiosk says at its end about what it showed; nil where it did not come to say it.
    package var statistics: Statistics? { log.reversed().lazy.compactMap { Statistics($0.text) }.first }

    /// What it says there about each item, by the name of its file.
    package var itemStatistics: [String: ItemStatistics] {
        Dictionary(log.compactMap { line in ItemStatistics(line.text).map { ($0.name, $0) } }, uniquingKeysWith: { $1 })
    }
}

/// The player's own count, of its last log line.
package struct Statistics: Sendable, Equatable {
    package var shown: Int, late: Int, dropped: Int, seams: Int, worstSeam: Int, flipsLost: Int
    /// Half of the frames, and 99 % of them, were no further from their sound than so many milliseconds; nil where there was nothing to
    /// compare.
    package var synchrony: (half: Int, most: Int)?
    /// How much faster than written the sound was played at the end, in parts per million.
    package var soundChange: Int
    /// How often picture and sound stood still for want of anything ready, and how long in all.
    package var stalls: (count: Int, time: Duration)

    /// Half of what input events asked for was seen after so many milliseconds, and 99 % of it; nil where nothing was asked for.
    package var inputLatency: (half: Int, most: Int)?

    /// Reads "… ended: 490 frames shown, 1 late, 0 dropped; 3 seams, the worst 0 vblanks late; 0 flips lost; A/V 1/2 ms, sound −127 ppm;
    /// stood still 2 times, 310 ms in all; input 21/48 ms; never less than 3 frames and 110 ms ahead", of which the end is not read.
    package init?(_ line: String) {
        let counts = #/ended: (\d+) frames shown, (\d+) late, (\d+) dropped; (\d+) seams, the worst (\d+) vblanks late; (\d+) flips lost/#
        guard let match = line.firstMatch(of: counts) else { return nil }
        let output = match.output
        guard let shown = Int(output.1), let late = Int(output.2), let dropped = Int(output.3), let seams = Int(output.4),
            let worst = Int(output.5), let lost = Int(output.6)
        else { return nil }
        (self.shown, self.late, self.dropped, self.seams, worstSeam, flipsLost) = (shown, late, dropped, seams, worst, lost)
        synchrony = line.firstMatch(of: #/; A/V (\d+)/(\d+) ms/#).flatMap { match in
            Int(match.output.1).flatMap { half in Int(match.output.2).map { (half, $0) } }
        }
        let stood = line.firstMatch(of: #/; stood still (?:once|(\d+) times), (\d+) ms in all/#)
        stalls = stood.map { ($0.output.1.flatMap { Int($0) } ?? 1, .milliseconds(Int($0.output.2) ?? 0)) } ?? (0, .zero)
        inputLatency = line.firstMatch(of: #/; input (\d+)/(\d+) ms/#).flatMap { match in
            Int(match.output.1).flatMap { half in Int(match.output.2).map { (half, $0) } }
        }
        let change = line.firstMatch(of: #/, sound ([+−])(\d+) ppm/#)
        soundChange = change.flatMap { match in Int(match.output.2).map { match.output.1 == "+" ? $0 : -$0 } } ?? 0
    }

    /// Whether all counts are equal.
    package static func == (a: Statistics, b: Statistics) -> Bool {
        (a.shown, a.late, a.dropped, a.seams, a.worstSeam, a.flipsLost) == (b.shown, b.late, b.dropped, b.seams, b.worstSeam, b.flipsLost)
            && a.synchrony?.half == b.synchrony?.half && a.synchrony?.most == b.synchrony?.most && a.soundChange == b.soundChange
            && a.stalls == b.stalls && a.inputLatency?.half == b.inputLatency?.half && a.inputLatency?.most == b.inputLatency?.most
    }
}

/// The player's own count for one item, of a log line of its own.
package struct ItemStatistics: Sendable, Equatable {
    /// Its file's.
    package var name: String
    package var shown: Int, late: Int, dropped: Int, seams: Int, worstSeam: Int

    /// Reads "… kiosk: clip.mp4: 149 frames shown, 1 late, 0 dropped; 3 seams, the worst 0 vblanks late".
    package init?(_ line: String) {
        let counts = #/kiosk: (.+): (\d+) frames shown, (\d+) late, (\d+) dropped; (\d+) seams, the worst (\d+) vblanks late$/#
        guard let output = line.firstMatch(of: counts)?.output, let shown = Int(output.2), let late = Int(output.3),
            let dropped = Int(output.4), let seams = Int(output.5), let worst = Int(output.6)
        else { return nil }
        (name, self.shown, self.late, self.dropped, self.seams, worstSeam) = (String(output.1), shown, late, dropped, seams, worst)
    }
}

/// How soon the picture answers.
enum Response {
    /// More vblanks than any frame stands for that is not a still.
    static let stillness = 8

    /// The time of the first vblank from `time` on that shows something else than the clip going on, or that the clip stands still from.
    static func time(after time: Duration, in vblanks: [Vblank], clips: [NumberedClip]) -> Duration? {
        guard let index = vblanks.firstIndex(where: { $0.time >= time }), index > 0 else { return nil }
        let before = vblanks[..<index]
        let wasStill = before.count > stillness && before.suffix(stillness + 1).allSatisfy { $0.number == before.last?.number }
        var last = vblanks[index - 1]
        // For how many vblanks the present number stands, and since when, unless that was before.
        var hold = before.reversed().prefix { $0.number == last.number }.count
        var since = time
        for vblank in vblanks[index...] {
            if vblank.arrangement != last.arrangement { return vblank.time }
            if vblank.number != last.number {
                if wasStill || !goesOn(last.number, vblank.number, clips) { return vblank.time }
                (hold, since) = (0, vblank.time)
            }
            hold += 1
            if !wasStill, hold > stillness { return since }
            last = vblank
        }
        return nil
    }

    /// Whether `next` is what a clip shows after `number`: up to two frames on, or the beginning of a clip after the end of one.
    static func goesOn(_ number: Int, _ next: Int, _ clips: [NumberedClip]) -> Bool {
        if (1...2).contains(next - number) { return true }
        return clips.contains { number > $0.numbers.upperBound - 3 && number <= $0.numbers.upperBound }
            && clips.contains { next >= $0.numbers.lowerBound && next <= $0.numbers.lowerBound + 1 }
    }
}

extension Vblank {
    /// The planes but for the framebuffers, which change with every frame.
    var arrangement: [Plane] {
        planes.map { plane in
            var plane = plane
            plane.framebuffer = 0
            return plane
        }
    }
}
