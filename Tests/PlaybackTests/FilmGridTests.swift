import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// The picture that a vblank of a film shows.
@Suite struct FilmGridTests {
    private let grid = FilmGrid(FrameRate(25)!)

    /// Returns the picture shown at a vblank at 200 ms, if pictures are due at `starts`, in milliseconds.
    private func shown(_ starts: [Int64], cadence: Int64? = 40) -> Int {
        grid.picture(upTo: starts.count - 1, at: .milliseconds(200), cadence: cadence.map { .milliseconds($0) }) {
            .milliseconds(starts[$0])
        }
    }

    @Test func ofTwoThatAreDueTheFirstIsShownWhereItIsNotTooLate() {
        #expect(shown([200]) == 0)
        #expect(shown([185, 215]) == 0)
        // 45 ms late, and more than that.
        #expect(shown([155, 205]) == 0)
        #expect(shown([154, 205]) == 1)
        #expect(shown([100, 150, 180, 210]) == 2)
        // All are later than that: the newest one shows.
        #expect(shown([50, 100]) == 1)
    }

    @Test func wherePicturesAreMoreThanVblanksTheNewestIsShown() {
        #expect(shown([190, 210], cadence: 20) == 1)
        #expect(shown([190, 210], cadence: 33) == 1)
        #expect(shown([190, 210], cadence: nil) == 0)
    }

    private func times(_ steps: [Int64]) -> [MediaTime] {
        steps.reduce(into: [MediaTime.seconds(7)]) { $0.append($0.last! + .milliseconds($1)) }
    }

    @Test func lostPictures() {
        #expect(grid.lostCount(of: []) == 0 && grid.lostCount(of: times([])) == 0)
        #expect(grid.lostCount(of: times(Array(repeating: 40, count: 500))) == 0)
        // A gap of an hour costs no work.
        #expect(grid.lostCount(of: times([3_600_000, 40, 40])) == 0)
        // They waver, but too little to lose one.
        #expect(grid.lostCount(of: times((0..<500).map { $0 % 2 == 0 ? 30 : 50 })) == 0)
        #expect(grid.lostCount(of: times(Array(repeating: 20, count: 100))) > 40)
        // 25 a second, and three pictures in a vblank once.
        #expect(grid.lostCount(of: times([40, 40, 40, 20, 20, 40, 40])) == 0)
        #expect(grid.lostCount(of: times([40, 40, 5, 5, 5, 40, 40])) > 0)
    }
}
