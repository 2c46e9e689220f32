import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The commands of viewers and operators.
extension PlaybackEngine {
    /// Carries out a command. `time` is the kernel's time of its input event, if there was one. The statistics then count how long it took
    /// until the screen showed the effect (``PlayerStatistics/inputLatency``).
    package func perform(_ command: PlayerCommand, at time: HostTime? = nil) {
        switch command {
        case .play, .pause, .togglePlayback: pipeline.withLock { $0.interruption.overruled() }
        default: break
        }
        switch command {
        case .play: setPlaying(at: time) { $0.play(canReplay: $1) }
        case .pause: setPlaying(at: time) { playback, _ in playback.pause() }
        case .togglePlayback: setPlaying(at: time) { $0.wantsPlay ? $0.pause() : $0.play(canReplay: $1) }
        case .seekSteps(let count):
            let step = pipeline.withLock { $0.cursor.rules.seekStep }
            seek(by: .seconds(Self.bounded(step.seconds * Double(count))), at: time)
        case .seekBy(let span): seek(by: span, at: time)
        case .seekTo(let target): seek(.exact, at: time) { _ in target }
        case .nextItem: skip(at: time) { $0.cursor.nextItem(after: $1) }
        case .previousItem: skip(at: time) { $0.cursor.previousItem(before: $1) }
        case .selectItem(let number): skip(at: time) { pipeline, _ in pipeline.cursor.item(number: number) }
        case .restartItem: skip(at: time) { $0.cursor.restarted($1) }
        case .restartPlaylist: restartPlaylist(at: time)
        case .playSource(let source, let resumes): playInterlude(source, resumes: resumes, at: time)
        case .waitEnded: skip(at: time, playing: true) { $0.cursor.afterWaiting($1) }
        case .changeVolume(let change): setLoudness { $0.volume = ($0.volume * 100 + Double(change)).rounded() / 100 }
        case .setVolume(let volume): setLoudness { $0.volume = Double(min(max(0, volume), 100)) / 100 }
        case .toggleMute: setLoudness { $0.isMuted.toggle() }
        case .setMuted(let isMuted): setLoudness { $0.isMuted = isMuted }
        case .beginInterruption(let name, let time): beginInterruption(name, for: time)
        case .endInterruption(let name): endInterruption(name)
        case .setRate(let value): rate = value
        case .scrub(let target): scrub(to: target, at: time)
        case .endScrub(let target): endScrub(at: target, event: time)
        case .selectAudioTrack(let choice): if let item = snapshot.item { select(choice, of: .audio, in: item) }
        case .nextAudioTrack: selectNextAudioTrack()
        case .selectSubtitleTrack(let choice): if let item = snapshot.item { select(choice, of: .subtitle, in: item) }
        case .nextSubtitleTrack: selectNextSubtitles()
        case .selectChapter(let number): if let start = chapterStart(number) { seek(.exact, at: time) { _ in start } }
        case .skipChapters(let count): if let start = chapterStart(by: count) { seek(.exact, at: time) { _ in start } }
        }
    }

    // MARK: Playing

    /// Resumes playback; starts over from the first item if the playlist has ended.
    package func play() { perform(.play) }

    /// Pauses: the frame stays on the screen, and the sound stops within a period. ``play()`` goes on with the next sample and frame.
    package func pause() { perform(.pause) }

    /// Pauses when playing or waiting, plays when paused.
    package func togglePlayback() { perform(.togglePlayback) }

    /// Holds picture and sound, regardless of other commands; false lets them go on. Nothing is decoded beyond the queues meanwhile.
    package func setHeld(_ isHeld: Bool) { setPlaying(at: nil) { playback, _ in playback.hold(isHeld) } }

    func setPlaying(at time: HostTime?, _ change: (inout PlaybackState, _ canReplay: Bool) -> PlaybackState.Action) {
        go { pipeline in
            let first = pipeline.cursor.first
            switch change(&pipeline.playback, first != nil) {
            // Do nothing if nothing has changed: an interruption restarts the card.
            case .none: return nil
            case .changed:
                pipeline.noteInput(at: time)
                return []
            case .replay:
                let returned = first.map { pipeline.skip(to: SeekRequest(position: $0)) }
                pipeline.noteInput(at: time, shownBy: pipeline.generation)
                pipeline.noteRequest(at: now())
                return returned
            }
        }
    }

    // MARK: Seeking

    /// Moves to an item time, clamped to the item's first and last frame, and shows the frame there even while paused.
    package func seek(to time: MediaTime, precision: MediaReader.SeekPrecision = .exact) { seek(precision, at: nil) { _ in time } }

    /// Moves by a span within the item; several in a row add up, even if the first has not been shown yet.
    package func seek(by span: MediaTime, precision: MediaReader.SeekPrecision = .exact) { seek(by: span, precision, at: nil) }

