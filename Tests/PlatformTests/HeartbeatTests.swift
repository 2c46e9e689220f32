import KioskPlatform
import Testing

struct HeartbeatTests {
    @Test func eachPieceOfWorkAndEachRestIsAnotherBeat() {
        let heartbeat = Heartbeat()
        var seen: Set<Heartbeat.Beat> = [heartbeat.last]
        #expect(!heartbeat.last.isAtWork)
        for _ in 0..<3 {
            heartbeat.work()
            #expect(heartbeat.last.isAtWork && seen.insert(heartbeat.last).inserted)
            heartbeat.work()
            #expect(heartbeat.last.isAtWork && seen.insert(heartbeat.last).inserted)
            heartbeat.rest()
            #expect(!heartbeat.last.isAtWork && seen.insert(heartbeat.last).inserted)
        }
    }
}
