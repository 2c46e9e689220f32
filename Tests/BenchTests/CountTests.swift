import Testing

@testable import Bed
@testable import Bench

@Suite struct CountTests {
    @Test func `system calls are added up without those that are none elsewhere`() {
        let summary = """
            % time     seconds  usecs/call     calls    errors syscall
            ------ ----------- ----------- --------- --------- ------------------
             66.67    0.016000           1      8329      1523 futex
             16.67    0.004000           0     24524           clock_gettime
              0.00    0.000000           0       117           poll
            ------ ----------- ----------- --------- --------- ------------------
            100.00    0.024000           0     32970      1523 total
            """
        #expect(Count.systemCalls.total([summary]) == 8446)
        #expect(Count.systemCalls.total(["strace: Can't stat 'mpv': No such file or directory"]) == nil)
    }

    @Test func `instructions are those of all processes`() {
        let logs = [
            "==26== \n==26== Events    : Ir\n==26== Collected : 1460508174\n==26== I   refs:      1,460,508,174\n",
            "==28== Collected : 114442312\n",
        ]
        #expect(Count.instructions.total(logs) == 1_574_950_486)
        #expect(Count.instructions.total(["==26== I can't recover.  Giving up.  Sorry.\n"]) == nil)
    }

    @Test func `a frame costs what a longer run has counted more, by the frames it has shown more`() {
        let short = Counted(total: 5000, frames: 60)
        #expect(short.perFrame(until: Counted(total: 8300, frames: 210)) == 22)
        #expect(short.perFrame(until: Counted(total: 8300, frames: 60)) == nil)
    }

    @Test func `the tool comes before the player, and the order to end reaches the player`() throws {
        let run = Run(
            name: "", duration: .seconds(1), clips: [], program: .under(["strace", "-c"], .command(["mpv", "a.mp4"])), machine: Machine(),
            timeline: ActionTimeline())
        #expect(try run.command("/tmp/run") == ["strace", "-c", "mpv", "a.mp4"])
        #expect(Count.systemCalls.tool("/tmp/calls", milliseconds: 2000) == ["strace", "-f", "-c", "-o", "/tmp/calls", "timeout", "2.0"])
        #expect(Count.instructions.tool("/tmp/ir", milliseconds: 500).dropFirst(3).starts(with: ["timeout", "0.5", "valgrind"]))
        // Two guests run at once, and their process numbers may be the same.
        #expect(Count.instructions.tool("/tmp/run/ir-500", milliseconds: 500).contains("TMPDIR=/tmp/run/temporary-ir-500"))
    }

    @Test func `what was counted has a table of its own, and no row among the runs`() throws {
        var counted = Series(scenario: "2160p30@60-on-1080p", player: "kiosk")
        counted.samples = [.systemCalls: [22.14], .instructions: [94.4]]
        let findings = Findings(circumstances: .example, series: [counted])
        #expect(findings.table([.firstPicture]) == nil)
        let table = try #require(findings.countTable)
        #expect(table.heading == ["case", "player", "system calls a frame", "instructions a frame, millions"])
        #expect(table.rows == [["2160p30@60-on-1080p", "kiosk", "22.1", "94.4"]])
    }
}
