import KioskPlatform
import KioskVocabulary

/// Which of the pictures that are due a vblank of a film shows. A pure value.
///
/// A display shows the newest picture that is due, and leaves out those before it that have not been seen. Where pictures follow each other
/// unevenly, as a telephone records them, two can be due at one vblank though there are vblanks enough for both. In a film the first is shown
/// then, and the other a vblank later: none is left out as long as none comes so late that the ear notices.
package struct FilmGrid: Hashable, Sendable {
    /// Vblanks a second.
    private let rate: FrameRate
    /// How long after its time a picture may be shown at most. A picture is shown at the vblank nearest to its time, up to half a vblank late;
    /// one vblank more is allowed, as far as the sound is not more than 45 ms early by that (ITU-R BT.1359).
    private let latest: MediaTime

    /// The vblanks of a film of this rate.
    package init(_ rate: FrameRate) {
        self.rate = rate
        let half = rate.time(of: 1).scaled(by: 0.5)
        latest = max(half, min(half.scaled(by: 3), .milliseconds(45)))
    }

    /// Which picture to show at `instant`, the time of a vblank, where those up to index `due` are due: mostly that one, else an older one that
    /// can still be shown.
    ///
    /// - Parameters:
    ///   - cadence: how long pictures stand on average; nil where nobody knows. Where that is less than a vblank, some are left out anyway.
    ///   - start: when a picture begins, by its index.
    func picture(upTo due: Int, at instant: MediaTime, cadence: MediaTime?, start: (Int) -> MediaTime) -> Int {
        if let cadence, cadence < rate.time(of: 1).scaled(by: 0.99) { return due }
        return (0..<due).first { instant - start($0) <= latest } ?? due
    }

    /// How many pictures of a clip that begin at `times`, in order, would not be shown.
    package func lostCount(of times: [MediaTime]) -> Int {
        guard let begin = times.first else { return 0 }
        let half = rate.time(of: 1).scaled(by: 0.5)
        var lost = 0, next = 0, vblank: Int64 = 0
        while next < times.count {
            let instant = rate.time(of: vblank)
            var due = next
            while due < times.count, times[due] - begin <= instant + half { due += 1 }
            if due > next {
                let first = next
                let chosen = first + picture(upTo: due - 1 - first, at: instant, cadence: nil) { times[first + $0] - begin }
                lost += chosen - first
                next = chosen + 1
                vblank += 1
            } else {
                // Nothing changes before the next picture is due.
                let seconds = (times[next] - begin - half).seconds
                vblank = max(vblank + 1, Int64(saturating: seconds * rate.hertz))
            }
        }
        return lost
    }
}
