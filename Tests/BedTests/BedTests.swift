import Bed
import Testing

/// What a viewer sees and hears, judged by the kernel's own log of what was scanned out and by what the sound card was fed.
///
/// Each test is one run or two, named for what happens in it; those in virtual time run beside each other.
@Suite(.enabled(if: Bed.unavailability == nil, "no test bed: \(Bed.unavailability ?? "")"), .onBed)
struct BedTests {}

/// Keeps the folders of a test's runs until the test is over: removed where it passed, named in the issue where it failed. A test whose
/// runs were all starved by the host, or found it too slow, is cancelled: it neither passed nor failed.
struct OnBed: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func scopeProvider(for test: Test, testCase: Test.Case?) -> OnBed? { testCase == nil ? nil : self }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let folders = Bed.Folders()
        let naming = IssueHandlingTrait.compactMapIssues { issue in
            guard issue.isFailure, !folders.all.isEmpty else { return issue }
            folders.areNeeded = true
            var issue = issue
            issue.comments.append("the run is kept in \(folders.all.joined(separator: " "))")
            return issue
        }
        try await Bed.$folders.withValue(folders) {
            do {
                try await Bed.$attempts.withValue(3) {
                    try await naming.provideScope(for: test, testCase: testCase, performing: function)
                }
            } catch let error as BedError {
                switch error {
                case .starved, .unable:
                    folders.remove()
                    try Test.cancel("\(error)")
                case .unavailable, .failed: throw error
                }
            }
        }
        if !folders.areNeeded { folders.remove() }
    }
}

extension Trait where Self == OnBed {
    static var onBed: OnBed { OnBed() }
}

/// The frames that are missing in the kernel's log are the player's `dropped`. The frame after one that stood too long came late, and so
/// did those after it until it had caught up, one for each frame that stood too short: between the two lies the player's `late`; unless the
/// sound stood still with the picture, which the player says, too.
func expectLossesToBeSaid(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let told = record.statistics else {
        Issue.record("kiosk said nothing about what it showed", sourceLocation: sourceLocation)
        return
    }
    // How long the first one stands is a matter of the start, and the last one's time was not over.
    let holds = record.frames.dropFirst().dropLast().map(\.vblanks)
    let (long, short) = (holds.count { $0 > 2 }, holds.count { $0 < 2 })
    #expect(told.dropped == record.lostFrames(of: told.shown), "\(holds)", sourceLocation: sourceLocation)
    let least = max(0, long - told.stalls.count)
    #expect((least...long + short).contains(told.late), "\(told), of \(long) and \(short)", sourceLocation: sourceLocation)
}

/// What kiosk counted, in all and for each item, is what the kernel saw: but for the frame that was on its way when kiosk was asked to end.
func expectCountsToAgree(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let told = record.statistics else {
        Issue.record("kiosk said nothing about what it showed", sourceLocation: sourceLocation)
        return
    }
    #expect(abs(told.shown - record.frames.count) <= 1, "\(told.shown), \(record.frames.count)", sourceLocation: sourceLocation)
    #expect(told.seams == record.seams.count, sourceLocation: sourceLocation)
    // Of more frames than the display can show another one may be nearer to a vblank than the one that was ready: late, which no log shows.
    let isSlow = record.clips.contains { $0.frameRate > record.refreshRate * 1.005 }
    #expect(isSlow || told.worstSeam == record.seams.map(\.latePresents).max(), sourceLocation: sourceLocation)
    #expect(told.flipsLost == 0, sourceLocation: sourceLocation)
    #expect(told.dropped == record.lostFrames(of: told.shown), sourceLocation: sourceLocation)

    let items = record.itemStatistics
    #expect(record.clips.count == 1 ? items.isEmpty : items.count == record.clips.count, sourceLocation: sourceLocation)
    for clip in record.clips where record.clips.count > 1 {
        let name = clip.path.split(separator: "/").last.map(String.init) ?? ""
        let (frames, seams) = (
            record.frames.filter { clip.numbers.contains($0.number) }, record.seams.filter { clip.numbers.contains($0.first.number) }
        )
        guard let told = items[name] else {
            Issue.record("kiosk said nothing about \(name)", sourceLocation: sourceLocation)
            continue
        }
        #expect(abs(told.shown - frames.count) <= 1, "\(name): \(told), \(frames.count)", sourceLocation: sourceLocation)
        #expect(told.seams == seams.count, "\(name)", sourceLocation: sourceLocation)
        #expect(isSlow || told.worstSeam == seams.map(\.latePresents).max(), "\(name)", sourceLocation: sourceLocation)
    }
    #expect(record.clips.count == 1 || items.values.map(\.dropped).reduce(0, +) == told.dropped, sourceLocation: sourceLocation)
}

extension Record {
    /// Frames of the clips that the display never showed between the first and the last that it did, of the `count` that kiosk knows of: what was
    /// left out before the one that was on its way at the end has not been missed yet.
    fileprivate func lostFrames(of count: Int) -> Int {
        func clip(_ number: Int) -> ClosedRange<Int>? { clips.first { $0.numbers.contains(number) }?.numbers }
        let frames = frames.prefix(count)
        return zip(frames, frames.dropFirst()).reduce(0) { sum, pair in
            guard let before = clip(pair.0.number), let after = clip(pair.1.number) else { return sum }
            if before == after, pair.1.number > pair.0.number { return sum + pair.1.number - pair.0.number - 1 }
            return sum + before.upperBound - pair.0.number + pair.1.number - after.lowerBound
        }
    }

    /// For each flash of a frame with this number, and every `count` numbers on, by how many seconds its beep came later.
    func offsets(ofFlash number: Int, every count: Int) -> [Double] {
        let beeps = sound?.onsets ?? []
        return frames.filter { $0.number % count == number % count }.compactMap { flash in
            beeps.map { ($0 - flash.time) / .seconds(1) }.min { abs($0) < abs($1) }
        }
    }
}
