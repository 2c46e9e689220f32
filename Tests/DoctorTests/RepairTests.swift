import Foundation
import KioskPlatform
import TestSupport
import Testing

@testable import Doctor

/// Tests of `--fix`, below a temporary root and with commands that are only recorded.
@Suite(.blocking) struct RepairTests {
    private let file = Remedy.write(path: "/etc/sysctl.d/kiosk.conf", text: "kernel.sysrq = 0\n")
    private let load = Remedy.run(["systemctl", "restart", "systemd-sysctl.service"])

    @Test("A file is written whole, its folder made; then the command runs; each remedy once") func done() throws {
        let box = try BoxFactsTests.Box()
        try box.write("/etc/passwd")
        let finding = Finding("way-out", .warning, "", remedies: [file, load])
        var ran: [[String]] = []
        let deeds = Repair.run([finding, finding], root: box.root) { words in
            ran.append(words)
            return nil
        }
        #expect(deeds == [.init(remedy: file, failure: nil), .init(remedy: load, failure: nil)])
        #expect(ran == [["systemctl", "restart", "systemd-sysctl.service"]])
        #expect(try String(contentsOfFile: box.root + "/etc/sysctl.d/kiosk.conf", encoding: .utf8) == "kernel.sysrq = 0\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: box.root + "/etc/sysctl.d") == ["kiosk.conf"])
    }

    @Test("A file that is there stays as it is, and what would follow is not done") func refused() throws {
        let box = try BoxFactsTests.Box()
        try box.write("/etc/sysctl.d/kiosk.conf", "kernel.sysrq = 1\n")
        let deeds = Repair.run([Finding("way-out", .warning, "", remedies: [file, load])], root: box.root) { _ in
            Issue.record("nothing should run")
            return nil
        }
        #expect(deeds == [.init(remedy: file, failure: "File exists")])
        #expect(try String(contentsOfFile: box.root + "/etc/sysctl.d/kiosk.conf", encoding: .utf8) == "kernel.sysrq = 1\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: box.root + "/etc/sysctl.d") == ["kiosk.conf"])
    }

    @Test("A command that fails is told with its last line") func failures() {
        #expect(Repair.failure(of: ["sh", "-c", "echo one; echo no such group; exit 6"]) == "status 6: no such group")
        #expect(Repair.failure(of: ["true"]) == nil)
        #expect(Repair.failure(of: ["kiosk-nothing-of-this-name"]) == "No such file or directory")
    }

    @Test("A command that prints much ends, and the end of what it prints is kept") func muchOutput() throws {
        guard case .ended(3, let output) = BoundedCommand.run(["sh", "-c", "seq 100000; exit 3"], limit: .seconds(120)) else {
            Issue.record("it did not end")
            return
        }
        #expect(output.hasSuffix("\n99999\n100000\n") && (65536...131_072).contains(output.utf8.count))
    }
}