    private func seek(by span: MediaTime, _ precision: MediaReader.SeekPrecision = .exact, at event: HostTime?) {
        seek(precision, at: event) { .seconds(Self.bounded($0.seconds) + Self.bounded(span.seconds)) }
    }

    /// Clamps seconds to a range that exceeds any item and can still be added up.
    private static func bounded(_ seconds: Double) -> Double { min(max(seconds, -1e9), 1e9) }

    private func seek(_ precision: MediaReader.SeekPrecision, at event: HostTime?, _ target: (MediaTime) -> MediaTime) {
        seek(precision, at: event, target) { pipeline, _ in pipeline.scrub.end() }
    }

    /// Requests a seek and, if it is possible, first changes the slider with `scrub`. The newest of several requests waits for the frame of
    /// the seek under way.
    func seek(
        _ precision: MediaReader.SeekPrecision, at event: HostTime?, _ target: (MediaTime) -> MediaTime,
        _ scrub: (inout Pipeline, SeekRequest) -> Void
    ) {
        go { pipeline in
            guard let request = request(target, precision, pipeline) else { return nil }
            scrub(&pipeline, request)
            guard let returned = pipeline.request(request) else {
                pipeline.noteInput(at: event, shownBy: pipeline.generation + 1)
                pipeline.noteRequest(at: now(), shownBy: pipeline.generation + 1, isSeek: true)
                return nil
            }
            pipeline.noteInput(at: event, shownBy: pipeline.generation)
            pipeline.noteRequest(at: now(), isSeek: true)
            return returned
        }
    }

    /// Returns the request that moves the playhead within its item; nil if there is nowhere to move.
    func request(
        _ target: (MediaTime) -> MediaTime, _ precision: MediaReader.SeekPrecision, _ pipeline: borrowing Pipeline
    ) -> SeekRequest? {
        guard let (start, time, present) = playhead(pipeline) else { return nil }
        // An item that cannot be played is about to give way to the next.
        var position = present == nil ? pipeline.onward(from: start) : start
        let now = position.item == start.item ? time : pipeline.cursor.list[position.item]?.start ?? .zero
        (position.remaining, position.isPaused) = (nil, false)
        guard let item = pipeline.cursor.list[position.item] ?? present?.item else { return nil }
        let end = [item.end, present?.itemEnd].compactMap { $0 }.min()
        if let present, end == nil || !present.isSeekable { return nil }  // a live stream cannot seek
        // The end itself belongs to the next frame; a target behind it means the last frame.
        let last = (end ?? .seconds(1e9)) - MediaTime(nanoseconds: 1)
        return SeekRequest(position: position, time: max(item.start, min(target(now), last)), precision: precision)
    }

    /// Opens the current item once more at the time on the screen. Its frame stays there until the first new one is ready. Does nothing for
    /// another item.
    func reopen(_ item: QueueItem.ID) {
        go { pipeline in
            guard let (start, time, present) = playhead(pipeline), start.item == item else { return nil }
            let isMovable = present.map { $0.isSeekable && $0.itemEnd != nil } ?? true
            return pipeline.skip(to: SeekRequest(position: start, time: isMovable ? time : nil, reopens: true))
        }
    }

    // MARK: Skipping

    /// Goes to the next item now; does nothing at the end of a playlist that does not loop.
    package func advanceToNextItem() { perform(.nextItem) }

    /// Goes to the previous item.
    package func returnToPreviousItem() { perform(.previousItem) }

    /// Restarts the current item.
    package func restartItem() { perform(.restartItem) }

    /// Goes to the position that `choose` returns for the playhead. With `playing`, it plays there; otherwise a pause stays.
    private func skip(
        at event: HostTime?, playing: Bool = false, _ choose: (borrowing Pipeline, PlaylistCursor.Position) -> PlaylistCursor.Position?
    ) {
        go { pipeline in
            guard let (position, _, _) = playhead(pipeline), let next = choose(pipeline, position) else { return nil }
            if playing { pipeline.playback.playAnyway() }
            return go(to: next, at: event, &pipeline)
        }
    }

    /// Begins a generation with a playthrough. Returns the buffers to give back.
    private func go(to position: PlaylistCursor.Position, at event: HostTime?, _ pipeline: inout Pipeline) -> [PreparedScene] {
        pipeline.scrub.end()
        let returned = pipeline.skip(to: SeekRequest(position: position))
        pipeline.noteInput(at: event, shownBy: pipeline.generation)
        pipeline.noteRequest(at: now())
        return returned
    }

    private func restartPlaylist(at event: HostTime?) {
        go { pipeline in
            guard let first = pipeline.cursor.first else { return nil }
            pipeline.playback.playAnyway()
            return go(to: first, at: event, &pipeline)
        }
    }

    /// Plays a source that need not be on the playlist. Then the player returns to the playhead, playing or paused as before, or goes on
    /// with the next item. The source has the settings of its item on the playlist. Without one, it has the gravity and deinterlacing of
    /// the item on the screen.
    private func playInterlude(_ source: String, resumes: Bool, at event: HostTime?) {
        playInterludes(resumes: resumes, at: event) { [$0.addInterlude(source, at: $1)] }
    }

