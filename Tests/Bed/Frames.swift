/// A clip with a number burned into every frame.
package struct NumberedClip: Sendable, Equatable {
    /// The file.
    package var path: String
    /// The numbers of its first and last frame.
    package var numbers: ClosedRange<Int>
    /// Frames a second.
    package var frameRate: Double

    /// Creates a clip whose frames are numbered from `first`.
    package init(_ path: String, frames: Int, from first: Int = 1, frameRate: Double) {
        self.path = path
        numbers = first...(first + frames - 1)
        self.frameRate = frameRate
    }
}

/// A frame as a viewer saw it: its number, and how many vblanks it stood without a break.
package struct ShownFrame: Sendable, Equatable {
    /// The number in it.
    package var number: Int
    /// How long it stood, in vblanks.
    package var vblanks: Int
    /// Its first vblank, from the start of the player.
    package var time: Duration
    /// The number of vblanks before it that showed no frame of the clips: dark, or another picture.
    package var vblanksBefore: Int

    /// Returns the frames in a log, in order. Vblanks missing from the log count for the frame before them.
    ///
    /// - Parameter isFrame: returns whether a number belongs to a clip. The cells of another picture read as some number, too.
    package static func all(in vblanks: some Sequence<Vblank>, where isFrame: (Int) -> Bool) -> [ShownFrame] {
        var frames: [ShownFrame] = []
        var foreign = 0
        var isStanding = false
        var last: Vblank?
        for vblank in vblanks {
            let step = last.map { max(1, vblank.sequence - $0.sequence) } ?? 1
            last = vblank
            if isStanding { frames[frames.count - 1].vblanks += step - 1 } else { foreign += step - 1 }
            if !isFrame(vblank.number) {
                foreign += 1
                isStanding = false
            } else if isStanding, frames[frames.count - 1].number == vblank.number {
                frames[frames.count - 1].vblanks += 1
            } else {
                frames.append(ShownFrame(number: vblank.number, vblanks: 1, time: vblank.time, vblanksBefore: foreign))
                foreign = 0
                isStanding = true
            }
        }
        return frames
    }
}

/// The number of vblanks that a frame should stand.
package struct Cadence: Sendable, Equatable {
    /// Vblanks for each frame. Rounded if within 0.5 % of a whole number, because the player then locks to the display.
    package var ideal: Double

    /// Creates the cadence of frames at `frameRate` on a display with `refreshRate`, both in Hz.
    package init(frameRate: Double, refreshRate: Double) {
        ideal = refreshRate / frameRate
        if ideal.rounded() >= 1, abs(ideal / ideal.rounded() - 1) <= 0.005 { ideal = ideal.rounded() }
    }

    /// The permitted number of vblanks for a single frame.
    package var holds: ClosedRange<Int> { Int(ideal.rounded(.down))...Int(ideal.rounded(.up)) }

    /// Returns the frames that stood too long or too short, alone or together with the frame before them (24 on 60 Hz is 3, 2, 3, 2 and not
    /// 3, 3, 2, 2). Does not judge the first and the last frame: the log may hold only part of them.
    package func wrongHolds(in frames: some Collection<ShownFrame>) -> [ShownFrame] {
        let pairs = Int((2 * ideal).rounded(.down))...Int((2 * ideal).rounded(.up))
        var wrong: [ShownFrame] = []
        var before: ShownFrame?
        for frame in frames.dropFirst().dropLast() {
            let isWrong = !holds.contains(frame.vblanks) || before.map { !pairs.contains($0.vblanks + frame.vblanks) } ?? false
            if isWrong { wrong.append(frame) }
            // One wrong hold makes one wrong pair, not two.
            before = isWrong ? nil : frame
        }
        return wrong
    }
}

/// The place where one showing of a clip ends and the next one, of the same clip or another, begins.
package struct Seam: Sendable, Equatable, CustomStringConvertible {
    /// The last frame before and the first one after.
    package var last: ShownFrame, first: ShownFrame
    /// The frames at the end of the first clip and the beginning of the second that were never shown.
    package var lostFrames: Int
    /// The vblanks between them that showed something else.
    package var darkVblanks: Int { first.vblanksBefore }
    /// The delay of the first frame in vblanks: the excess hold of the last frame plus the dark vblanks.
    package var latePresents: Int
    /// The first frame stood for a wrong number of vblanks. Not judged if it is the last of the log.
    package var isFirstFrameWrong: Bool
    /// The last frame stood too briefly.
    package var isLastFrameShort: Bool

    /// No frame was lost, late, held wrongly or separated by dark vblanks.
    package var isClean: Bool { lostFrames == 0 && latePresents == 0 && darkVblanks == 0 && !isFirstFrameWrong && !isLastFrameShort }

    /// The frames on either side of the seam.
    package var description: String {
        "\(last.number)×\(last.vblanks) → \(first.number)×\(first.vblanks), \(darkVblanks) dark, \(lostFrames) lost, \(latePresents) late"
    }

    /// Returns the seams among `frames`: the places where the number goes back, or into another clip. A seek backwards looks the same.
    package static func all(in frames: [ShownFrame], of clips: [NumberedClip], refreshRate: Double) -> [Seam] {
        func clip(_ number: Int) -> NumberedClip? { clips.first { $0.numbers.contains(number) } }
        return frames.indices.dropFirst().compactMap { index in
            let (last, first) = (frames[index - 1], frames[index])
            guard let before = clip(last.number), let after = clip(first.number), before != after || first.number <= last.number
            else { return nil }
            let holds = Cadence(frameRate: before.frameRate, refreshRate: refreshRate).holds
            let next = Cadence(frameRate: after.frameRate, refreshRate: refreshRate).holds
            return Seam(
                last: last, first: first,
                lostFrames: before.numbers.upperBound - last.number + first.number - after.numbers.lowerBound,
                latePresents: max(0, last.vblanks - holds.upperBound) + first.vblanksBefore,
                isFirstFrameWrong: index < frames.count - 1 && !next.contains(first.vblanks),
                isLastFrameShort: index > 1 && last.vblanks < holds.lowerBound)
        }
    }
}
