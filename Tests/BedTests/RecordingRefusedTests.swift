import Bed
import Foundation
import Testing

/// Devices that another process holds, or that the player may not open. The viewer gets a short message, programs a long one, and the
/// playlist goes on.
extension BedTests.Recordings {
    @Test func `a camera or microphone in use, and a camera that may not be opened, are told of, and the playlist misses no vblank`()
        async throws
    {
        let stage = try Stage()
        defer { stage.remove() }
        // Root can open any device, except without these capabilities.
        let program = Program.under(
            ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"], stage.program(microphone: "hw:Loopback,1,0"))
        let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
        let record = try await Bed.run("record-refused", for: .seconds(38), playing: [stage.clip], program, on: machine) { at in
            at(1, .shell("ffmpeg -nostdin -v error -f v4l2 -video_size 640x360 -i /dev/video0 -t 4 -f null -; echo $?"), "other camera")
            at(3, .tap(640, 200), "camera in use")
            at(4, .screenshot(), "camera in use")
            at(4.2, .shell("\(stage.ctl) record status"), "camera in use, status")
            at(12, .shell("arecord -q -D hw:Loopback,1,0 -f S16_LE -r 48000 -c 2 -d 4 /dev/null; echo $?"), "other microphone")
            at(14, .tap(640, 200), "microphone in use")
            at(15, .screenshot(), "microphone in use")
            at(15.2, .shell("\(stage.ctl) record status"), "microphone in use, status")
            at(23, .shell("chmod 000 /dev/video*"))
            at(24, .tap(640, 200), "no permission")
            at(25, .screenshot(), "no permission")
            at(25.2, .shell("\(stage.ctl) record status"), "no permission, status")
            // With the permission back, the camera is there.
            at(33, .shell("chmod 660 /dev/video*"))
            at(34, .tap(640, 200), "again")
            at(36, .shell("\(stage.ctl) record status"), "again, status")
        }
        if let folder = ProcessInfo.processInfo.environment["KIOSK_CONTROLS_PICTURES"] {
            for (name, picture) in record.screenshots { try picture.write(to: "\(folder)/record-\(name).png") }
        }
        let said = [
            "camera in use": #/failure: /dev/video0 is in use by ffmpeg \(pid \d+\)/#,
            "microphone in use": #/failure: hw:Loopback,1,0 is in use by arecord \(pid \d+\)/#,
            "no permission": #/failure: no permission to open /dev/video0: add the user to the group video/#,
        ]
        for (name, failure) in said {
            let status = record.outputs[name + ", status"] ?? ""
            #expect(status.contains("state: idle") && status.contains(failure), "\(name): \(status)")
            // A line stands on the screen for six seconds.
            let changes = record.overlayChanges().filter { $0.time > record.time(of: name) }
            let shown = try #require(changes.first), hidden = try #require(changes.first { $0.kind == .hidden })
            let (after, length) = (shown.time - record.time(of: name), hidden.time - shown.time)
            #expect(shown.kind == .shown && after < .seconds(1), "\(name): \(shown.kind) after \(after)")
            #expect(length > .seconds(5.5) && length < .seconds(7), "\(name): \(length)")
        }
        for (name, output) in record.outputs where name.hasPrefix("other") { #expect(output.contains("0"), "\(name): \(output)") }
        #expect(record.outputs["again, status"]?.contains("state: framing") == true, "\(record.outputs)")
        // The playlist, from its start until the camera appears.
        let frames = record.frames.filter { $0.time > .seconds(1) && $0.time < record.time(of: "again") }
        let (wrong, seams) = (record.wrongHolds(from: .seconds(1)).filter { $0.time < record.time(of: "again") }, record.seams)
        #expect(frames.count > 980 && wrong.isEmpty, "\(frames.count) frames, \(wrong)")
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $1.number == $0.number % 150 + 1 && $1.vblanksBefore == 0 })
        #expect(seams.count >= 6 && seams.allSatisfy { $0.isClean }, "\(seams)")
        #expect(record.status == 0)
    }
}
