import KioskMedia
import KioskPlatform

/// Chooses the feeder's next piece of work, of what the pipeline says and what the feeder's parts want.
extension Feeder {
    /// A piece of work.
    enum Work {
        case stop
        case free
        case setList
        case seek
        case clear
        case picture
        case sound(frames: Int)
        case take
        case retry
        case takeLost
        case background
        case setRate(Double)
        case finish
    }

    /// A display that shows nothing for this long after the start gets the background instead of the console.
    private static let longestEmptyStart = MediaTime.milliseconds(500)

    /// What there is to do now; nil where there is nothing before ``deadline`` or a change of the pipeline. For who has no thread for
    /// ``run()``.
    var nextWork: Work? {
        let wishes = wishes
        return pipeline.withLock { nextWork(in: $0, wishes) } ?? overdueWork
    }

    /// When there is something to do even if the pipeline does not change.
    var deadline: HostTime? {
        if pictures.hasEnqueued { return upcoming.due }
        return min(upcoming.due ?? .init(nanoseconds: .max), startedAt + Self.longestEmptyStart)
    }

    func waitForWork() -> Work? {
        let wishes = wishes
        return pipeline.wait(as: .feeder, until: deadline) { nextWork(in: $0, wishes) } ?? overdueWork
    }

    /// What is to be done once ``deadline`` has passed.
    private var overdueWork: Work? {
        guard let deadline, now() >= deadline else { return nil }
        if let due = upcoming.due, now() >= due { return .retry }
        return .background
    }

    /// What the parts want by themselves; gathered without the pipeline's lock.
    private struct Wishes {
        /// What is read: whether all of its pictures have been, whether it has more that there may be room for, its rate, and how much of
        /// its sound is wanted.
        var reading: (isAtEnd: Bool, givesPictures: Bool, rate: Double, sound: Int)?
        /// Whether the item that has been opened is to be taken when it is there, and whether it is if it failed.
        var takesOpened: Bool, leavesOutFailed: Bool
        /// Whether an attempt to open what is lost has come to something.
        var takesLost: Bool
        /// The list that was taken over last, and the generation that was begun last.
        var revision: Int, generation: UInt64
    }

    private var wishes: Wishes {
        Wishes(
            reading: current.map { ($0.isAtEnd, !$0.isAtEnd && !$0.isSoundOnly, $0.mapping.rate, sound.wanted(of: $0)) },
            takesOpened: current == nil && upcoming.isAwaited, leavesOutFailed: current.map { upcoming.mayLeaveOut(during: $0) } ?? false,
            takesLost: upcoming.hasLostOutcome,
            revision: upcoming.revision, generation: pictures.generation)
    }

    private func nextWork(in pipeline: borrowing Pipeline, _ wishes: Wishes) -> Work? {
        if pipeline.isStopping { return .stop }
        if pipeline.hasReleased { return .free }
        if pipeline.cursor.list.revision != wishes.revision { return .setList }
        if pipeline.seek.pending != nil { return .seek }
        if pipeline.isCleared(since: wishes.generation) { return .clear }
        if wishes.takesLost { return .takeLost }
        guard let reading = wishes.reading else {
            return wishes.takesOpened && pipeline.hasRoomForFrame && upcoming.hasOutcome ? .take : nil
        }
        if pipeline.rate != reading.rate, !reading.isAtEnd { return .setRate(pipeline.rate) }
        if reading.isAtEnd, reading.sound == 0 { return .finish }
        if wishes.leavesOutFailed, upcoming.hasFailed { return .take }
        // Sound first: the clock starts as soon as there are pictures enough, and a card takes a tenth of a second of sound at once.
        if reading.sound > 0, audio.room(wanting: reading.sound) >= reading.sound { return .sound(frames: reading.sound) }
        if reading.givesPictures, pipeline.hasRoomForFrame { return .picture }
        return nil
    }
}
