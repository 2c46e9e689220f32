import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskDisplayCore

struct DisplayOutputTests {
    /// A screen whose vblanks and errors come when the test triggers them.
    final class ManualScreen: Screen {
        let mode = DisplayMode(width: 32, height: 18, refreshPeriod: .milliseconds(10), name: "manual")
        let buffers: [ScanoutBuffer] = (0..<bufferCount).map { _ in MemoryBuffer(width: 32, height: 18, format: .xrgb8888) }
        let reportsVblank = true
        let descriptor: Int32? = nil
        var timer: HostTime? { report == nil ? nil : HostTime(nanoseconds: 0) }
        var answer: ScreenAnswer = .queued
        var report: ScreenReport?
        var restored = 0
        var panelRotation = Rotation.none
        func present(_ buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64, at now: HostTime) -> ScreenAnswer { answer }
        func collect(at now: HostTime) -> ScreenReport? {
            defer { report = nil }
            return report
        }
        func restore() { restored += 1 }
    }

    private func prepared(_ output: DisplayOutput) throws -> PreparedScene {
        guard case .prepared(let scene) = output.prepare(Scene()) else { throw Unexpected() }
        return scene
    }
    struct Unexpected: Error {}

    /// Switches the virtual terminal away. Each output does its part in wait(until:), as on a presenter's thread.
    private func leave(_ outputs: DisplayOutput...) {
        outputs[0].seat.switchTerminal(wantsOut: true, cameBack: false)
        for output in outputs { _ = output.wait(until: .now) }
    }

    /// Switches the virtual terminal back.
    private func comeBack(_ outputs: DisplayOutput...) {
        outputs[0].seat.switchTerminal(wantsOut: false, cameBack: true)
        for output in outputs { _ = output.wait(until: .now) }
    }

