import KioskPlatform
import KioskVocabulary

/// Chooses which of the due pictures a vblank of a film shows. A pure value.
///
/// A display shows the newest due picture and skips older ones not yet shown. If pictures follow each other unevenly, as a telephone
/// records them, two can be due at one vblank although there are enough vblanks for both. A film then shows the first, and the other a
/// vblank later. It skips no picture unless one would come so late that the ear notices.
package struct FilmGrid: Hashable, Sendable {
    /// The vblanks in a second.
    private let rate: FrameRate
    /// The longest time after its own at which a picture may be shown. A picture is shown at the vblank nearest to its time, up to half a
    /// vblank late. One vblank more is allowed, as long as this makes the sound no more than 45 ms early (ITU-R BT.1359).
    private let latest: MediaTime

    /// Creates the grid of a film of this rate.
    package init(_ rate: FrameRate) {
        self.rate = rate
        let half = rate.time(of: 1).scaled(by: 0.5)
        latest = max(half, min(half.scaled(by: 3), .milliseconds(45)))
    }

    /// Returns the index of the picture to show at `instant`, the time of a vblank, if those up to index `due` are due. This is usually
    /// `due`, otherwise an older one that can still be shown.
    ///
    /// - Parameters:
    ///   - cadence: The average duration of pictures; nil if unknown. If it is less than a vblank, some are skipped anyway.
    ///   - start: Returns when a picture begins, by its index.
    func picture(upTo due: Int, at instant: MediaTime, cadence: MediaTime?, start: (Int) -> MediaTime) -> Int {
        if let cadence, cadence < rate.time(of: 1).scaled(by: 0.99) { return due }
        return (0..<due).first { instant - start($0) <= latest } ?? due
    }

    /// Returns the number of pictures of a clip that would not be shown, if they begin at `times`, in order.
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
                // Nothing changes until the next picture is due.
                let seconds = (times[next] - begin - half).seconds
                vblank = max(vblank + 1, Int64(saturating: seconds * rate.hertz))
            }
        }
        return lost
    }
}
