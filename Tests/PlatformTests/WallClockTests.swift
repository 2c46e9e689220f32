import Foundation
import Testing

@testable import KioskPlatform

private let now: Int64 = 1_800_000_000

/// Tests whether kiosk trusts the wall clock, with files as the kernel and systemd write them.
@Suite struct WallClockTests {
    @Test(
        arguments: [
            // No other evidence: a clock before the program's build is wrong, any other is right.
            (60, nil, nil, false), (now, nil, nil, true),
            // A battery-backed clock agrees, is reset, or shows nothing useful.
            (now, "\(now - 100)", nil, true), (now, "400", nil, false), (60, "60", nil, false), (now, "\(Int64.min)", nil, false),
            (now, "?", nil, true),
            // systemd-timesyncd has set the clock, or not yet.
            (now, nil, true, true), (now, nil, false, false), (now, "400", true, true), (now, "\(now)", false, true),
            (60, nil, true, false),
        ] as [(Int64, String?, Bool?, Bool)])
    func whatMakesAClockRight(seconds: Int64, battery: String?, isSynchronized: Bool?, isRight: Bool) throws {
        let root = NSTemporaryDirectory() + "kiosk-clock-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        func write(_ path: String, _ text: String) throws {
            let url = URL(fileURLWithPath: root + path)
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        if let battery { try write("/sys/class/rtc/rtc0/since_epoch", battery + "\n") }
        if let isSynchronized { try write("/run/systemd/timesync/\(isSynchronized ? "synchronized" : "other")", "") }
        #expect(WallClock.read(root: root, seconds: seconds) == WallClock(seconds: seconds, isRight: isRight))
    }
}
