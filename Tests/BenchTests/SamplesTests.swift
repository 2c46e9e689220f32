import Testing

@testable import Bench

@Suite struct SamplesTests {
    @Test func `a median is the middle sample, or the mean of the two in the middle`() {
        #expect(Samples([]).median == nil)
        #expect(Samples([7]).median == 7)
        #expect(Samples([9, 1, 4]).median == 4)
        #expect(Samples([9, 1, 4, 5]).median == 4.5)
        #expect(Samples([2, 6]).median == 4)
    }

    @Test func `a percentile is the smallest sample that so many do not exceed`() {
        let hundred = Samples((1...100).map(Double.init).reversed())
        #expect(hundred.percentile(99) == 99)
        #expect(hundred.percentile(50) == 50)
        #expect(hundred.percentile(100) == 100)
        #expect(Samples((1...22).map(Double.init)).percentile(99) == 22)
        #expect(Samples([]).percentile(99) == nil)
        #expect(Samples([-30, 10, 5]).magnitudes.percentile(99) == 30)
    }
}
