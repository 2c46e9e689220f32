import CKioskFFmpeg
import CTestSupport
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Sources that a device decodes in a process with devices. Tests/VADriver replaces libva's drivers, and takes /dev/null for a device.
@Suite(.blocking, .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()))
struct DeviceReaderTests {
    private static let readers = Hostile.readers(with: "VADriver")

    private func clip() throws -> String {
        try Clips.numbered("device.mp4", frames: 120, size: "320x240", sound: false, extra: ["-g", "50", "-sc_threshold", "0"])
    }

    private func order(_ path: String, _ setting: DecoderSetting) -> OpenOrder {
        var order = OpenOrder(.play, path)
        (order.threads, order.usesDevices) = (2, setting == .hardware)
        order.decoder = setting == .hardware ? DecoderWish(.hardware, device: "/dev/null") : .software
        order.decoder.device = "/dev/null"
        if setting == .automatic { order.decoder.elsewhere = DecoderChoice.Nodes(device: "/dev/null") }
        return order
    }

    private func open(_ path: String, _ setting: DecoderSetting = .hardware, by readers: Readers = readers) throws -> ReaderClient {
        try ReaderClient(order(path, setting), by: readers, Interruption())
    }

    /// A frame that outlives its call.
    private final class Held {
        let frame: VideoFrame
        init(_ frame: consuming VideoFrame) { self.frame = frame }
    }

    private func next(_ client: ReaderClient) throws -> Held {
        guard let frame = client.nextFrame() else { throw SystemError() }
        return Held(frame.intoFrame())
    }

    /// Returns the number in a picture, copied from its surface; -1 if it cannot be copied.
    private func number(_ frame: borrowing VideoFrame) -> Int {
        switch frame.downloaded() {
        case .some(let copy): burnedInNumber(copy)
        case .none: -1
        }
    }

    @Test func `surfaces come as they are, and are copied by who has drawn them`() throws {
        let client = try open(try clip())
        #expect(client.decoder == "vaapi (test driver)" && client.usesDevices && client.refusedShape == nil, "\(client.problems)")
        var numbers: [Int] = []
        while let frame = client.nextFrame() {
            let held = Held(frame.intoFrame())
            #expect(held.frame.surface != nil && held.frame.isPooled && held.frame.pixelFormat == AV_PIX_FMT_NV12)
            #expect(held.frame.surface?.pointee.layers.0.nb_planes == 2 && held.frame.codec == "h264")
            numbers.append(number(held.frame))
        }
        #expect(numbers == Array(1...120) && client.death == nil && client.prematureEnd == nil, "\(numbers)")
        #expect(try client.seek(to: .seconds(2), precision: .exact) == .seconds(2))
        #expect(number(try next(client).frame) == 61)
    }

    /// A reader of files leaves the source to a device, and a reader with devices opens it again.
    @Test func `a file is left to a reader with devices`() throws {
        let client = try open(try clip(), .automatic)
        #expect(client.usesDevices && client.decoder == "vaapi (test driver)")
        #expect(number(try next(client).frame) == 1)
    }

    /// That reader has the network and the devices.
    @Test(arguments: [DecoderSetting.automatic, .hardware]) func `a stream is left to a reader with devices, too`(
        setting: DecoderSetting
    ) throws {
        let path = try clip()
        let server = try FileServer(.init { $0 == "/device.mp4" ? try? Clips.bytes(path) : nil })
        var order = order(server.url("device.mp4"), setting)
        order.takesTime = true
        let client = try ReaderClient(order, by: Self.readers, Interruption())
        #expect(client.usesDevices && client.decoder == "vaapi (test driver)" && !client.description.isLocal, "\(client.problems)")
        #expect(try (1...60).map { _ in number(try next(client).frame) } == Array(1...60))
        #expect(try client.seek(to: .seconds(2), precision: .exact) == .seconds(2))
        let after = number(try next(client).frame)
        #expect(after == 61, "\(after)")
        #expect(client.session.page.refusals.count == 0, "\(client.session.page.refusals)")
    }