    /// Plays an interlude once: an item that is not on the playlist. It plays when the current item has ended, before the next one; or it
    /// plays now, and then the player returns to the playhead. From any thread.
    ///
    /// - Returns: its identity; nil if nothing is played, and nothing is done.
    @discardableResult package func playInterlude(_ entry: PlaylistItem, at change: ListChange) -> QueueItem.ID? {
        var item: QueueItem.ID?
        switch change {
        case .atNextBoundary:
            pipeline.signal { pipeline in
                guard let (position, _, _) = playhead(pipeline) else { return }
                item = pipeline.addInterlude(entry, at: position.item, isDue: true)
            }
        case .now:
            item = playInterludes([entry]).first
        }
        return item
    }

    /// Plays interludes now, one after the other. Then the player returns to the playhead, `offset` later. If the playhead is in an
    /// interlude itself, it returns to the item that this one interrupted, and plays no other interlude before. From any thread.
    ///
    /// - Returns: their identities; empty if nothing is played, and nothing is done.
    package func playInterludes(_ entries: [PlaylistItem], offset: MediaTime = .zero) -> [QueueItem.ID] {
        var items: [QueueItem.ID] = []
        playInterludes(resumes: true, offset: offset, at: nil) { pipeline, present in
            guard present != nil else { return [] }
            items = entries.map { pipeline.addInterlude($0, at: present) }
            return items
        }
        return items
    }

    /// Ends the interludes at the playhead, and returns to the interrupted item. `offset` replaces that of the interludes; nil keeps it.
    /// Does nothing if there is no item to return to.
    package func cancelInterludes(offset: MediaTime? = nil) { skip(at: nil) { $0.cursor.resumed(from: $1, offset: offset) } }

    /// Whether an interlude waits for the next boundary, or for a later one.
    package func isDue(_ interlude: QueueItem.ID) -> Bool { pipeline.withLock { $0.cursor.list.due.contains(interlude) } }

    /// Cancels an interlude that waits for a boundary.
    package func cancelInterlude(_ interlude: QueueItem.ID) { pipeline.signal { $0.cursor.list.interludeIsOver(interlude) } }

    private func playInterludes(
        resumes: Bool, offset: MediaTime = .zero, at event: HostTime?, _ add: (inout Pipeline, QueueItem.ID?) -> [QueueItem.ID]
    ) {
        go { pipeline in
            let left = playhead(pipeline)
            let items = add(&pipeline, left?.0.item)
            guard let first = items.first else { return nil }
            var position = PlaylistCursor.Position(item: first)
            if resumes, let (present, now, playthrough) = left {
                // Resume at the beginning of its picture, so that this stands for its whole time.
                let place = pipeline.seek.target == nil ? pipeline.screen.place : nil
                let time = place?.cadence != nil ? place?.itemTime ?? now : now
                // The end itself belongs to the next playthrough.
                let end = playthrough?.itemEnd.map { $0 - .milliseconds(1) }
                let canMove = playthrough.map { $0.isSeekable && $0.itemEnd != nil } ?? true
                position.resumption = pipeline.cursor.resumption(
                    of: present, at: canMove ? max(.zero, min(time, end ?? time)) : nil, isPaused: !pipeline.playback.wantsPlay)
                position.resumption?.interludes = Array(items.dropFirst())
                // An interlude in an interlude keeps the place of the first one.
                if present.resumption == nil {
                    position.resumption?.offset = offset
                    position.resumption?.limit = end
                }
            }
            pipeline.playback.playAnyway()
            return go(to: position, at: event, &pipeline)
        }
    }

    /// Returns the position, item time and playthrough that a seek or a skip counts from: the target of the seek under way, else the frame
    /// on the screen.
    func playhead(_ pipeline: borrowing Pipeline) -> (PlaylistCursor.Position, MediaTime, Playthrough?)? {
        let present = pipeline.screen.place?.playthrough
        if let target = pipeline.seek.target {
            let isSameItem = present?.position.item == target.position.item
            let time = target.time ?? pipeline.cursor.list[target.position.item]?.start ?? .zero
            return (target.position, time, isSameItem ? present : nil)
        }
        guard let present else { return nil }
        return (present.position, itemTime(pipeline), present)
    }

    /// Calls `change` with the lock held, and then does the rest without it. `change` returns the buffers to give back, or nil if nothing
    /// has changed.
    func go(_ change: (inout Pipeline) -> [PreparedScene]?) {
        guard let returned = pipeline.signal({ change(&$0) }) else { return }
        if !returned.isEmpty {
            for frame in returned { video.discard(frame) }
            pipeline.signal({ _ in .compositor }) { $0.buffers.cameBack() }
        }
        audioOutput.interrupt()
        video.wake()
    }
}
