import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// A player that takes commands from programs, over its control socket.
    @Suite struct RemoteCommands {
        private static func socket() -> String { NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock" }

        /// Returns a configuration that loops the first `seconds` of `clip`; without `clip`, all of the run's clip.
        private static func configuration(_ socket: String, _ clip: NumberedClip? = nil, seconds: Int = 2) -> KioskConfiguration {
            KioskConfiguration(
                input: "controls = \"none\"", control: "socket = \"\(socket)\"",
                playlist: clip.map { ["source = \"\($0.path)\"\nend = \(seconds)"] } ?? [])
        }

        /// Returns a line of shell that runs kiosk ctl and prints its duration in nanoseconds, by the guest's clock.
        private static func timed(_ words: String, _ socket: String) -> String {
            "a=$(date +%s%N); $(readlink /proc/$PLAYER/exe) ctl --socket \(socket) \(words); s=$?; b=$(date +%s%N); echo status=$s nanoseconds=$((b - a))"
        }

        @Test func `a seek is answered when its frame is on the screen`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let socket = Self.socket()
            defer { unlink(socket) }
            let targets: [(at: Double, to: Double)] = [(1.5, 4), (2.5, 0.5), (3.5, 2)]
            let record = try await Bed.run(
                "seek-by-socket", for: .seconds(5.5), playing: [clip], .kiosk(Self.configuration(socket)), on: Machine { $0.time = .free }
            ) { at in
                for target in targets { at(target.at, .shell(Self.timed("seek \(target.to)", socket)), "to \(target.to)") }
            }
            for target in targets {
                let output = try #require(record.outputs["to \(target.to)"])
                #expect(output.contains("status=0") && output.contains("shown: true"), "\(output)")
                let text = try #require(
                    output.components(separatedBy: "nanoseconds=").last?.trimmingCharacters(in: .whitespacesAndNewlines))
                let asked = record.time(of: "to \(target.to)")
                let number = Int((target.to * 30).rounded()) + 1
                let shown = try #require(record.frames.first { $0.number == number && $0.time > asked })
                // The shell and the program start in no time here: the answer cannot be earlier than the vblank, nor much later.
                let answered = asked + .nanoseconds(try #require(Int64(text)))
                #expect(answered >= shown.time - .milliseconds(1), "answered at \(answered), shown at \(shown.time)")
                #expect(answered < shown.time + .milliseconds(300), "answered at \(answered), shown at \(shown.time)")
            }
            #expect(record.status == 0)
        }

        @Test func `programs that ask and do not listen cost no frame`() async throws {
            let clip = try BedGallery.clip("a", frames: 60, frameRate: 30)
            let socket = Self.socket(), turns = Proof.isThorough ? 6 : 3
            defer { unlink(socket) }
            let player = "p=$(readlink /proc/$PLAYER/exe); "
            let record = try await Bed.run(
                "asked-often", for: .seconds(3 + turns), playing: [clip], .kiosk(Self.configuration(socket, clip)),
                on: Machine { $0.time = .free }
            ) { at in
                // The watching client is stopped midway: its events pile up until the player drops it.
                at(
                    1, .shell(player + "$p ctl --socket \(socket) watch & w=$!; sleep 1; kill -STOP $w; sleep \(turns - 1); kill -KILL $w"),
                    "deaf")
                for turn in 0..<turns {
                    let ask =
                        "for i in 1 2 3 4 5 6 7 8; do $p ctl --socket \(socket) volume $((i * 10)) & $p ctl --socket \(socket) statistics --json & done; wait"
                    at(2 + Double(turn), .shell(player + ask), "turn \(turn)")
                }
            }
            #expect(record.seams.count >= turns / 2 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            for turn in 0..<turns {
                let output = try #require(record.outputs["turn \(turn)"])
                #expect(
                    output.components(separatedBy: "\"queuedFrames\"").count == 9 && output.components(separatedBy: "volume:").count == 9,
                    "\(output)")
            }
            #expect(record.status == 0)
        }

        /// The display goes while the clip plays, and while it is paused, when no time of the item passes.
        @Test func `who observes is told that the display is gone, and that it is back`() async throws {
            let clip = try BedGallery.clip("a", frames: 60, frameRate: 30)
            let socket = Self.socket()
            defer { unlink(socket) }
            let ctl = "$(readlink /proc/$PLAYER/exe) ctl --socket \(socket)"
            let record = try await Bed.run(
                "observed", for: .seconds(12), playing: [clip], .kiosk(Self.configuration(socket, clip)), on: Machine { $0.time = .free }
            ) { at in
                at(1, .shell("\(ctl) watch display audio failure & w=$!; sleep 10; kill $w"), "watch")
                at(2.5, .display(false))
                at(4.5, .display(true))
                at(6, .shell("\(ctl) pause"), "pause")
                at(7, .display(false))
                at(9, .display(true))
            }
            let lines = try #require(record.outputs["watch"]).split(separator: "\n").filter { $0.contains("\"event\":\"display\"") }
            #expect(lines.map { $0.contains("null") } == [true, false, true, false], "\(lines)")
            #expect(lines.filter { $0.contains("Virtual-1") }.count == 2, "\(lines)")
            #expect(record.status == 0)
        }

        /// The client in the guest, in Perl, which every Debian has. It never reads the clock (``Machine/Time/free``).
        private static let client = """
            use IO::Socket::UNIX;
            $SIG{PIPE} = 'IGNORE';
            my ($what, $path, $count) = @ARGV;
            sub client { IO::Socket::UNIX->new(Peer => $path) or die "connect: $!" }
            sub rest { select undef, undef, undef, $_[0] }
            my $answers = 0;
            if ($what eq 'flood') {
                # Twelve requests at once, a hundred times a second.
                my @requests = map { "{\\"command\\":$_}\\n" } '"status"', '"statistics"', '"volume","by":5', '"playlist"', '"volume","by":-5',
                    '"mute","on":false', '"log-level"', '"rate","to":1';
                my ($client, $sent) = (client(), 0);
                while ($sent < $count) {
                    syswrite $client, join '', map { $requests[$sent++ % @requests] } 1 .. 12;
                    for (1 .. 12) { my $line = <$client>; die "ended after $answers" unless $line; $answers++ if $line =~ /"ok":true/ }
                    rest(0.01);
                }
            } elsif ($what eq 'deaf') {
                # Asks on and on and takes no answer, until it is dropped.
                my $client = client();
                1 while defined syswrite $client, "{\\"command\\":\\"statistics\\"}\\n";
                print "dropped: $!\\n";
            } else {
                # Noise, and then a question that makes sense; or a line that does not end.
                srand 7;
                for my $turn (1 .. $count) {
                    my $client = client();
                    my $noise = join '', map { chr int rand 256 } 0 .. rand 2000;
                    syswrite $client, $turn % 20 ? "$noise\\n{\\"command\\":\\"status\\"}\\n" : 'x' x 70000;
                    while (<$client>) { if (/"uptime"|line-too-long/) { $answers++; last } }
                    rest(0.05);
                }
            }
            print "answers=$answers\\n";
            """

        @Test func `a thousand commands a second, one client that is deaf and one that sends noise cost no vblank`()
            async throws
        {
            let machine = Machine { $0.time = .free }
            let record = try await flooded("flooded", for: Proof.isThorough ? 60 : 30, on: machine)
            let noise = try #require(record.outputs["noise"]), deaf = try #require(record.outputs["deaf"])
            #expect(noise.contains("answers=300"), "\(noise)")
            #expect(deaf.contains("dropped: Broken pipe") || deaf.contains("dropped: Connection reset"), "\(deaf)")
        }

        /// In the host's time: answers take the processor's time.
        @Test(.thorough("real time")) func `a thousand commands a second in real time cost no vblank`() async throws {
            _ = try await flooded("flooded in real time", for: 10, on: Machine { $0.measuresHost = true })
        }

        private func flooded(_ name: String, for seconds: Int, on machine: Machine) async throws -> Record {
            let clip = try BedGallery.clip("a", frames: 60, frameRate: 30)
            let socket = Self.socket(), client = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).pl"
            try Data(Self.client.utf8).write(to: URL(fileURLWithPath: client))
            defer { for path in [socket, client] { unlink(path) } }
            let count = 1200 * seconds
            let record = try await Bed.run(
                name, for: .seconds(seconds + 5), playing: [clip], .kiosk(Self.configuration(socket, clip)), on: machine
            ) { at in
                let flood = "a=$(date +%s%N); perl \(client) flood \(socket) \(count); b=$(date +%s%N); echo nanoseconds=$((b - a))"
                at(1, .shell(flood), "flood")
                if seconds >= 30 {
                    at(5, .shell("perl \(client) noise \(socket) 300"), "noise")
                    at(15, .shell("perl \(client) deaf \(socket)"), "deaf")
                }
            }
            let output = try #require(record.outputs["flood"])
            #expect(output.contains("answers=\(count)\n"), "\(output)")
            let text = try #require(output.components(separatedBy: "nanoseconds=").last?.trimmingCharacters(in: .whitespacesAndNewlines))
            let rate = Double(count) / (try #require(Double(text)) / 1e9)
            #expect(rate >= 1000, "\(rate) commands a second")
            #expect(record.seams.count >= seconds / 2 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            #expect(record.status == 0)
            return record
        }
    }
}
