import DequeModule
import KioskPlatform
import KioskVocabulary

/// What the presenter decides with the lock held: which frame is next, whether the clock starts, what has ended, what is counted.
extension Presenter {
    /// How long after a start or a seek the queues may still be filling.
    private static let fillingTime = MediaTime.seconds(1)
    /// How often it looks whether playing has come to a stop for want of anything to play.
    private static let stallCheck = MediaTime.milliseconds(100)

    /// What to do next; buffers to give back are added to `returned`.
    mutating func decide(_ pipeline: inout Pipeline, _ returned: inout [PreparedScene]) -> Step {
        pipeline.presenterIsIdle = false
        if pipeline.isStopping { return .stop }
        if pipeline.pending != nil { return .wait(until: nil) }
        let now = now()
        if pipeline.screen.waiting?.isUrgent == true, let repainted = presentRepainted(&pipeline) { return repainted }
        if shownGeneration == pipeline.generation {
            switch pipeline.followUp() {
            case .none: break
            case .dropped: return .wait(until: now)
            case .begun(let void):
                returned += void
                return .seekBegun
            }
        }

        // The first frame of a generation is shown as soon as there is one, whatever the clock says; and so is, while that stands, the
        // first picture after the bare background.
        let stands = !pipeline.playback.isPlaying
        if !pipeline.ready.isEmpty, shownGeneration != pipeline.generation || (stands && pipeline.screen.place?.playthrough == nil) {
            // What was on the screen has not ended: it was left.
            if pipeline.ready[0].enqueued.place.playthrough == nil { present = nil }
            (shownGeneration, shownAt, preroll) = (pipeline.generation, now, Preroll(from: now))
            scheduler.unlock()
            defer { frameOfChange = pipeline.screen.serial }
            return show(0, late: 0, &pipeline, &returned)
        }
        startClock(&pipeline, now)
        let isPlaying = pipeline.playback.isPlaying
        if isPlaying != wasPlaying {
            frameOfChange = pipeline.screen.serial
            scheduler.unlock()
        }
        wasPlaying = isPlaying
        let step = isPlaying ? choose(&pipeline, now, &returned) : nil
        pipeline.pacing = isPlaying ? scheduler.pacing : nil
        if let status = pipeline.playback.statusChange(ranDry: audio.ranDry) { events.append(.statusChanged(status)) }
        if pipeline.awaitsGap, let gap = fillGap(&pipeline, now, instead: step, &returned) {
            // The frame that is missing may be composed meanwhile, in time for its vblank.
            if case .wait = gap { pipeline.presenterIsIdle = true }
            return gap
        }
        if let step { return step }
        if awaitsStart(pipeline) { return .wait(until: isHeld(pipeline) ? pipeline.scrub.until : now + Self.shortWait) }
        pipeline.presenterIsIdle = true
        // Nobody says so when the sound runs dry.
        return .wait(until: pipeline.playback.status == .playing ? now + Self.stallCheck : nil)
    }

    // MARK: Choosing

    /// Whether only the clock is missing. The bare background needs none: what follows it is shown at once, and begins then.
    private func awaitsStart(_ pipeline: borrowing Pipeline) -> Bool {
        pipeline.playback.phase == .waiting && shownGeneration == pipeline.generation
            && (pipeline.screen.place?.playthrough != nil || pipeline.playback.isComplete)
    }

    /// Whether the slider is held, and the picture is to stand meanwhile.
    private func isHeld(_ pipeline: borrowing Pipeline) -> Bool { pipeline.scrub.isHeld && !pipeline.cursor.rules.playsWhileScrubbing }

    private mutating func startClock(_ pipeline: inout Pipeline, _ now: HostTime) {
        guard awaitsStart(pipeline) else { return }
        pipeline.scrub.passed(now)
        if isHeld(pipeline) { return }
        let isFull = !pipeline.hasRoomForFrame || audio.isFull || pipeline.playback.isComplete
        guard preroll.isReady(at: now, level: audio.time(ofSample: Double(audio.available)), demand: audio.cardDemand, isFull: isFull)
        else { return }
        pipeline.playback.clockStarted()
        StartTrace.reached(.clockStarted)
        audioOutput.interrupt()  // what the card still holds is silence
    }

    private mutating func choose(_ pipeline: inout Pipeline, _ now: HostTime, _ returned: inout [PreparedScene]) -> Step? {
        candidates.removeAll(keepingCapacity: true)
        for index in 0..<pipeline.ready.count {
            candidates.append(
                .init(start: pipeline.ready[index].enqueued.place.start, cadence: pipeline.ready[index].enqueued.place.cadence))
        }
        if !candidates.isEmpty {
            // What is still to be shown before a live stream is locked as ever.
            let serial = pipeline.ready[0].enqueued.place.playthrough?.serial
            scheduler.senderRatio = pipeline.livePace.flatMap { $0.serial == serial ? $0.ratio : nil }
        }
        let decision = scheduler.decide(now: now, ready: candidates, clock: { audio.timelineTime(at: $0, now: now) })
        pipeline.setOverdue(scheduler.overdue)
        if abs(scheduler.soundRatio - audio.ratio) > 2e-6 { audio.ratio = scheduler.soundRatio }
        switch decision {
        case .show(let index, let late, let vblank):
            // As the scheduler was told, until the next flip: one that commits ahead of the vblank would never be asked in time for it
            // else.
            if !reportsVblank, vblank - now > .milliseconds(1) { return .wait(until: vblank - MediaTime(nanoseconds: 300_000)) }
            if reportsVblank, index == 0, late == 0 || !scheduler.isLocked, let limit = limitForOverlay(pipeline, now, vblank) {
                return .wait(until: limit)
            }
            return show(index, late: late, due: reportsVblank ? vblank : nil, &pipeline, &returned)
        case .wake(let time):
            return .wait(until: max(time, now + MediaTime(nanoseconds: 100_000)))
        case .idle:
            if !candidates.isEmpty { return .wait(until: now + Self.shortWait) }  // the clock has no reading yet
            return endOfPlaylist(&pipeline, now)
        }
    }

