import KioskPlatform
import Testing

@testable import KioskControlsCore

@Suite struct ScrollTests {
    private static func at(_ milliseconds: Double) -> HostTime { HostTime(nanoseconds: Int64(milliseconds * 1e6)) }
    private func scroll(limit: Double = 100_000) -> Scroll {
        var scroll = Scroll()
        scroll.resize(limit: limit, viewport: 1000, density: 4, at: Self.at(0))
        return scroll
    }

    @Test func `it follows a finger exactly, and the less the further it is drawn beyond an end`() {
        var scroll = scroll()
        scroll.jump(to: 500)
        scroll.hold(at: Self.at(0))
        scroll.drag(by: -120)
        #expect(scroll.position(at: Self.at(10)) == 620)
        scroll.drag(by: 620)
        #expect(scroll.position(at: Self.at(20)) == 0)
        var last = 0.0, steps: [Double] = []
        for _ in 0..<20 {
            scroll.drag(by: 100)
            let place = scroll.position(at: Self.at(30))
            steps.append(last - place)
            last = place
        }
        #expect(steps.first! > 30 && zip(steps, steps.dropFirst()).allSatisfy { $0 > $1 } && steps.allSatisfy { $0 > 0 })
        #expect(last > -500)
        // Held again at its present place, it does not jump.
        scroll.hold(at: Self.at(40))
        #expect(abs(scroll.position(at: Self.at(40)) - last) < 0.001)
    }

    @Test func `let go, it runs out without a jump, slower and slower, and stands still at last`() {
        var scroll = scroll()
        scroll.jump(to: 1000)
        scroll.hold(at: Self.at(0))
        scroll.release(velocity: 4000, at: Self.at(0))
        var place = 1000.0, step = Double.infinity
        var time = 0.0
        while scroll.isMoving(at: Self.at(time)) {
            time += 16
            let next = scroll.position(at: Self.at(time))
            #expect(next - place <= step + 1e-9 && next >= place, "at \(time) ms")
            (step, place) = (next - place, next)
            if time > 10_000 { break }
        }
        #expect(time > 1000 && time < 4000)
        #expect(scroll.position(at: Self.at(20_000)) == scroll.position(at: Self.at(time)) && scroll.velocity(at: Self.at(time)) == 0)
        #expect(abs(scroll.target(at: Self.at(0)) - place) < 0.5)
    }

    @Test(arguments: [50.0, 60, 120, 144]) func `it is in the same place at the same time, whatever is asked in between`(rate: Double) {
        var scroll = scroll(limit: 3000)
        scroll.hold(at: Self.at(0))
        scroll.release(velocity: 5000, at: Self.at(0))
        let other = scroll
        for vblank in 0..<Int(rate * 3) { _ = other.position(at: Self.at(1000 * Double(vblank) / rate)) }
        for time in stride(from: 0.0, to: 3000, by: 100) {
            #expect(other.position(at: Self.at(time)) == scroll.position(at: Self.at(time)))
        }
        #expect(other == scroll)
    }

    @Test func `at the end it overshoots by what it is fast, and comes back to it`() {
        var scroll = scroll(limit: 1000)
        scroll.jump(to: 900)
        scroll.hold(at: Self.at(0))
        scroll.release(velocity: 3000, at: Self.at(0))
        let places = stride(from: 0.0, through: 3000, by: 5).map { scroll.position(at: Self.at($0)) }
        #expect(places.max()! > 1020 && places.max()! < 1200)
        #expect(places.last == 1000 && !scroll.isMoving(at: Self.at(3000)))
        // No jump at the change to the spring.
        for (a, b) in zip(places, places.dropFirst()) { #expect(abs(b - a) < 3000 * 0.005 + 0.5) }
    }

    @Test func `a finger that has rested throws nothing, and a key scrolls to a place and no further`() {
        var speed = FingerSpeed()
        for step in 0..<10 { speed.add(Double(step) * 10, at: Self.at(Double(step) * 8)) }
        #expect(abs(speed.speed(at: Self.at(76)) - 1250) < 1)
        #expect(speed.speed(at: Self.at(200)) == 0)
        var scroll = scroll()
        scroll.go(to: 400, at: Self.at(0))
        scroll.go(to: 800, at: Self.at(100))
        let places = stride(from: 100.0, through: 1500, by: 10).map { scroll.position(at: Self.at($0)) }
        #expect(zip(places, places.dropFirst()).allSatisfy { $0 <= $1 } && places.last == 800)
        scroll.go(to: 1e9, at: Self.at(2000))
        #expect(scroll.target(at: Self.at(2000)) == 100_000)
    }

    @Test func `fewer cards bring back what is beyond their end`() {
        var scroll = scroll()
        scroll.jump(to: 50_000)
        scroll.resize(limit: 100, viewport: 1000, density: 4, at: Self.at(0))
        #expect(scroll.position(at: Self.at(0)) == 50_000 && scroll.isMoving(at: Self.at(0)))
        #expect(scroll.position(at: Self.at(3000)) == 100)
        scroll.release(velocity: .infinity, at: Self.at(4000))
        #expect(scroll.position(at: Self.at(9000)) == 100)
    }
}
