import KioskPlatform

// Sound is ordered as pictures are: the player says up to which frame it wants it, and the reader fills the ring up to there. A reader that
// filled it by itself would wait for a live stream's sound while a picture is wanted.

/// The player's end of the ring of sound. For one thread at a time.
package struct PlayerSound: Sendable {
    private let page: ControlPage
    private var taken: UInt32 = 0

    package init(_ page: ControlPage) { self.page = page }

    /// Has the reader go on until so many frames lie ready; whether it has something to do for that. It learns of it when its bell is rung for sound.
    @discardableResult package func want(_ frames: Int) -> Bool {
        let wanted = taken &+ UInt32(min(max(frames, 0), ControlLayout.soundFrames))
        page.store(.soundWanted, wanted)
        return wanted.distance(ahead: page.load(.sound)) > 0
    }

    /// Frames that lie ready, and whether none follow them.
    package func ready() throws(ReaderLie) -> (frames: Int, isLast: Bool) {
        // Before the count: what was written before the end is counted then.
        let isLast = page.load(.soundIsOver) != 0
        let ahead = page.load(.sound) &- taken
        guard ahead <= ControlLayout.soundFrames else { throw .cursor("sound", ahead) }
        return (Int(ahead), isLast)
    }

    /// Whether all frames have been taken, and none follow. To be asked instead of two questions: the last frames and the end may come between them.
    package func isOver() throws(ReaderLie) -> Bool {
        let ready = try ready()
        return ready.isLast && ready.frames == 0
    }

    /// Takes frames that lie ready, as many as go into `samples`; returns how many. What is no number is silence.
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

    /// Leaves everything out before frame `count` (``Landing/sound``).
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
    /// Frames that were written so far (``Landing/sound``).
    package private(set) var count: UInt32 = 0
    /// Whether the sound has ended, and not begun anew since.
    package private(set) var isOver = false

    package init(_ page: ControlPage) { self.page = page }

    /// Whether there are frames wanted, and there is room for them.
    package var isWanted: Bool { !isOver && room > 0 }

    /// Has `fill` write the next frames, and returns how many it has written. Fewer than there was room for are the last.
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

    /// No sound follows.
    package mutating func end() {
        isOver = true
        page.store(.soundIsOver, 1)
    }

    /// Sound follows again, from another place. To be called before the landing is told.
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
