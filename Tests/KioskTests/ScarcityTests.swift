import CTestSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// A machine that has run out of something: the player does not end, and reports the shortage.
@Suite(.blocking, .needs("a build without sanitizers, which need threads and descriptors themselves", !test_is_sanitized()))
struct ScarcityTests {
    @Test("Without threads to spare it waits, says so and ends in order", .needs("root, to be another user", geteuid() == 0))
    func withoutThreads() throws {
        // The player runs as a user without other processes, as root has no limit.
        let limits = "ulimit -u 5; exec setpriv --reuid 64911 --regid 64911 --clear-groups \"$0\" \"$@\""
        let kiosk = try KioskProcess(
            ["--display", "offscreen", "--audio", "off", "/nowhere/at/all.mp4"], in: "/",
            wrapper: ["-u", "XDG_RUNTIME_DIR", "bash", "-c", limits])
        #expect(kiosk.waits(for: "the system starts no further thread"), "\(kiosk.errors)")
        usleep(1_500_000)
        #expect(kiosk.isRunning, "\(kiosk.errors)")
        #expect(kiosk.end() == 0, "\(kiosk.errors)")
        #expect(!kiosk.errors.contains("does not answer"), "\(kiosk.errors)")
    }

    @Test("Without file descriptors to spare it goes on, says so and ends in order", arguments: [7, 9, 12, 16])
    func withoutDescriptors(limit: Int) throws {
        let stage = try PlayTests.Stage()
        let kiosk = try KioskProcess(
            stage.options + PlayTests.clips(), wrapper: ["bash", "-c", "ulimit -n \(limit); exec \"$0\" \"$@\""])
        usleep(2_500_000)
        #expect(kiosk.isRunning, "\(kiosk.errors)")
        #expect(kiosk.end() == 0, "\(kiosk.errors)")
        if limit < 10 {
            #expect(kiosk.errors.contains("no file descriptor is left") || kiosk.errors.contains("Too many open files"), "\(kiosk.errors)")
        }
    }
}