    @Test func simulatedVblanksLieOnTheGrid() throws {
        let flips = Mutex<[(flip: Flip, colour: UInt32)]>([])
        var settings = DisplaySettings()
        settings.mode = .size(width: 32, height: 18, refresh: 240)
        let output = DisplayOutput.offscreen(settings) { flip, pixels in flips.withLock { $0.append((flip, pixels[0, 0])) } }
        #expect(output.mode?.name == "offscreen 32x18@240.00")
        for id in 1...20 as ClosedRange<UInt64> {
            let scene = Scene(Pictures.solid(id % 2 == 0 ? 235 : 16, 128, 128, 32, 18))
            guard case .prepared(let token) = output.prepare(scene) else { throw Unexpected() }
            guard case .queued = output.commit(token, id: id) else { throw Unexpected() }
            guard case .flipped(let flip) = output.wait(until: .now + .seconds(120)) else { throw Unexpected() }
            #expect(flip.id == id && flip.time <= .now)
        }
        let seen = flips.withLock { $0 }
        #expect(seen.map(\.flip.id) == Array(1...20))
        for (flip, colour) in seen { #expect(near(colour, flip.id % 2 == 0 ? 0xffffff : 0)) }
        let first = seen[0].flip
        for (flip, _) in seen {
            let steps = flip.sequence! - first.sequence!
            #expect(abs((flip.time - first.time).nanoseconds - Int64((Double(steps) * 1e9 / 240).rounded())) <= 1)
        }
        for (a, b) in zip(seen, seen.dropFirst()) { #expect(b.flip.sequence! > a.flip.sequence!) }
        output.close()
    }

    @Test func gridDoesNotDrift() {
        let grid = VblankGrid(origin: HostTime(nanoseconds: 1_000), refresh: 60)
        #expect(grid.next(after: HostTime(nanoseconds: 0)) == 0)
        #expect(grid.next(after: HostTime(nanoseconds: 1_000)) == 1)
        #expect(grid.time(of: 60 * 86_400) == HostTime(nanoseconds: 1_000 + 86_400_000_000_000))
        for sequence in stride(from: UInt64(0), to: 10_000_000, by: 9_973) {
            let time = grid.time(of: sequence)
            #expect(grid.next(after: time) == sequence + 1)
            #expect(grid.next(after: HostTime(nanoseconds: time.nanoseconds - 1)) == sequence)
        }
    }

    @Test func buffersComeBack() throws {
        let screen = ManualScreen()
        let output = DisplayOutput(DisplaySettings(), screen: screen)
        let (a, b) = (try prepared(output), try prepared(output))
        guard case .noSpareBuffer = output.prepare(Scene()) else { throw Unexpected() }
        guard case .queued = output.commit(a, id: 1), case .busy = output.commit(b, id: 2) else { throw Unexpected() }
        output.discard(b)
        let c = try prepared(output)
        screen.report = .flipped(Flip(id: 1, time: .now, sequence: 1))
        guard case .flipped(let flip) = output.wait(until: nil), flip.id == 1 else { throw Unexpected() }
        let d = try prepared(output)
        #expect(Set([a.buffer, c.buffer, d.buffer]).count == 3)
        guard case .stale = output.commit(a, id: 3) else { throw Unexpected() }
        output.close()
        #expect(screen.restored == 1)
    }

    /// With two buffers, the compositor waits for the buffer that a snapshot reads.
    @Test func aBufferThatIsReadNoMoreIsTold() throws {
        let screen = ManualScreen()
        let output = DisplayOutput(DisplaySettings(), screen: screen)
        let reading = try #require(output.beginReading())
        guard case .queued = output.commit(try prepared(output), id: 1) else { throw Unexpected() }
        screen.report = .flipped(Flip(id: 1, time: .now, sequence: 1))
        guard case .flipped = output.wait(until: nil) else { throw Unexpected() }
        let other = try prepared(output)
        guard case .noSpareBuffer = output.prepare(Scene()) else { throw Unexpected() }
        output.endReading(reading)
        guard case .bufferFreed = output.wait(until: .now + .seconds(120)) else { throw Unexpected() }
        _ = try prepared(output)
        output.discard(other)
        let again = try #require(output.beginReading())
        output.endReading(again)
        guard case .deadline = output.wait(until: .now + .milliseconds(1)) else { throw Unexpected() }
    }

    @Test func busyDriverLeavesTheFrameWithTheCaller() throws {
        let screen = ManualScreen()
        let output = DisplayOutput(DisplaySettings(), screen: screen)
        let frame = try prepared(output)
        screen.answer = .busy
        guard case .busy = output.commit(frame, id: 1) else { throw Unexpected() }
        screen.answer = .queued
        guard case .queued = output.commit(frame, id: 2) else { throw Unexpected() }
    }

    @Test func aLostDisplayIsAState() throws {
        let screen = ManualScreen()
        let output = DisplayOutput(DisplaySettings(), screen: screen)
        let (a, b) = (try prepared(output), try prepared(output))
        let before = output.generation
        screen.answer = .lost(DeviceError("flip", code: ENODEV))
        guard case .stale = output.commit(a, id: 1) else { throw Unexpected() }
        #expect(output.mode == nil && output.generation == before + 1)
        guard case .changed = output.wait(until: .now) else { throw Unexpected() }
        guard case .stale = output.commit(b, id: 2) else { throw Unexpected() }
        output.discard(b)
        guard case .noDisplay = output.prepare(Scene()) else { throw Unexpected() }
        guard case .deadline = output.wait(until: .now + .milliseconds(1)) else { throw Unexpected() }
        #expect(throws: SnapshotError.self) { try output.snapshot(to: "/nonexistent/x.png") }
    }

    @Test func wakesAndDeadlines() throws {
        let output = DisplayOutput(DisplaySettings(), screen: ManualScreen())
        output.wake()
        output.wake()
        guard case .woken = output.wait(until: nil) else { throw Unexpected() }
        let deadline = HostTime.now + .milliseconds(20)
        guard case .deadline = output.wait(until: deadline) else { throw Unexpected() }
        #expect(HostTime.now >= deadline)
        let waker = Thread("waker") {
            usleep(10_000)
            output.wake()
        }
        guard case .woken = output.wait(until: .now + .seconds(120)) else { throw Unexpected() }
        waker.join()
    }

    /// After a freeze, both events are pending at the first call.
    @Test func aFlipIsToldOfBeforeAWake() throws {
        let screen = ManualScreen()
        let output = DisplayOutput(DisplaySettings(), screen: screen)
        guard case .queued = output.commit(try prepared(output), id: 1) else { throw Unexpected() }
        screen.report = .flipped(Flip(id: 1, time: .now, sequence: 1))
        output.wake()
        guard case .flipped = output.wait(until: nil) else { throw Unexpected() }
        guard case .woken = output.wait(until: nil) else { throw Unexpected() }
    }

    @Test func badFramesAreDrawnAsBackground() throws {
        var settings = DisplaySettings()
        settings.background = Color(red: 0x11, green: 0x22, blue: 0x33)
        let screen = ManualScreen()
        let output = DisplayOutput(settings, screen: screen)
        let scene = Scene(VideoFrame(adopting: av_frame_alloc()!), gravity: .resizeAspect)
        guard case .prepared(let token) = output.prepare(scene) else { throw Unexpected() }
        #expect(ScreenPixels(screen.buffers[token.buffer])[5, 5] == 0x112233)
    }

    @Test func snapshotIsAPicture() throws {
        var settings = DisplaySettings()
        settings.mode = .size(width: 64, height: 36, refresh: 500)
        settings.background = Color(red: 0x33, green: 0x66, blue: 0xcc)
        let output = DisplayOutput.offscreen(settings)
        let path = "/tmp/kiosk-snapshot-\(getpid()).png"
        defer { unlink(path) }
        try output.snapshot(to: path)
        var bytes = [UInt8](repeating: 0, count: 24)
        let file = try #require(fopen(path, "r"))
        #expect(fread(&bytes, 1, 24, file) == 24)
        fclose(file)
        #expect(Array(bytes[0..<8]) == [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
        #expect(bytes[19] == 64 && bytes[23] == 36)
        #expect(throws: SnapshotError.self) { try output.snapshot(to: "/nonexistent/x.png") }
    }

    /// Compositor, presenter and snapshots at once: no buffer is lost, and every shown frame is the prepared one.
    @Test func threadsAtOnce() throws {
        let queue = Monitor<(tokens: [(PreparedScene, UInt32)], done: Bool)>(([], false))
        let shown = Mutex<[UInt32]>([])
        var settings = DisplaySettings()
        settings.mode = .size(width: 48, height: 20, refresh: 900)
        let output = DisplayOutput.offscreen(settings) { _, pixels in
            let corners = [pixels[0, 0], pixels[47, 0], pixels[0, 19], pixels[47, 19]]
            shown.withLock { $0.append(corners.allSatisfy { $0 == corners[0] } ? corners[0] : 0xbad) }
        }
        let compositor = Thread("compositor") {
            var luma = 16
            while !queue.withLock({ $0.done }) {
                if case .prepared(let token) = output.prepare(Scene(Pictures.solid(luma, 128, 128, 48, 20))) {
                    queue.signal { $0.tokens.append((token, UInt32(luma))) }
                    luma = luma == 235 ? 16 : luma + 1
                } else {
                    usleep(100)
                }
            }
        }
        let photographer = Thread("photographer") {
            let path = "/tmp/kiosk-threads-\(getpid()).png"
            for _ in 0..<20 { try? output.snapshot(to: path) }
            unlink(path)
        }
        var lumas: [UInt32] = []
        for id in 1...300 as ClosedRange<UInt64> {
            let next = queue.wait(until: .now + .seconds(120)) { $0.tokens.isEmpty ? nil : $0.tokens.removeFirst() }
            let (token, luma) = try #require(next)
            if id % 7 == 0 {
                output.discard(token)
                continue
            }
            guard case .queued = output.commit(token, id: id) else { throw Unexpected() }
            var event = output.wait(until: .now + .seconds(120))
            while case .bufferFreed = event { event = output.wait(until: .now + .seconds(120)) }
            guard case .flipped(let flip) = event, flip.id == id else { throw Unexpected() }
            lumas.append(luma)
        }
        queue.withLock { $0.done = true }
        compositor.join()
        photographer.join()
        let grays = shown.withLock { $0 }.map { $0 & 255 }
        #expect(grays.count == lumas.count)
        for (gray, luma) in zip(grays, lumas) { #expect(abs(Int(gray) - (Int(luma) - 16) * 255 / 219) <= 3) }
        output.close()
    }

    @Test func tellsWhenTheTerminalIsNotInFront() {
        let output = DisplayOutput(DisplaySettings(), screen: ManualScreen())
        let seen = Mutex<[Bool]>([])
        output.observeTerminal { isInFront in seen.withLock { $0.append(isInFront) } }
        #expect(seen.withLock { $0 } == [true])
        leave(output)
        #expect(seen.withLock { $0 } == [true, false] && output.mode == nil)
        comeBack(output)
        #expect(seen.withLock { $0 } == [true, false, true])
        output.close()
    }

    /// A portrait panel lying on its side, and a configured rotation on top.
    @Test func picturesAndTouchTurnWithThePanel() throws {
        let screen = ManualScreen()
        screen.panelRotation = .clockwise90
        var settings = DisplaySettings()
        settings.rotation = .clockwise180
        let output = DisplayOutput(settings, screen: screen)
        let seen = Mutex<[Rotation]>([])
        output.observeRotation { turn in seen.withLock { $0.append(turn) } }
        #expect(seen.withLock { $0 } == [.clockwise270])
        guard case .prepared(let token) = output.prepare(Scene(Pictures.quarters(18, 32))) else { throw Unexpected() }
        // Red, green above blue, white: turned by 270 degrees, green, white above red, blue.
        let pixels = ScreenPixels(screen.buffers[token.buffer])
        let corners = [pixels[1, 1], pixels[30, 1], pixels[1, 16], pixels[30, 16]]
        #expect(zip(corners, [0x00ff00, 0xffffff, 0xff0000, 0x0000ff]).allSatisfy { near($0, $1, 8) }, "\(corners)")
        output.close()
    }

    /// The kernel gave us the screen, then wanted it back before we looked: it belongs to another program.
    @Test func whatCameBackAndIsToLeaveAgainIsNotInFront() {
        let output = DisplayOutput(DisplaySettings(), screen: ManualScreen())
        let seen = Mutex<[Bool]>([])
        leave(output)
        output.observeTerminal { isInFront in seen.withLock { $0.append(isInFront) } }
        output.seat.switchTerminal(wantsOut: true, cameBack: true)
        #expect(seen.withLock { !$0.contains(true) })
        output.seat.switchTerminal(wantsOut: false, cameBack: false)
        #expect(seen.withLock { !$0.contains(true) })
        comeBack(output)
        #expect(seen.withLock { $0.last } == true)
        leave(output)
        #expect(seen.withLock { $0.last } == false)
        output.close()
    }

    @Test func anObserverThatComesLateIsToldOfTheTerminalToo() {
        let output = DisplayOutput(DisplaySettings(), screen: ManualScreen())
        leave(output)
        let seen = Mutex<[Bool]>([])
        output.observeTerminal { isInFront in seen.withLock { $0.append(isInFront) } }
        #expect(seen.withLock { $0 } == [false])
        output.close()
    }

    /// The seat releases the terminal after the last output has left it. It is in front again after all outputs have looked for a display.
    @Test func aSwitchWaitsForEveryOutput() {
        let seat = Seat()
        let outputs = (0..<2).map { _ in DisplayOutput(DisplaySettings(), screen: ManualScreen(), on: seat) }
        let seen = Mutex<[Bool]>([])
        outputs[0].observeTerminal { isInFront in seen.withLock { $0.append(isInFront) } }
        seat.switchTerminal(wantsOut: true, cameBack: false)
        guard case .changed = outputs[0].wait(until: .now) else {
            Issue.record("the first one has not left")
            return
        }
        #expect(outputs[0].mode == nil && outputs[1].mode != nil && !seat.mayDrive)
        // A switch back is ignored until all outputs have left.
        seat.switchTerminal(wantsOut: false, cameBack: true)
        #expect(seen.withLock { $0 } == [true, false])
        _ = outputs[1].wait(until: .now)
        seat.switchTerminal(wantsOut: false, cameBack: true)
        _ = outputs[1].wait(until: .now)
        #expect(seat.mayDrive && seen.withLock { $0 } == [true, false])
        // A closed output holds up no switch.
        outputs[0].close()
        #expect(seen.withLock { $0 } == [true, false, true])
        outputs[1].close()
    }

    @Test func whatOneOutputHasNoOtherGets() {
        let seat = Seat()
        let (a, b) = (seat.add {}, seat.add {})
        func place(_ device: String, _ connector: UInt32, _ crtc: UInt32) -> Seat.Reservation {
            Seat.Reservation(device: device, connector: ConnectorID(rawValue: connector), crtc: CRTCID(rawValue: crtc))
        }
        #expect(seat.reserve(place("card0", 1, 11), for: a) && seat.reserve(place("card0", 1, 11), for: a))
        #expect(!seat.reserve(place("card0", 1, 12), for: b) && !seat.reserve(place("card0", 2, 11), for: b))
        #expect(seat.reserve(place("card1", 1, 11), for: b) && seat.reserve(place("card0", 2, 12), for: b))
        #expect(seat.reservations(besides: a) == [place("card0", 2, 12)] && seat.reservations(besides: b) == [place("card0", 1, 11)])
        seat.release(a)
        #expect(seat.reserve(place("card0", 1, 11), for: b) && seat.reservations(besides: b).isEmpty)
        #expect(seat.reserve(Seat.Reservation(device: "/dev/fb0"), for: a) && !seat.reserve(Seat.Reservation(device: "/dev/fb0"), for: b))
    }

    /// Works on any machine, also one without displays.
    @Test func theSurveyNeverFails() { #expect(!DisplayDevices.survey(DisplaySettings()).reason.isEmpty) }
}