    private mutating func endOfPlaylist(_ pipeline: inout Pipeline, _ now: HostTime) -> Step? {
        guard pipeline.playback.isComplete, pipeline.frames.isEmpty, !pipeline.isComposing, let end = pipeline.screen.place?.end
        else { return nil }
        let time = audio.timelineTime(at: now) ?? .zero
        // The last sample may lie a fraction of a frame before the last picture's end; what ran dry has ended.
        // Nobody says so when it does, and what stands beneath sound alone has no end of its own.
        if time < end, !audio.ranDry { return .wait(until: now + min(Self.stallCheck, max(Self.shortWait, end - time))) }
        pipeline.playback.playedOut()
        if let present { events.append(.itemEnded(item: present.position.item)) }
        events.append(.playlistEnded)
        return nil
    }

    /// Takes ready frame `index`, drops those before it, and says what to do with it.
    private mutating func show(
        _ index: Int, late: Int, due: HostTime? = nil, _ pipeline: inout Pipeline, _ returned: inout [PreparedScene]
    ) -> Step {
        var starts: Playthrough?
        // Painted for a vblank for which no frame was due, and too late for that.
        if let surplus = pipeline.screen.dropWaiting() { returned.append(surplus) }
        for _ in 0..<index {
            guard let dropped = pipeline.dropReady() else { break }
            if dropped.place.isFirst { starts = dropped.place.playthrough }
            if let composed = dropped.composed { returned.append(composed) }
        }
        guard let (place, composed) = pipeline.showReady() else { return .wait(until: nil) }
        if place.isFirst { starts = place.playthrough }
        let commit = Commit(late: late, due: due, generation: pipeline.generation, place: place, starts: starts)
        if let composed { return .present(composed, begin(commit, pipeline.screen.mark, &pipeline)) }
        _ = pipeline.commitsOverlay(pipeline.screen.mark)
        // No display: the frame counts as shown, so that the timeline goes on without one. If it is back, the frame is painted again.
        if output.mode != nil { pipeline.repaint() }
        reached(commit, at: nil, &pipeline)
        return .shownWithoutDisplay
    }

    /// A commit is on its way to the screen, of a scene with this mark or of the overlay alone.
    mutating func begin(_ commit: Commit, _ mark: OverlayMark?, _ pipeline: inout Pipeline) -> Commit {
        var commit = commit
        lastID += 1
        (commit.id, commit.overlay) = (lastID, pipeline.commitsOverlay(mark))
        pipeline.pending = commit
        return commit
    }

    // MARK: Counting

    /// Counts a frame that has reached the screen at `time` (nil where no display shows it), and tells of the playthrough it begins.
    mutating func reached(_ commit: Commit, at time: HostTime?, _ pipeline: inout Pipeline) {
        if let time { countBuffered(commit, at: time, &pipeline) }
        pipeline.countOverlayLatency(of: commit.overlay, at: time)
        if commit.isOverlayAlone { return }
        guard let place = commit.place else {
            // The same frame once more.
            if time != nil { pipeline.statistics.countShown(nil, late: commit.late) }
            return
        }
        if time != nil, place.playthrough != nil { StartTrace.reached(place.start > .zero ? .moved : .shown) }
        pipeline.countLeftOut(before: place, commit.generation)
        pipeline.countInputLatency(of: commit.generation, at: time)
        if let starts = commit.starts { pipeline.statistics.beginTurn(starts.position.item) }
        if time != nil { pipeline.statistics.countShown(place.playthrough?.position.item, late: commit.late) }
        if let starts = commit.starts { begin(starts, late: commit.late, isSeen: time != nil, &pipeline) }
        // The bare background follows when nothing can be played any more.
        if place.playthrough == nil, let ended = present.take() { events.append(.itemEnded(item: ended.position.item)) }
    }

    /// Compares picture and sound, and what lies ready, at a flip.
    private func countBuffered(_ commit: Commit, at time: HostTime, _ pipeline: inout Pipeline) {
        // A still has no sound of its own, and a pause no time.
        guard let place = commit.place, place.cadence != nil, pipeline.playback.isPlaying, let heard = audio.timelineTime(at: time)
        else { return }
        pipeline.statistics.synchrony.count(heard - place.start)
        guard time - shownAt > Self.fillingTime else { return }
        let level = BufferLevel(frames: pipeline.framesAhead, sound: audio.ahead(of: heard))
        pipeline.statistics.leastBuffered = level.least(pipeline.statistics.leastBuffered)
    }

    private mutating func begin(_ playthrough: Playthrough, late: Int, isSeen: Bool, _ pipeline: inout Pipeline) {
        let item = playthrough.position.item
        if playthrough.position.isPaused, case .changed = pipeline.playback.pause() { audioOutput.interrupt() }
        if playthrough.isSeam {
            if isSeen { pipeline.statistics.countSeam(item, late: late) }
            if let present { events.append(.itemEnded(item: present.position.item)) }
        }
        present = playthrough
        events.append(.itemStarted(item: item, isSeam: playthrough.isSeam, late: late))
    }
}
