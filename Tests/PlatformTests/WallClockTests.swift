import Foundation
import Testing

@testable import KioskPlatform

private let now: Int64 = 1_800_000_000

/// Whether the time of day can be believed, by files as the kernel and systemd have them.
@Suite struct WallClockTests {
    @Test(
        arguments: [
            // Nobody knows better: a clock before the program was made is wrong, another one is taken for right.
            (60, nil, nil, false), (now, nil, nil, true),
            // A battery: it says the same, or it is empty; or it says nothing of use.
            (now, "\(now - 100)", nil, true), (now, "400", nil, false), (60, "60", nil, false), (now, "\(Int64.min)", nil, false),
            (now, "?", nil, true),
            // systemd-timesyncd has set it, or has not yet.
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
