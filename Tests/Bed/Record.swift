/// The record of one run. All times count from the start of the player.
package struct Record: Sendable {
    /// The vblanks that each display scanned out; one list a display.
    package var displays: [[Vblank]]
    /// The sound that the sound card received; nil if nothing was recorded.
    package var sound: Sound?
    /// The player's lines on standard output and error.
    package var log: [LogLine]
    /// The actions of the timeline, in its order.
    package var events: [Event]
    /// The player's processor time and memory.
    package var usage: Usage
    /// The player's exit status; 128 + n for signal n.
    package var status: Int
    /// The time from SIGTERM to the player's end; nil if it ended by itself.
    package var timeToEnd: Duration?
    /// The player did not end on request, and the director killed it.
    package var wasKilled: Bool
    /// The state in which the player left the console's terminal (KDGETMODE, keyboard, VT switching). "text on auto" is correct.
    package var terminal: String
    /// The clips of the playlist; the analysis judges the numbers by them.
    package var clips: [NumberedClip]
    /// Screenshots that succeeded, by name.
    package var screenshots: [String: Picture]
    /// The output of shell lines, by name.
    package var outputs: [String: String]
    /// The guest's abilities just before the run; nil if not measured (``Machine/measuresHost``).
    package var host: Host?

    /// A line of the player's log.
    package struct LogLine: Sendable, Equatable {
        /// The time at which the director read it from the pipe.
        package var time: Duration
        /// The whole line, without the line feed.
        package var text: String

        /// Reads "MICROSECONDS TEXT".
        init?(_ line: some StringProtocol, start: Int) {
            guard let blank = line.firstIndex(of: " "), let time = Int(line[..<blank]) else { return nil }
            self.time = .microseconds(time - start)
            text = String(line[line.index(after: blank)...])
        }
    }

    /// An action on the player.
    package struct Event: Sendable, Equatable {
        /// Its name in the timeline.
        package var name: String?
        /// Its time; nil if the run was over before.
        package var time: Duration?
    }

    /// The resources that the player and the processes it started used. Processor time means nothing in virtual time.
    package struct Usage: Sendable, Equatable {
        /// User and system time of the player's whole life.
        package var cpu: Duration
        /// The player's own peak resident memory, in bytes.
        package var peakMemory: Int
        /// The looks after 2 s, at every sample period, and just before the end.
        package var samples: [Sample]

        /// The most memory that the player and its processes had at one look, as Pss. Memory that they share counts once; memory shared
        /// with other programs counts in part.
        package var peakShare: Int { samples.map(\.share).max() ?? 0 }

        /// One look. Memory is in bytes; threads and descriptors are the player's own.
        package struct Sample: Sendable, Equatable {
            package var time: Duration, cpu: Duration
            package var residentMemory: Int, threads: Int, descriptors: Int
            package var share = 0
        }
    }

    /// The vblanks of the first display.
    package var vblanks: [Vblank] { displays.first ?? [] }

    /// Whether `number` belongs to one of the clips.
    package func isFrame(_ number: Int) -> Bool { clips.contains { $0.numbers.contains(number) } }

    /// The frames of the clips that the first display showed, from the start of the player to its end.
    package var frames: [ShownFrame] { frames(on: 0) }

    /// The frames that a display showed.
    package func frames(on display: Int) -> [ShownFrame] {
        ShownFrame.all(in: displays[display].drop { $0.time < .zero }, where: isFrame)
    }

    /// The refresh rate of the first display in Hz, from the median of its periods.
    package var refreshRate: Double {
        let shown = vblanks.drop { !isFrame($0.number) }
        let periods = zip(shown, shown.dropFirst()).filter { $1.sequence == $0.sequence + 1 }.map { $1.time - $0.time }.sorted()
        return periods.isEmpty ? 0 : .seconds(1) / periods[periods.count / 2]
    }

    /// The seams of the first display: the end of one clip and the beginning of the next.
    package var seams: [Seam] { Seam.all(in: frames, of: clips, refreshRate: refreshRate) }

    /// The frames that stood for too many or too few vblanks, by the frame rate of the first clip.
    package var wrongHolds: [ShownFrame] { wrongHolds(from: .zero) }

    /// The wrong holds among frames that began at `time` or later.
    package func wrongHolds(from time: Duration) -> [ShownFrame] {
        guard let clip = clips.first, refreshRate > 0 else { return [] }
        return Cadence(frameRate: clip.frameRate, refreshRate: refreshRate).wrongHolds(in: frames.filter { $0.time >= time })
    }

    /// The time from the start of the player to the first vblank that showed a frame.
    package var firstPicture: Duration? { vblanks.first { $0.time >= .zero && isFrame($0.number) }?.time }

    /// The vblank that the display showed at `time`: the last one until then.
    package func vblank(at time: Duration, on display: Int = 0) -> Vblank? { displays[display].last { $0.time <= time } }

    /// The event called `name`.
    package subscript(name: String) -> Event? { events.first { $0.name == name } }

    /// The time of the event called `name`. Stops the process if there is no such event or it was not done.
    package func time(of name: String) -> Duration {
        guard let time = self[name]?.time else { preconditionFailure("the timeline has done nothing called \(name)") }
        return time
    }

    /// The time from the event to the first vblank that does not continue the clip; nil if there is none.
    ///
    /// A vblank does not continue the clip if the arrangement of planes changes, if the number jumps, or if a picture moves again after it
    /// stood still. If the clip stops (for longer than 8 vblanks), the result is the time to the last new frame, or zero if none came.
    package func response(to name: String, on display: Int = 0) -> Duration? {
        let time = time(of: name)
        return Response.time(after: time, in: displays[display], clips: clips).map { $0 - time }
    }

    /// The jump after an event: the number before it, the first number that does not continue, and its time from the event. Nil if the clip
    /// continued for 3 s.
    package func jump(after name: String) -> (from: Int, to: Int, time: Duration)? {
        let time = time(of: name)
        guard var last = frames.last(where: { $0.time <= time }) else { return nil }
        for frame in frames where frame.time > time && frame.time < time + .seconds(3) {
            if !Response.goesOn(last.number, frame.number, clips) { return (last.number, frame.number, frame.time - time) }
            last = frame
        }
        return nil
    }

    /// The statistics that kiosk logs at its end; nil if it logged none.
    package var statistics: Statistics? { log.reversed().lazy.compactMap { Statistics($0.text) }.first }

    /// The statistics that kiosk logs for each item at its end, by the name of the item's file.
    package var itemStatistics: [String: ItemStatistics] {
        Dictionary(log.compactMap { line in ItemStatistics(line.text).map { ($0.name, $0) } }, uniquingKeysWith: { $1 })
    }
}

