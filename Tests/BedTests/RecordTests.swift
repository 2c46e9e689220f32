import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// `kiosk record`: vivid is the camera, and the microphone hears the sound that is played to the Loopback card.
    @Suite struct Recordings {
        /// Runs a line of shell in the guest, in a folder of the host that the guest may write. Returns the folder and the line's output.
        private func guest(_ name: String, _ script: String) throws -> (folder: String, output: String) {
            let folder = "/tmp/kiosk-bed-record-\(name)-\(UUID().uuidString)"
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let line = "cd \(folder); kiosk=\(try Bed.player()); \(script)"
            return (folder, try Bed.shell(line, arguments: ["-V", "-t", "900", "-w", "/tmp"]))
        }

        func run(_ command: [String]) throws -> Data {
            let program = Process(), output = Pipe()
            program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            program.arguments = command
            (program.standardOutput, program.standardError) = (output, output)
            try program.run()
            let data = try output.fileHandleForReading.readToEnd() ?? Data()
            program.waitUntilExit()
            #expect(program.terminationStatus == 0, "\(command.joined(separator: " "))")
            return data
        }

        /// Returns the times of a film's pictures, in seconds.
        func times(_ path: String) throws -> [Double] {
            let data = try run([
                "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path,
            ])
            return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { Double($0.prefix { $0 != "," }) }
        }

        /// Expects FFmpeg to decode the whole film without a message.
        func expectSound(_ path: String) throws {
            #expect(
                try String(
                    decoding: run([
                        "ffmpeg", "-v", "error", "-i", path, "-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-f", "null", "-",
                    ]), as: UTF8.self)
                    == "")
        }

        private func report(_ folder: String, _ name: String = "report") throws -> [String: Any] {
            let lines = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8).split(separator: "\n")
            let line = Data(try #require(lines.last).utf8)
            return try #require(JSONSerialization.jsonObject(with: line) as? [String: Any])
        }

        /// The card's crystal is off by 200 ppm, which would be 0.12 s in ten minutes. $KIOSK_BED_RECORDING sets another number of seconds:
        /// 3600 takes ten minutes.
        @Test func `sound and picture stay in step`() throws {
            let seconds = ProcessInfo.processInfo.environment["KIOSK_BED_RECORDING"].flatMap { Int($0) } ?? (Proof.isThorough ? 600 : 150)
            let (folder, output) = try guest(
                "step",
                """
                for device in 0 1; do amixer -q -c Loopback cset iface=PCM,name='PCM Rate Shift 100000',device=$device 100020; done
                clicks hw:Loopback,0 \(seconds + 10) >clicks & clicks=$!; sleep 1.37
                $kiosk record --microphone hw:Loopback,1 --size 320x180@30 --duration \(seconds) --json out.mp4 >report; echo $?; kill $clicks
                """)
            #expect(output.hasPrefix("0\n"), "\(output)")
            let report = try report(folder)
            let begin = try #require(report["begin"] as? Double)
            #expect(report["pictures"] as? Int == seconds * 30 && report["dropped"] as? Int == 0)
            let pictures = try times(folder + "/out.mp4")
            let unevenness = pictures.enumerated().map { abs($1 - Double($0) / 30) }.max() ?? 1
            #expect(unevenness < 0.005, "a picture is off by \(unevenness * 1000) ms")

            let clicks = try String(contentsOfFile: folder + "/clicks", encoding: .utf8).split(separator: "\n")
                .compactMap { Double($0.split(separator: " ").last ?? "") }
            let drift = try #require(clicks.last) - clicks[1] - Double(clicks.count - 2)
            #expect(abs(drift) > 150e-6 * Double(seconds), "the card keeps step by itself: nothing is shown")
            let samples = try run([
                "ffmpeg", "-v", "error", "-i", folder + "/out.mp4", "-vn", "-ac", "1", "-ar", "16000", "-f", "s16le", "-",
            ])
            .withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
            var (errors, index) = ([Double](), 0)
            while index < samples.count {
                if samples[index] > 8000 {
                    let time = begin + Double(index) / 16000
                    errors.append(clicks.map { time - $0 }.min { abs($0) < abs($1) } ?? 1)
                    index += 8000
                } else {
                    index += 1
                }
            }
            #expect(errors.count >= seconds - 1)
            let worst = errors.map(abs).max() ?? 1
            #expect(worst < 0.02, "a click is off by \(worst * 1000) ms")
            print("in step: \(errors.count) clicks, at most \(worst * 1000) ms off")
        }

        @Test func `dropped pictures are counted, and the others keep their time`() throws {
            let (folder, _) = try guest(
                "dropped",
                """
                camera /dev/video0 0x00f0f040 10
                $kiosk record --microphone off --size 320x180@30 --duration 60 --json out.mp4 >report
                """)
            let report = try report(folder)
            let (pictures, dropped) = (try #require(report["pictures"] as? Int), try #require(report["dropped"] as? Int))
            #expect(dropped > 100 && abs(pictures + dropped - 1800) <= 2, "\(pictures) and \(dropped)")
            for time in try times(folder + "/out.mp4") {
                let place = time * 30
                #expect(abs(place - place.rounded()) < 0.2)
            }
            try expectSound(folder + "/out.mp4")
        }

        /// Kills the process at twenty different instants, six in make test. File data that the kernel has not yet written to the disk
        /// survives that, unlike a power cut: RecordingTests cuts files off anywhere.
        @Test func `a recorder that is killed leaves a film`() throws {
            let instants = (0..<(Proof.isThorough ? 20 : 6)).map { 2 + Double(($0 * 7919) % 613) / 100 }
            let script =
                instants.enumerated().map { index, instant in
                    """
                    mkdir \(index); $kiosk record --microphone hw:Loopback,1 --size 320x180@30 --json \(index)/out.mp4 >\(index)/report & recorder=$!
                    sleep \(instant); kill -KILL $recorder; wait $recorder; ls -la \(index)/.out.mp4.part >>left
                    """
                }.joined(separator: "\n")
                + "\nfor n in \(instants.indices.map(String.init).joined(separator: " ")); do $kiosk record --microphone off --size 320x180@30 --duration 0.2 $n/next.mp4; done"
            let (folder, _) = try guest("cut", script)
            for (index, instant) in instants.enumerated() {
                let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(index)").sorted()
                #expect(names == ["next.mp4", "out.mp4", "report"], "\(names)")
                let path = "\(folder)/\(index)/out.mp4"
                try expectSound(path)
                // The length at the kill, as the recorder had reported it.
                let last = try report(folder, "\(index)/report")["elapsed"] as? Double ?? 0
                let end = try times(path).max() ?? 0
                #expect(end > last - 1 && last > instant - 1.2, "killed at \(instant) s, said \(last) s, left \(end) s")
            }
        }

        @Test func `a camera that is unplugged, and a disk that is full, leave a film and say so`() throws {
            let (folder, output) = try guest(
                "faults",
                """
                $kiosk record --microphone hw:Loopback,1 --size 320x180@30 gone.mp4 2>gone & recorder=$!
                sleep 5; camera /dev/video0 0x00f0f041 1; wait $recorder; echo $?
                mkdir /run/small; mount -t tmpfs -o size=20M none /run/small
                (sleep 0.3; head -c 12000000 /dev/zero >/run/small/other) &
                $kiosk record --microphone hw:Loopback,1 --size 320x180@30 --quality 1 /run/small/full.mp4 2>full; echo $?; cp /run/small/full.mp4 .
                """)
            #expect(output.split(separator: "\n").filter { $0 == "1" }.count == 2, "\(output)")
            #expect(try String(contentsOfFile: folder + "/gone", encoding: .utf8).contains("/dev/video0 was unplugged"))
            #expect(try String(contentsOfFile: folder + "/full", encoding: .utf8).contains("its disk is full; the recording ends here"))
            for name in ["gone.mp4", "full.mp4"] { try expectSound("\(folder)/\(name)") }
            let end = try times(folder + "/gone.mp4").max() ?? 0
            #expect(abs(end - 5) < 0.3)
        }

        @Test func `pauses are cut out, and the next recorder is told who has the camera`() throws {
            let (folder, output) = try guest(
                "pause",
                """
                $kiosk record --microphone hw:Loopback,1 --size 320x180@30 --json out.mp4 >report & recorder=$!
                sleep 4; kill -USR1 $recorder; sleep 3
                $kiosk record --microphone off other.mp4 2>&1; kill -USR1 $recorder; sleep 3; kill -INT $recorder; wait $recorder; echo $?
                """)
            #expect(output.contains("/dev/video0 is in use by kiosk (pid ") && output.hasSuffix("0\n"), "\(output)")
            let pictures = try times(folder + "/out.mp4")
            #expect(abs((pictures.last ?? 0) - 7) < 0.3)
            #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $1 - $0 < 0.07 })
            try expectSound(folder + "/out.mp4")
        }
    }
}
