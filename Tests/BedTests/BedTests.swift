import Bed
import Testing

/// The picture and the sound that a viewer gets. The kernel's own log of scanned-out frames and the sound card's input are the judges.
///
/// Each test is one run or two, named for its events. Tests in virtual time run in parallel.
@Suite(.enabled(if: Bed.unavailability == nil, "no test bed: \(Bed.unavailability ?? "")"), .onBed)
struct BedTests {}

/// Keeps the folders of a test's runs until the test is over. Removes them if it passed, and names them in the issue if it failed. Cancels
/// a test if the host starved all its runs or was too slow: it neither passed nor failed.
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

/// Expects kiosk to report its losses. Frames that are missing in the kernel's log are the player's `dropped`. The frame after one that
/// stood too long is late. So are the frames after it until the player has caught up, one for each frame that stood too short. The player's
/// `late` lies between those two counts. It excludes stalls of picture and sound together, which the player reports, too.
func expectLossesToBeSaid(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let told = record.statistics else {
        Issue.record("kiosk said nothing about what it showed", sourceLocation: sourceLocation)
        return
    }
    // The start decides how long the first frame stands, and the last frame's time was not over.
    let holds = record.frames.dropFirst().dropLast().map(\.vblanks)
    let (long, short) = (holds.count { $0 > 2 }, holds.count { $0 < 2 })
    #expect(told.dropped == record.lostFrames(of: told.shown), "\(holds)", sourceLocation: sourceLocation)
    let least = max(0, long - told.stalls.count)
    #expect((least...long + short).contains(told.late), "\(told), of \(long) and \(short)", sourceLocation: sourceLocation)
}

/// Expects kiosk's counts, in total and for each item, to match the kernel's. The frame on its way at the end may differ.
func expectCountsToAgree(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let told = record.statistics else {
        Issue.record("kiosk said nothing about what it showed", sourceLocation: sourceLocation)
        return
    }
    #expect(abs(told.shown - record.frames.count) <= 1, "\(told.shown), \(record.frames.count)", sourceLocation: sourceLocation)
    #expect(told.seams == record.seams.count, sourceLocation: sourceLocation)
    // With more frames than the display can show, another frame may be nearer to a vblank than the ready one. That counts as late, and no
    // log shows it.
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
    /// Returns the number of clip frames that the display skipped between the first and the last of `count` frames. kiosk knows of these
    /// `count` frames only: it has not yet counted losses before the frame on its way at the end.
    fileprivate func lostFrames(of count: Int) -> Int {
        func clip(_ number: Int) -> ClosedRange<Int>? { clips.first { $0.numbers.contains(number) }?.numbers }
        let frames = frames.prefix(count)
        return zip(frames, frames.dropFirst()).reduce(0) { sum, pair in
            guard let before = clip(pair.0.number), let after = clip(pair.1.number) else { return sum }
            if before == after, pair.1.number > pair.0.number { return sum + pair.1.number - pair.0.number - 1 }
            return sum + before.upperBound - pair.0.number + pair.1.number - after.lowerBound
        }
    }

    /// Returns the delay of the beep in seconds for each flash: a frame with this number, or with one `count` numbers on.
    func offsets(ofFlash number: Int, every count: Int) -> [Double] {
        let beeps = sound?.onsets ?? []
        return frames.filter { $0.number % count == number % count }.compactMap { flash in
            beeps.map { ($0 - flash.time) / .seconds(1) }.min { abs($0) < abs($1) }
        }
    }
}
