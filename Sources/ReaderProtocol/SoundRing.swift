import KioskPlatform

// Sound is ordered like pictures: the player states up to which frame it wants it, and the reader fills the ring up to there. A reader that
// filled the ring by itself could wait for a live stream's sound while the player wants a picture.

/// The player's end of the ring of sound. For one thread at a time.
package struct PlayerSound: Sendable {
    private let page: ControlPage
    private var taken: UInt32 = 0

    package init(_ page: ControlPage) { self.page = page }

    /// Has the reader continue until `frames` frames are ready. Returns whether the reader has to do something for that. It learns of it
    /// once its bell rings for sound.
    @discardableResult package func want(_ frames: Int) -> Bool {
        let wanted = taken &+ UInt32(min(max(frames, 0), ControlLayout.soundFrames))
        page.store(.soundWanted, wanted)
        return wanted.distance(ahead: page.load(.sound)) > 0
    }

    /// Returns the number of ready frames, and whether none follow them.
    package func ready() throws(ReaderLie) -> (frames: Int, isLast: Bool) {
        // Read before the count: the frames written before the end are counted then.
        let isLast = page.load(.soundIsOver) != 0
        let ahead = page.load(.sound) &- taken
        guard ahead <= ControlLayout.soundFrames else { throw .cursor("sound", ahead) }
        return (Int(ahead), isLast)
    }

    /// Whether all frames have been taken, and none follow. Two separate checks would race: the last frames and the end may come between
    /// them.
    package func isOver() throws(ReaderLie) -> Bool {
        let ready = try ready()
        return ready.isLast && ready.frames == 0
    }

    /// Takes ready frames, as many as fit into `samples`; returns their number. Replaces samples that are not finite by silence.
    package mutating func take(into samples: UnsafeMutableBufferPointer<Float>) throws(ReaderLie) -> Int {
        let channels = page.layout.channelCount
        let count = min(try ready().frames, samples.count / channels)
        var done = 0
        while done < count {
            let part = unsafe page.frames(from: taken, atMost: count - done)
            for index in part.indices {
                let sample = unsafe part[index]
                unsafe samples[done * channels + index] = sample.isFinite ? sample : 0
            }
            taken &+= UInt32(part.count / channels)
            done += part.count / channels
        }
        page.store(.soundTaken, taken)
        return count
    }

    /// Drops all frames before number `count` (``Landing/sound``).
    package mutating func skip(to count: UInt32) throws(ReaderLie) {
        let ahead = count &- taken
        guard ahead <= (try ready().frames) else { throw .cursor("sound", ahead) }
        taken = count
        page.store(.soundTaken, taken)
    }
}

/// The reader's end of the ring of sound. For one thread.
package struct ReaderSound: Sendable {
    private let page: ControlPage
    /// The number of frames written so far (``Landing/sound``).
    package private(set) var count: UInt32 = 0
    /// Whether the sound has ended, without a restart since.
    package private(set) var isOver = false

    package init(_ page: ControlPage) { self.page = page }

    /// Whether the player wants frames, and there is room for them.
    package var isWanted: Bool { !isOver && room > 0 }

    /// Lets `fill` write the next frames; it returns their number. Fewer than there is room for are the last.
    package mutating func write(_ fill: (UnsafeMutableBufferPointer<Float>) -> Int) {
        unsafe writeSilently(fill)
        page.playerBell.ring(.sound)
    }

    mutating func writeSilently(_ fill: (UnsafeMutableBufferPointer<Float>) -> Int) {
        let memory = unsafe page.frames(from: count, atMost: room)
        let room = memory.count / page.layout.channelCount
        let written = min(max(unsafe fill(memory), 0), room)
        count &+= UInt32(written)
        page.store(.sound, count)
        if written < room { end() }
    }

    /// Ends the sound.
    package mutating func end() {
        isOver = true
        page.store(.soundIsOver, 1)
    }

    /// Allows sound again, from another position. Call it before the landing is sent.
    package mutating func restart() {
        isOver = false
        page.store(.soundIsOver, 0)
    }

    private var room: Int {
        let wanted = page.load(.soundWanted).distance(ahead: count)
        let filled = Int(count &- page.load(.soundTaken))
        return max(0, min(wanted, ControlLayout.soundFrames - filled))
    }
}