/// The player's own counts, from its last log line.
package struct Statistics: Sendable, Equatable {
    package var shown: Int, late: Int, dropped: Int, seams: Int, worstSeam: Int, flipsLost: Int
    /// The distance of frames from their sound in milliseconds that half of the frames, and 99 % of them, did not exceed. Nil if there was
    /// nothing to compare.
    package var synchrony: (half: Int, most: Int)?
    /// The change of the sound's speed at the end, in parts per million; positive is faster.
    package var soundChange: Int
    /// How often playback stalled because nothing was ready, and for how long in all.
    package var stalls: (count: Int, time: Duration)

    /// The milliseconds from an input event to its effect on the screen, for half of the events and for 99 %. Nil if no event asked for an
    /// effect.
    package var inputLatency: (half: Int, most: Int)?

    /// Reads "… ended: 490 frames shown, 1 late, 0 dropped; 3 seams, the worst 0 vblanks late; 0 flips lost; A/V 1/2 ms, sound −127 ppm;
    /// stood still 2 times, 310 ms in all; input 21/48 ms; never less than 3 frames and 110 ms ahead". Ignores the last part, from "never".
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

/// The player's own counts for one item, from a log line of its own.
package struct ItemStatistics: Sendable, Equatable {
    /// The name of the item's file.
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

/// Measures how soon the picture responds.
enum Response {
    /// The number of vblanks that a frame of a running clip stands at most. A longer hold is a still picture.
    static let stillness = 8

    /// Returns the time of the first vblank from `time` on that does not continue the clip, or from which the clip stands still.
    static func time(after time: Duration, in vblanks: [Vblank], clips: [NumberedClip]) -> Duration? {
        guard let index = vblanks.firstIndex(where: { $0.time >= time }), index > 0 else { return nil }
        let before = vblanks[..<index]
        let wasStill = before.count > stillness && before.suffix(stillness + 1).allSatisfy { $0.number == before.last?.number }
        var last = vblanks[index - 1]
        // The number of vblanks that the current number has stood, and since when: `time`, if it began before.
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

    /// Whether a clip shows `next` after `number`: up to two frames on, or the beginning of a clip after the end of one.
    static func goesOn(_ number: Int, _ next: Int, _ clips: [NumberedClip]) -> Bool {
        if (1...2).contains(next - number) { return true }
        return clips.contains { number > $0.numbers.upperBound - 3 && number <= $0.numbers.upperBound }
            && clips.contains { next >= $0.numbers.lowerBound && next <= $0.numbers.lowerBound + 1 }
    }
}

extension Vblank {
    /// The planes without their framebuffers, which change with every frame.
    var arrangement: [Plane] {
        planes.map { plane in
            var plane = plane
            plane.framebuffer = 0
            return plane
        }
    }
}
