import Bed
import Foundation
import Testing

/// A web server in the guest that serves the files of a folder, by their names. It is in Perl, which every Debian has. It understands
/// ranges, as the index of an MP4 may lie at its end. A file below `/live/` becomes a live stream: the server sends it without a length, at
/// `rate` bytes a second.
struct GuestServer {
    let folder: String
    let port: Int
    private let rate: Int

    private static let script = #"""
        use IO::Socket::INET; use Time::HiRes qw(sleep time);
        $SIG{PIPE} = 'IGNORE';
        my ($folder, $port, $rate) = @ARGV;
        my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 16, ReuseAddr => 1) or die "listen: $!";
        while (my $client = $listener->accept) {
            if (fork) { close $client; next }
            my ($method, $path, $first) = ('', '', 0);
            my $status = '200 OK';
            while (my $line = <$client>) {
                last if $line =~ /^\r?\n$/;
                ($method, $path) = ($1, $2) if $line =~ /^(\S+) \/(\S*) HTTP/;
                ($first, $status) = ($1, '206 Partial Content') if $line =~ /^Range: bytes=(\d+)-/i;
                $status = '304 Not Modified' if $line =~ /^If-None-Match: "bed"/i;
            }
            my $isLive = $path =~ s/^live\///;
            open(my $file, '<:raw', "$folder/$path") or do { print $client "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"; exit };
            my $content = do { local $/; <$file> }; my $size = length $content;
            if ($isLive) {
                $client->autoflush(1);
                print $client "HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n";
                my $begin = time;
                for (my $sent = 0; $sent < $size; $sent += 18800) {
                    print $client substr($content, $sent, 18800);
                    my $wait = $begin + $sent / $rate - time;
                    sleep $wait if $wait > 0;
                }
                exit;
            }
            my $body = $status =~ /^304/ || $method eq 'HEAD' ? '' : substr($content, $first);
            print $client "HTTP/1.1 $status\r\nConnection: close\r\nETag: \"bed\"\r\nAccept-Ranges: bytes\r\nContent-Type: video/mp4\r\n";
            print $client "Content-Range: bytes $first-" . ($size - 1) . "/$size\r\n" if $status =~ /^206/;
            print $client "Content-Length: " . ($size - $first) . "\r\n\r\n$body";
            exit;
        }
        """#

    /// Creates a server of the files at these paths.
    ///
    /// - Parameter rate: bytes a second of a live stream.
    init(_ files: [String], port: Int = 8099, rate: Int = 1_000_000) throws {
        folder = NSTemporaryDirectory() + "kiosk-server-\(UUID().uuidString)"
        (self.port, self.rate) = (port, rate)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Self.script.write(toFile: folder + "/server.pl", atomically: true, encoding: .utf8)
        for file in files {
            try FileManager.default.copyItem(atPath: file, toPath: folder + "/" + URL(fileURLWithPath: file).lastPathComponent)
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    /// Starts the server in the guest, and writes its process number to /run/server.
    var start: ActionTimeline.Action {
        .shell("ip link set lo up; setsid perl \(folder)/server.pl \(folder) \(port) \(rate) >/dev/null 2>&1 & echo $! >/run/server")
    }

    /// Returns the URL of a file.
    func url(_ name: String) -> String { "http://127.0.0.1:\(port)/\(name)" }
}

extension BedTests {
    /// A stream between two files: the picture and the sound at their seams.
    @Suite struct StreamSeams {
        private let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }

        private func clips() throws -> [NumberedClip] {
            [try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30)]
        }

        @Test func `a file by HTTP lies between two files, and nobody can tell`() async throws {
            let clips = try clips()
            let server = try GuestServer([clips[1].path])
            defer { server.remove() }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", playlist: ["source = \"\(clips[0].path)\"", "source = \"\(server.url("b.mp4"))\""])
            let record = try await Bed.run("stream-seam", for: .seconds(22), playing: clips, .kiosk(configuration), on: machine) { at in
                at(-0.8, server.start)
            }
            #expect(record.seams.map(\.first.number) == [1001, 1, 1001, 1], "\(record.log.map(\.text))")
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            let tone = record.sound?.tone
            #expect(tone?.phaseJumps == [] && tone?.clicks == [] && record.sound?.holes == [])
            expectEachFrameOnce(record, clips)
            #expect(record.status == 0)
        }

        /// The server sends the stream at its own rate and ends it. The next file is open by then, and the player opens the stream again
        /// ahead of its turn. The stream joins at its newest frame of that moment, and none is missing from there on.
        @Test func `a live stream lies between two files, and no frame is missing or comes twice`() async throws {
            let clips = try clips()
            let stream = NSTemporaryDirectory() + "kiosk-live-\(UUID().uuidString).ts"
            defer { unlink(stream) }
            let ffmpeg = Process()
            ffmpeg.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            ffmpeg.arguments = ["ffmpeg", "-nostdin", "-loglevel", "error", "-i", clips[1].path, "-c", "copy", "-f", "mpegts", stream]
            try ffmpeg.run()
            ffmpeg.waitUntilExit()
            try #require(ffmpeg.terminationStatus == 0)
            let size = try #require(FileManager.default.contents(atPath: stream)).count
            let server = try GuestServer([stream], rate: size / 5)
            defer { server.remove() }
            let name = URL(fileURLWithPath: stream).lastPathComponent
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"",
                playlist: ["source = \"\(clips[0].path)\"", "source = \"\(server.url("live/" + name))\"\nlatency = 0.5"])
            let record = try await Bed.run("live-seam", for: .seconds(22), playing: clips, .kiosk(configuration), on: machine) { at in
                at(-0.8, server.start)
            }
            let joins = record.seams.filter { $0.first.number > 1000 }, returns = record.seams.filter { $0.first.number <= 150 }
            #expect(joins.count == 2 && returns.count >= 1, "\(record.seams), \(record.log.map(\.text))")
            #expect(returns.allSatisfy { $0.isClean }, "\(returns)")
            // The player opens the stream two seconds ahead, and plays it half a second behind.
            #expect(joins.allSatisfy { $0.last.number == 150 && 1001...1070 ~= $0.first.number }, "\(joins)")
            #expect(joins.allSatisfy { $0.darkVblanks == 0 && $0.latePresents == 0 && !$0.isFirstFrameWrong && !$0.isLastFrameShort })
            let shown = record.frames.map(\.number)
            let steps = zip(shown, shown.dropFirst()).filter { $1 != $0 + 1 }
            #expect(steps.count == record.seams.count, "nothing is missing, nothing comes twice: \(steps)")
            #expect(record.sound?.holes == [])
            #expect(record.status == 0)
        }

        /// Expects the frames of the clips in turn, each once, except for the last turn, which is cut off.
        private func expectEachFrameOnce(_ record: Record, _ clips: [NumberedClip]) {
            let shown = record.frames.map(\.number)
            let cycle = clips.flatMap { Array($0.numbers) }
            let expected = shown.indices.map { cycle[$0 % cycle.count] }
            let wrong = zip(shown, expected).enumerated().first { $0.element.0 != $0.element.1 }
            #expect(wrong == nil, "the frame at \(wrong.map { "\($0.offset) is \($0.element.0) instead of \($0.element.1)" } ?? "")")
            #expect(shown.count > 2 * cycle.count - 30, "\(shown.count)")
        }
    }
}
