import CKioskFFmpeg
import Foundation
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing
import VADriver

@testable import KioskMedia

extension HardwareDecodingTests {
    /// Encoding with Tests/VADriver, which is lossless: software decodes exactly the encoded pictures, to the bit.
    @Suite struct Encoding {
        private let folder = NSTemporaryDirectory() + "kiosk-encoding-\(UUID().uuidString)"
        private var path: String { folder + "/out.mp4" }

        init() throws {
            va_driver_reset()
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        /// A picture with a number encoded in every sample.
        struct Drawn: Equatable {
            let width: Int, height: Int
            var planes: [[UInt8]]
            private static let samples = (0..<2000).map { UInt8(16 + $0 % 220) }

            init(_ number: Int, width: Int, height: Int) {
                (self.width, self.height) = (width, height)
                func plane(_ width: Int, _ height: Int, _ step: Int) -> [UInt8] {
                    (0..<height).flatMap { y in
                        let begin = (y * step + number * 7) % 220
                        return Self.samples[begin..<begin + width]
                    }
                }
                planes = [plane(width, height, 1), plane(width / 2, height / 2, 2), plane(width / 2, height / 2, 5)]
            }

            init(_ frame: borrowing VideoFrame) {
                (width, height) = (frame.width, frame.height)
                let sources = [frame.av.pointee.data.0, frame.av.pointee.data.1, frame.av.pointee.data.2]
                let strides = [frame.av.pointee.linesize.0, frame.av.pointee.linesize.1, frame.av.pointee.linesize.2]
                let (width, height) = (width, height)
                planes = (0..<3).map { plane in
                    let (columns, rows) = plane == 0 ? (width, height) : (width / 2, height / 2)
                    guard let source = sources[plane] else { return [] }
                    return (0..<rows).flatMap { UnsafeBufferPointer(start: source + $0 * Int(strides[plane]), count: columns) }
                }
            }

            func write(to writer: inout FilmWriter, at time: MediaTime, duration: MediaTime? = nil) throws(FilmError) -> Bool {
                let pointers = planes.map { plane in
                    let pointer = UnsafeMutablePointer<UInt8>.allocate(capacity: plane.count)
                    pointer.initialize(from: plane, count: plane.count)
                    return pointer
                }
                defer { for pointer in pointers { pointer.deallocate() } }
                return try writer.write(
                    planes: (UnsafePointer(pointers[0]), UnsafePointer(pointers[1]), UnsafePointer(pointers[2])),
                    strides: (width, width / 2, width / 2), at: time, duration: duration)
            }
        }

        private func video(
            _ width: Int = 320, _ height: Int = 240, _ setting: EncoderSetting = .hardware, device: String = "/dev/null"
        ) -> FilmFormat.Video {
            var video = FilmFormat.Video(width: width, height: height, frameRate: 25)
            video.codec = .h264
            video.encoder = EncoderWish(setting, device: device)
            return video
        }

        private func open(_ video: FilmFormat.Video, _ container: FilmFormat.Container = .mp4) throws -> FilmWriter {
            try FilmWriter.open(path, FilmFormat(container: container, video: video, audio: nil), by: .inProcess)
        }

        /// Writes pictures at 25 a second from number 1 on; returns the error that ended it, if any.
        private func write(_ count: Int, _ width: Int = 320, _ height: Int = 240, to writer: inout FilmWriter) -> FilmError? {
            for number in 1...count {
                do throws(FilmError) {
                    let isTaken = try Drawn(number, width: width, height: height).write(
                        to: &writer, at: .milliseconds(40 * Int64(number - 1)), duration: .milliseconds(40))
                    #expect(isTaken)
                } catch { return error }
            }
            return nil
        }

        /// Returns the film's pictures as software decodes them, with their times and durations in milliseconds.
        private func read() throws -> [(picture: Drawn, time: Double, duration: Double)] {
            var reader = try MediaReader.open(path, samples: nil, decoder: DecoderWish(.software))
            var read: [(Drawn, Double, Double)] = []
            while let frame = reader.nextFrame() {
                read.append((Drawn(frame.frame), frame.time.seconds * 1000, frame.duration.seconds * 1000))
            }
            #expect(reader.problems.isEmpty)
            return read
        }

        /// FFmpeg 7.1 leaks an encoder's reference surfaces when the encoder closes.
        private func expectNoSurfaces() { #expect(va_driver_surfaces() == 0 || avcodec_version() >> 16 >= 61) }

        /// Expects the film to hold pictures 1 to `count`, each once, in order and unchanged.
        private func expectPictures(_ count: Int, _ width: Int = 320, _ height: Int = 240) throws {
            let read = try read()
            #expect(read.count == count)
            for (index, picture) in read.enumerated() {
                #expect(picture.picture == Drawn(index + 1, width: width, height: height), "picture \(index + 1)")
                #expect(abs(picture.time - Double(40 * index)) < 0.5 && abs(picture.duration - 40) < 0.5, "\(index + 1): \(picture.time)")
            }
        }

        /// Returns the number of packets, the indices of key packets (from 0), and whether decoding times increase and never exceed
        /// presentation times.
        private func packets() throws -> (count: Int, keys: [Int], isInOrder: Bool) {
            var input: UnsafeMutablePointer<AVFormatContext>?
            try #require(avformat_open_input(&input, path, nil, nil) >= 0)
            defer { avformat_close_input(&input) }
            var packet = av_packet_alloc()
            defer { av_packet_free(&packet) }
            var (count, keys, isInOrder, last) = (0, [Int](), true, Int64.min)
            while let packet, av_read_frame(input, packet) >= 0 {
                if packet.pointee.flags & AV_PKT_FLAG_KEY != 0 { keys.append(count) }
                isInOrder = isInOrder && packet.pointee.dts > last && packet.pointee.pts >= packet.pointee.dts
                last = packet.pointee.dts
                count += 1
                av_packet_unref(packet)
            }
            return (count, keys, isInOrder)
        }

        private func remove() { try? FileManager.default.removeItem(atPath: folder) }

        // MARK: When all is well

        /// The size and format of a film, and the driver's capabilities.
        struct Case: Sendable, CustomTestStringConvertible {
            var width = 320, height = 240
            var container = FilmFormat.Container.mp4
            var isLive = false, hasB = false, hasSyncBuffer = true, hasQuantiser = true, isLowPower = false
            var testDescription: String {
                "\(width)x\(height) \(container)\(isLive ? " live" : "")\(hasB ? " B" : "")\(hasSyncBuffer ? "" : " no vaSyncBuffer")"
                    + (hasQuantiser ? "" : " bit rate") + (isLowPower ? " low power" : "")
            }
        }

        @Test(
            "Each picture comes out once, in order and exact, at its time",
            arguments: [
                Case(), Case(width: 640, height: 362), Case(container: .fragmentedMP4, isLive: true), Case(hasB: true),
                Case(width: 640, height: 362, container: .fragmentedMP4, isLive: true, hasB: true), Case(hasSyncBuffer: false),
                Case(hasQuantiser: false), Case(isLowPower: true),
            ])
        func exact(_ wanted: Case) throws {
            defer { remove() }
            va_driver_offer_b_pictures(wanted.hasB ? 1 : 0)
            va_driver_offer_sync_buffer(wanted.hasSyncBuffer ? 1 : 0)
            va_driver_offer_quantiser(wanted.hasQuantiser ? 1 : 0)
            va_driver_offer_encoder(wanted.isLowPower ? 2 : 1)
            var format = video(wanted.width, wanted.height)
            format.isLive = wanted.isLive
            do {
                var writer = try open(format, wanted.container)
                #expect(writer.videoEncoder == "h264_vaapi" && writer.videoEncoderNote == nil)
                #expect(write(120, wanted.width, wanted.height, to: &writer) == nil)
                try writer.finish()
            }
            try expectPictures(120, wanted.width, wanted.height)
            let packets = try packets()
            #expect(packets.count == 120 && packets.isInOrder)
            #expect(packets.keys.count == 3 && packets.keys.first == 0, "\(packets.keys)")
            DecoderShelf.clear()
            expectNoSurfaces()
        }

        @Test("Times may be any that grow, and the last picture has its duration") func times() throws {
            defer { remove() }
            va_driver_offer_b_pictures(1)
            let times: [Int64] = [0, 33, 70, 71, 200, 1000, 1100]
            var writer = try open(video())
            for (index, time) in times.enumerated() {
                let last = time == 1100 ? MediaTime.milliseconds(250) : nil
                #expect(try Drawn(index + 1, width: 320, height: 240).write(to: &writer, at: .milliseconds(time), duration: last))
                #expect(try !Drawn(99, width: 320, height: 240).write(to: &writer, at: .milliseconds(time)))
            }
            try writer.finish()
            let read = try read()
            #expect(read.map(\.picture) == (1...7).map { Drawn($0, width: 320, height: 240) })
            for (picture, time) in zip(read, times) { #expect(abs(picture.time - Double(time)) < 0.5, "\(picture.time)") }
            let duration = try MediaReader.open(path, samples: nil).description.duration
            #expect(abs((duration ?? .zero).seconds - 1.35) < 0.002)
        }

        @Test("A film without pictures ends without an error of the encoder") func nothing() throws {
            defer { remove() }
            var writer = try open(video())
            do throws(FilmError) { try writer.finish() } catch {
                if case .encoderFailed = error.reason { Issue.record("\(error)") }
            }
        }

        @Test("Pixels, and pictures with ten bits or of another size, are converted") func converted() throws {
            defer { remove() }
            var writer = try open(video())
            let pixels = [UInt32](repeating: 0x0080_8080, count: 320 * 240)
            #expect(try pixels.withUnsafeBytes { try writer.write(pixels: $0.baseAddress!, stride: 1280, at: .zero) })
            for (index, size) in [(320, 240), (160, 120)].enumerated() {
                let frame = av_frame_alloc()!
                frame.pointee.format = AV_PIX_FMT_YUV420P10LE.rawValue
                (frame.pointee.width, frame.pointee.height) = (Int32(size.0), Int32(size.1))
                frame.pointee.colorspace = AVCOL_SPC_SMPTE170M
                try #require(av_frame_get_buffer(frame, 0) >= 0)
                for (plane, sample) in [(frame.pointee.data.0!, 100), (frame.pointee.data.1!, 60), (frame.pointee.data.2!, 200)]
                    .enumerated()
                {
                    let (data, value) = sample
                    let stride = [frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2][plane]
                    let count = Int(stride) * (plane == 0 ? size.1 : size.1 / 2) / 2
                    data.withMemoryRebound(to: UInt16.self, capacity: count) { $0.update(repeating: UInt16(4 * value), count: count) }
                }
                #expect(try writer.write(VideoFrame(adopting: frame), at: .milliseconds(40 * Int64(index + 1))))
            }
            try writer.finish()
            let read = try read()
            // Half of full brightness is 126 in the range 16…235.
            for (index, expected) in [(126, 128, 128), (100, 60, 200), (100, 60, 200)].enumerated() where index < read.count {
                for (plane, value) in zip(read[index].picture.planes, [expected.0, expected.1, expected.2]) {
                    #expect(plane.allSatisfy { abs(Int($0) - value) <= 1 }, "picture \(index): \(plane[0]) for \(value)")
                }
            }
            #expect(read.count == 3)
        }

        @Test(
            "Software is software, and auto is as long as FFmpeg has an encoder for it", arguments: [EncoderSetting.software, .automatic])
        func software(setting: EncoderSetting) throws {
            defer { remove() }
            var writer = try open(video(320, 240, setting))
            #expect(write(3, to: &writer) == nil)
            try writer.finish()
            #expect(writer.videoEncoder == "libx264" && writer.videoEncoderNote == nil)
            #expect(va_driver_calls("CreateConfig") == 0 && va_driver_calls("CreateContext") == 0)
        }

        // MARK: Faults

        /// Writes a film that must fall back to software; returns the reason.
        private func refusal(device: String = "/dev/null") throws -> String {
            defer { remove() }
            var writer = try open(video(320, 240, .hardware, device: device))
            #expect(writer.videoEncoder == "libx264")
            #expect(write(10, to: &writer) == nil)
            try writer.finish()
            #expect(try read().count == 10)
            let note = writer.videoEncoderNote ?? ""
            #expect(note.hasPrefix("its pictures were encoded in software: h264_vaapi"), "\(note)")
            return note
        }

        @Test(
            "A driver that fails when the encoder is opened, or at its first picture, leaves it to the next encoder",
            arguments: ["CreateConfig", "CreateContext", "CreateSurfaces", "CreateBuffer", "BeginPicture", "EndPicture", "MapCoded"])
        func opening(call: String) throws {
            va_driver_fail(call, 1, 1_000_000)
            #expect(try !refusal().contains("its driver does not encode this"))
            DecoderShelf.clear()
            expectNoSurfaces()
        }

        @Test("A driver that only decodes") func refusals() throws {
            va_driver_offer_encoder(0)
            #expect(try refusal().contains("its driver does not encode this"))
        }

        @Test("A driver that takes no headers cannot write what MP4 needs") func headers() throws {
            va_driver_offer_headers(0)
            #expect(try refusal().contains("its driver takes no headers for an MP4 file"))
        }

        @Test("A device that is not there") func absent() throws {
            #expect(try refusal(device: "/dev/dri/renderD191").contains("there is no /dev/dri/renderD191"))
        }

        @Test("A driver that hangs when it is opened is left behind") func hang() throws {
            #expect(try refusal(device: "/dev/zero").contains("h264_vaapi (/dev/zero): its driver did not answer for 2 s"))
        }

        @Test(
            "One that fails in mid-film ends it with what there is",
            arguments: ["EndPicture", "SyncBuffer", "MapCoded", "PutImage"])
        func failing(call: String) throws {
            defer { remove() }
            var format = video()
            format.isLive = true
            var writer = try open(format, .fragmentedMP4)
            // libavutil chooses how it copies pictures into surfaces, so fail every way.
            for name in call == "PutImage" ? ["PutImage", "DeriveImage", "CreateSurfaces"] : [call] { va_driver_fail(name, 60, 1_000_000) }
            let error = write(100, to: &writer)
            guard case .encoderFailed(let text)? = error?.reason else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.hasPrefix("h264_vaapi: "), "\(text)")
            // The error persists.
            #expect(write(1, to: &writer)?.reason != nil)
            try writer.finish()
            // FFmpeg 7 maps the coded data of each picture twice.
            try expectPictures(call == "MapCoded" && avcodec_version() >> 16 >= 61 ? 29 : 59)
        }
    }
}