    /// The driver does not decode MPEG-2; and the second readers have no driver.
    @Test func `what no device takes is decoded in software there, and that is told`() throws {
        let other = try Clips.make("device-mpeg2.mpg", ["-i", try clip(), "-c:v", "mpeg2video", "-q:v", "2"])
        for (path, readers) in [(other, Self.readers), (try clip(), Readers(executable: Readers.shared.executable))] {
            let client = try open(path, by: readers)
            #expect(client.decoder == "software" && client.usesDevices)
            #expect(try next(client).frame.surface == nil && !client.problems.isEmpty, "\(client.problems)")
        }
    }

    /// The pictures of a file stay on the screen for a while after its end, or after its reader's end.
    @Test(arguments: [false, true]) func `a surface outlasts its reader`(isEnded: Bool) throws {
        var client: ReaderClient? = try open(try clip())
        let held = try (0..<3).map { _ in try next(try #require(client)) }
        if isEnded { client?.session.reader.end() }
        #expect(isEnded || number(held[0].frame) == 1)
        client = nil
        #expect(held.map { number($0.frame) } == [1, 2, 3])
    }

    // MARK: A reader that lies

    private func surfaces() throws -> DeviceSurfaces {
        let session = try ReaderSession(order(try clip(), .hardware), by: Self.readers, Interruption())
        let rules = PictureRules(arenaBytes: session.results.bytes.count, pictureMemory: 1 << 24, places: [.arena, .surface])
        return DeviceSurfaces(session, rules, PlayerPictures(session.page, rules).held)
    }

    private func file(_ size: Int, seals: Bool) -> SharedDescriptor {
        SharedDescriptor(Descriptor(adopting: test_memory_file(size, seals))!)
    }

    private func layout(_ change: (inout ReaderSurface) -> Void = { _ in }) -> ReaderSurface {
        var layout = ReaderSurface(
            number: 5, format: 0x3231_564E, modifier: 0,
            planes: [.init(object: 0, offset: 0, pitch: 64), .init(object: 0, offset: 64 * 64, pitch: 64)])
        change(&layout)
        return layout
    }

    private func record(width: Int = 64, height: Int = 64) -> PictureRecord {
        var record = PictureRecord(format: AV_PIX_FMT_NV12.rawValue, width: width, height: height)
        (record.place, record.buffer) = (.surface, 5)
        return record
    }

    @Test func `a surface that is none is not taken`() throws {
        let surfaces = try surfaces()
        #expect(!surfaces.take(layout(), nil))
        #expect(!surfaces.take(layout { $0.format = 0x3432_5258 }, file(8192, seals: true)))
        #expect(!surfaces.take(layout { $0.planes.removeLast() }, file(8192, seals: true)))
        #expect(!surfaces.take(layout { $0.planes[1].object = 1 }, file(8192, seals: true)))
        #expect(!surfaces.take(layout { ($0.object, $0.objectCount) = (1, 2) }, file(8192, seals: true)))
        let before = surfaces.frame(record(), codec: "") == nil
        #expect(before && surfaces.take(layout { $0.objectCount = 2 }, file(8192, seals: true)))
        let half = surfaces.frame(record(), codec: "") == nil
        #expect(half, "one of its dma-bufs has not come")
    }

    /// The reader does not copy these files, as it does not know them.
    @Test func `only memory that cannot be cut off is mapped, and no more than there is`() throws {
        let surfaces = try surfaces()
        func canBeRead(_ layout: ReaderSurface, _ file: SharedDescriptor, _ record: PictureRecord) -> Bool {
            #expect(surfaces.take(layout, file))
            guard let frame = surfaces.frame(record, codec: "") else { return false }
            let copy = frame.downloaded()
            return copy != nil
        }
        #expect(canBeRead(layout(), file(8192, seals: true), record()))
        #expect(!canBeRead(layout(), file(8192, seals: false), record()))
        #expect(!canBeRead(layout(), file(4096, seals: true), record()))
        #expect(!canBeRead(layout(), file(8192, seals: true), record(width: 66)))
        #expect(!canBeRead(layout(), file(8192, seals: true), record(height: 130)))
        #expect(!canBeRead(layout { $0.modifier = 1 << 56 | 1 }, file(8192, seals: true), record()))
        #expect(!canBeRead(layout { $0.planes[1].offset = 1 << 31 }, file(8192, seals: true), record()))
        #expect(!canBeRead(layout { $0.planes[0].pitch = 0 }, file(8192, seals: true), record()))
    }
}
