import CKioskFFmpeg
import Foundation
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaderProtocol

/// Checks that one side receives what the other sends, and that any other data is an error.
@Suite struct MessageTests {
    @Test(arguments: Samples.orders) func ordersArrive(order: ReaderOrder) throws {
        let datagrams = try order.datagrams(serial: 7)
        #expect(datagrams.count == 1)
        var assembly = Assembly<ReaderOrder>()
        let arrived = try #require(try assembly.add(datagrams[0][...]))
        #expect(arrived.message == order && arrived.serial == 7)
    }

    @Test(arguments: Samples.messages) func messagesArrive(message: ReaderMessage) throws {
        #expect(try sent(message) == message)
    }

    @Test(arguments: Samples.reasons) func reasonsArrive(reason: MediaError.Reason) throws {
        #expect(try sent(.failed(reason)) == .failed(reason))
    }

    /// Each kind of message has its own number, and the samples contain all kinds.
    @Test func allKindsAreThere() {
        func kinds(_ messages: [some WireMessage]) -> Set<UInt16> {
            Set(
                messages.map { message in
                    var wire = WireWriter()
                    return message.write(to: &wire)
                })
        }
        #expect(kinds(Samples.orders) == Set(1...13))
        #expect(kinds(Samples.messages) == Set(1...14))
    }

    // MARK: Long messages

    @Test func aLongDescriptionComesInParts() throws {
        var asset = Samples.asset
        let title = String(repeating: "\u{1F600}", count: 200)
        asset.chapters = (0..<1000).map { AssetChapter(title: title, start: .seconds(Double($0)), end: .seconds(Double($0 + 1))) }
        asset.tracks = (0..<256).map { index in
            var track = AssetTrack(id: index, kind: .audio, number: index + 1, codec: "aac")
            track.title = title
            return track
        }
        let message = ReaderMessage.described(ReaderDescription(asset))
        let datagrams = try message.datagrams(serial: 3)
        #expect(datagrams.count > 10 && datagrams.allSatisfy { $0.count <= Datagram.longest })
        #expect(try sent(message) == message)
        // Parts that are missing, repeated, or from another message.
        for order in [[0, 2], [0, 0], [1], [0, 1, 1]] {
            var assembly = Assembly<ReaderMessage>()
            #expect(throws: WireError.disorder) { for part in order { _ = try assembly.add(datagrams[part][...]) } }
        }
        var assembly = Assembly<ReaderMessage>()
        _ = try assembly.add(datagrams[0][...])
        let other = try message.datagrams(serial: 4)
        #expect(throws: WireError.disorder) { _ = try assembly.add(other[1][...]) }
    }

    @Test func whatDoesNotFitIsLeftOutOrRefused() throws {
        var asset = Samples.asset
        asset.chapters = (0..<1200).map { AssetChapter(title: nil, start: .seconds(Double($0)), end: .seconds(Double($0 + 1))) }
        guard case .described(let description) = try sent(.described(ReaderDescription(asset))) else {
            Issue.record("no description")
            return
        }
        #expect(description.asset.chapters == Array(asset.chapters.prefix(1000)))
        // A text for people is cut between two characters.
        #expect(try sent(.problem(String(repeating: "ü", count: 2000))) == .problem(String(repeating: "ü", count: 500)))
        #expect(try sent(.problem("a" + String(repeating: "ü", count: 2000))) == .problem("a" + String(repeating: "ü", count: 499)))
        // A path is never cut, and all headers together must fit.
        var order = Samples.open
        order.source = "/" + String(repeating: "a", count: 9000)
        #expect(throws: WireError.self) { try ReaderOrder.open(order).datagrams() }
        order = Samples.open
        order.settings.headers = (0..<10).map { "X-\($0): " + String(repeating: "a", count: 7000) }
        #expect(throws: WireError.self) { try ReaderOrder.open(order).datagrams() }
    }

    @Test func textsForPeopleAreHarmless() throws {
        #expect(try sent(.problem("a\u{1B}[2J\nb")) == .problem("a\u{FFFD}[2J\u{FFFD}b"))
        #expect(try sent(.failed(.redirected("http://me:secret@host/a?b=c"))) == .failed(.redirected("http://***@host/a?b=***")))
        var facts = ClipFacts()
        facts.title = "one\ntwo"
        var expected = facts
        expected.title = "one two"
        #expect(try sent(.result(.thumbnail(facts, nil))) == .result(.thumbnail(expected, nil)))
    }

    @Test func numbersAreClamped() throws {
        var asset = Samples.asset
        asset.duration = MediaTime(nanoseconds: .max)
        asset.video?.frameRate = .infinity
        asset.video?.pixelAspectRatio = .nan
        asset.video?.width = .max
        asset.audio?.channelCount = -5
        guard case .described(let description) = try sent(.described(ReaderDescription(asset))) else {
            Issue.record("no description")
            return
        }
        #expect(description.asset.duration == MediaTime.longestPlausible)
        #expect(description.asset.video?.frameRate == 0 && description.asset.video?.pixelAspectRatio == 0)
        #expect(description.asset.video?.width == 1 << 20 && description.asset.audio?.channelCount == 0)
        // `take` sorts the ends of a span.
        var wire = WireWriter()
        wire.put(MediaTime.seconds(5), MediaTime.seconds(2))
        var reader = WireReader(wire.bytes[...])
        #expect(try reader.take() == MediaTime.seconds(2)...MediaTime.seconds(5))
    }

    // MARK: Arbitrary data

    /// The number of random messages.
    private static let rounds =
        ProcessInfo.processInfo.environment["KIOSK_TEST_MESSAGES"].flatMap { Int($0) } ?? (Proof.isThorough ? 1_000_000 : 20_000)

    /// Sends random bytes behind a valid head, so that the decoder reads them.
    @Test func randomBytesTrapNothing() {
        var random = Proof.Random()
        var (understood, refused) = (0, 0)
        for _ in 0..<Self.rounds {
            var wire = WireWriter()
            let count = Int.random(in: 0...(Int.random(in: 0..<20, using: &random) == 0 ? 5000 : 80), using: &random)
            Datagram.Head(
                kind: .random(in: 0...13, using: &random), part: 0, parts: 1, serial: .random(in: 0...9, using: &random),
                length: UInt32(count)
            ).write(to: &wire)
            // Small numbers make valid lengths and choices more often than large ones.
            let isSmall = Bool.random(using: &random)
            let bytes = wire.bytes + (0..<count).map { _ in UInt8.random(in: 0...(isSmall ? 3 : 255), using: &random) }
            for isUnderstood in [hears(ReaderOrder.self, bytes), hears(ReaderMessage.self, bytes)] {
                if isUnderstood { understood += 1 } else { refused += 1 }
            }
        }
        #expect(understood > 0 && refused > 0)
    }

    /// Sends valid messages with flipped bits or without their end.
    @Test func damagedMessagesTrapNothing() throws {
        var random = Proof.Random()
        let orders = try Samples.orders.flatMap { try $0.datagrams() }
        let messages = try Samples.messages.flatMap { try $0.datagrams() }
        func damaged(_ datagram: [UInt8]) -> [UInt8] {
            var bytes = datagram
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
            return bytes
        }
        var understood = 0
        for _ in 0..<Self.rounds {
            if hears(ReaderOrder.self, damaged(orders.randomElement(using: &random)!)) { understood += 1 }
            if hears(ReaderMessage.self, damaged(messages.randomElement(using: &random)!)) { understood += 1 }
        }
        #expect(understood > 0)
    }

    @Test func whatIsNoMessageIsRefused() throws {
        let good = try ReaderMessage.problem("a").datagrams()[0]
        func error(_ bytes: [UInt8]) -> WireError? {
            var assembly = Assembly<ReaderMessage>()
            do throws(WireError) { _ = try assembly.add(bytes[...]) } catch { return error }
            return nil
        }
        func changed(_ index: Int, _ byte: UInt8) -> [UInt8] {
            var bytes = good
            bytes[index] = byte
            return bytes
        }
        #expect(error(good) == nil)
        #expect(error([]) == .short && error(Array(good.prefix(15))) == .short && error(Array(good.dropLast())) == .short)
        #expect(error(good + [0]) == .short)
        #expect(error(changed(0, 99)) == .unknown("message", 99))
        #expect(error(changed(2, 1)) == .unknown("part", 1) && error(changed(3, 0)) == .unknown("part", 0))
        #expect(error(changed(3, 200)) == .unknown("part", 0))
        #expect(error(changed(12, 1)) == .unknown("head", 1))
        #expect(error(changed(16, 0)) == .surplus(1) && error(changed(16, 9)) == .short)
        #expect(error([UInt8](repeating: 0, count: Datagram.longest + 1)) == .tooLong("datagram", count: Datagram.longest + 1))
        #expect("\(ReaderLie.message(.surplus(1)))" == "sent a message that has 1 bytes too many")
    }

    // MARK: Results

    @Test func aPictureIsTakenFromItsMemory() throws {
        let memory: [UInt32] = [0x0012_3456, 0xFFAB_CDEF, 1, 2, 3, 4]
        let most = PixelSize(width: 3, height: 2)
        try memory.withUnsafeBytes { bytes in
            let picture = try SmallPicture(PixelSize(width: 2, height: 1), in: bytes, fitting: most)
            #expect(picture == SmallPicture(width: 2, height: 1, pixels: [0xFF12_3456, 0xFFAB_CDEF]))
            for size in [(4, 1), (1, 3), (0, 1), (1, 0), (-1, -1), (.max, .max)] {
                #expect(throws: ReaderLie.self) {
                    try SmallPicture(PixelSize(width: size.0, height: size.1), in: bytes, fitting: most)
                }
            }
            #expect(throws: ReaderLie.self) { try SmallPicture(most, in: UnsafeRawBufferPointer(rebasing: bytes[..<20]), fitting: most) }
            #expect(try AssetCover(codec: "png", byteCount: 2, in: bytes).bytes == [0x56, 0x34])
            for count in [-1, 0, 25, .max] {
                #expect(throws: ReaderLie.self) { try AssetCover(codec: "png", byteCount: count, in: bytes) }
            }
        }
    }

    private func sent(_ message: ReaderMessage) throws -> ReaderMessage? {
        var assembly = Assembly<ReaderMessage>()
        var arrived: ReaderMessage?
        for datagram in try message.datagrams(serial: 9) {
            #expect(arrived == nil)
            arrived = try assembly.add(datagram[...])?.message
        }
        return arrived
    }

    private func hears<Message: WireMessage>(_: Message.Type, _ bytes: [UInt8]) -> Bool {
        var assembly = Assembly<Message>()
        return (try? assembly.add(bytes[...])) != nil
    }
}

/// One sample of every message.
enum Samples {
    static let reasons: [MediaError.Reason] = [
        .notFound, .permissionDenied, .isDirectory, .notARegularFile, .isEmpty, .notMedia, .damaged("moov is missing"), .encrypted,
        .hasNoMedia, .nothingToPlay, .unsupportedCodec("bink"), .unreadableImage(.heic), .unreadableImage(.animatedWebP),
        .unreadableImage(.tiledAVIF), .pictureTooLarge(width: 20000, height: 10000, megabytes: 800),
        .soundOutOfRange(sampleRate: -1, channelCount: 0), .nothingDecodes, .timedOut(seconds: 10.5), .cancelled, .notSeekable("no index"),
        .protocolNotPlayed("gopher"), .formatNotPlayed("concat", isList: true), .formatNotPlayed("bink", isList: false),
        .codecNotPlayed("bink"), .namesWhatItMayNot("/etc/passwd"), .mixedList, .encryptedSamples, .redirected("http://other/"),
        .certificate, .failed("I/O error"),
    ]

    static let asset: AssetDescription = {
        var asset = AssetDescription(container: "mov,mp4,m4a,3gp,3g2,mj2")
        asset.duration = .seconds(12.5)
        var video = AssetDescription.Video(codec: "h264", width: 1920, height: 1080)
        video.pixelAspectRatio = 64.0 / 45
        video.orientation = Orientation(rotation: .clockwise270, isMirrored: true)
        (video.frameRate, video.isConstantFrameRate, video.pixelFormat) = (30000.0 / 1001, true, "yuv420p10le")
        (video.dolbyVisionProfile, video.colorPrimaries, video.colorTransfer) = (5, "bt2020", "smpte2084")
        (video.isInterlaced, video.isDeinterlaced, video.isCropped) = (true, true, true)
        (video.start, video.duration) = (.milliseconds(-20), .seconds(12.5))
        asset.video = video
        asset.audio = AssetDescription.Audio(codec: "aac", sampleRate: 44100, channelCount: 6, start: .zero, duration: .seconds(13))
        (asset.isSeekable, asset.isLocal) = (true, false)
        asset.variant = AssetDescription.Variant(bandwidth: 2_500_000, width: 1280, height: 720)
        var track = AssetTrack(id: 3, kind: .audio, number: 2, codec: "aac")
        (track.language, track.title, track.isDefault) = (LanguageCode("de-AT"), "Kommentar", true)
        (track.sampleRate, track.channelCount) = (44100, 6)
        var picture = AssetTrack(id: 0, kind: .video, number: 1, codec: "h264")
        (picture.width, picture.height) = (1920, 1080)
        asset.tracks = [picture, track]
        asset.chapters = [
            AssetChapter(title: "Anfang", start: .zero, end: .seconds(6)), AssetChapter(title: nil, start: .seconds(6), end: .seconds(12)),
        ]
        (asset.metadata.title, asset.metadata.artist, asset.metadata.date, asset.metadata.cover) = ("Film", "Wer", "2024-05-01", "png")
        return asset
    }()

    static let open: OpenOrder = {
        let source = "rtsp://user:secret@camera/a?b=ü"
        var settings = StreamSettings()
        (settings.latency, settings.headers, settings.userAgent) = (.seconds(2), ["Authorization: Bearer 0123"], "kiosk \"x\"")
        (settings.certificateAuthorities, settings.verifiesTLS, settings.mayNameNetwork) = ("/etc/ca.pem", false, true)
        (settings.furtherFormats, settings.furtherCodecs) = (["bink"], ["binkvideo", "vp6"])
        settings.forwardBuffer = .seconds(8)
        var order = OpenOrder(.play, source, reach: SourceReach(source, settings), pictureMemory: 512 << 20)
        order.isKept = true
        order.settings = settings
        order.samples = AudioFormat(sampleRate: 48000, channelCount: 2)
        (order.threads, order.isLight) = (4, true)
        order.decoder = DecoderWish(.hardware, device: "/dev/dri/renderD128")
        (order.audio, order.video, order.deinterlacing) = (.language(LanguageCode("fr")!), .number(2), .frames)
        (order.takesTime, order.isMuted, order.start, order.precision) = (true, true, .seconds(3), .keyFrame(after: .seconds(2)))
        (order.displaySize, order.found) = (PixelSize(width: 1280, height: 720), [1, 2, .min])
        order.lineSpeed = 5e6
        return order
    }()

    static let film: FilmJob = {
        var video = FilmFormat.Video(width: 1280, height: 720, frameRate: 30000.0 / 1001)
        (video.codec, video.encoder, video.quality, video.bitRate) = (.hevc, EncoderWish(.hardware, device: "/dev/null"), 18, 5_000_000)
        (video.orientation, video.colour, video.isLive, video.threads) = (Orientation(rotation: .clockwise90), .bt601, true, 2)
        var format = FilmFormat(container: .fragmentedMP4, video: video, audio: .init(AudioFormat(sampleRate: 44_100, channelCount: 1)))
        (format.metadata.title, format.metadata.artist, format.metadata.date) = ("A film", "A museum", "2026")
        (format.metadata.album, format.metadata.comment, format.isIndexFirst) = ("Films", "A note", false)
        format.video?.bitRateLimit = 4_000_000
        return FilmJob(format, from: .clips)
    }()

    static let plane: PlaneOffer = {
        let layout = PictureLayout(byteCount: 640 * 400 * 3 / 2, planeCount: 3, strides: [640, 320, 320], offsets: [0, 256_000, 320_000])
        return PlaneOffer(PlanePool(AV_PIX_FMT_YUV420P, width: 636, height: 358, layout) { nil })
    }()

    static let picture: PictureRecord = {
        var picture = PictureRecord(format: AV_PIX_FMT_YUV420P.rawValue, width: 64, height: 32)
        (picture.slot, picture.offsets, picture.strides) = (2, [4096, 8192, 12288, 0], [64, 32, 32, 0])
        (picture.time, picture.duration, picture.matrix) = (.seconds(3), .milliseconds(40), 1)
        return picture
    }()

    static let orders: [ReaderOrder] =
        ([
            .play, .previews(PixelSize(width: 320, height: 180)), .thumbnail(PixelSize(width: 1, height: 2)), .cover,
            .times,
            .file(folder: nil), .file(folder: "/srv"), .film(film),
            .film(FilmJob(FilmFormat(video: nil, audio: nil), from: .film("a.mp4"))),
        ] as [OpenOrder.Role]).map { role in
            var order = open
            order.role = role
            return .open(order)
        }
        + [
            .open(OpenOrder(.play, "/srv/a.mp4", reach: SourceReach("/srv/a.mp4", StreamSettings()), pictureMemory: 1)),
            .seek(.seconds(1), .exact), .seek(.zero, .keyFrame()), .seek(.seconds(5), .keyFrame(after: .seconds(4))), .catchUp,
            .select(.automatic, at: .zero), .select(.off, at: .seconds(1)), .select(.number(3), at: .zero), .preview(.seconds(7)),
            .close, .cancel, .addresses(6, ["192.168.1.7", "fe80::1%eth0"]), .addresses(7, []), .grant(4),
            .refuse(5, .refused(.certificate)), .refuse(5, .system(13)),
            .planes([]), .planes([plane, plane]), .lend(7, buffer: 63), .film(.frame(picture)), .film(.samples(room: 3, count: 1024)),
            .film(.silence(48_000)), .film(.finish), .film(.written(28)),
            .film(.clip(start: .seconds(1), end: nil)), .film(.copy(until: nil, [])),
            .film(.copy(until: .seconds(4), [.init(clip: 0, instant: .zero), .init(clip: 3, instant: .seconds(2))])),
        ] + ([.isDirectory, .notARegularFile, .isEmpty, .notReadable, .leadsOutside, .interrupted] as [FileFailure]).map { .refuse(6, $0) }

    static let messages: [ReaderMessage] = {
        var readiness = ReaderReadiness()
        (readiness.hasFilter, readiness.landlock, readiness.hasDeinterlacer) = (true, 7, true)
        var description = ReaderDescription(asset)
        description.tracks.selected = [.video: 0, .audio: 3]
        (description.tracks.audio, description.tracks.hasPicture, description.tracks.hasSound) = (asset.audio, true, true)
        (description.nominalFrameDuration, description.found) = (.milliseconds(40), Array(0...99))
        var facts = ClipFacts()
        (facts.title, facts.duration, facts.isPortrait, facts.hasSound) = ("Film", .seconds(3), true, true)
        var broken = ClipFacts()
        broken.problem = "is empty (0 bytes): copy it again"
        let preview = ReaderPreview(PixelSize(width: 320, height: 180), time: .seconds(4), span: .seconds(3) ... .seconds(5))
        return [
            .ready(ReaderReadiness()), .ready(readiness), .described(description),
            .described(ReaderDescription(AssetDescription(container: ""))),
            .selected(description.tracks), .selected(ReaderTracks()), .failed(.cancelled), .landed(Landing(nil, pictures: 0, sound: .max)),
            .landed(Landing(.seconds(2), selection: .follows, pictures: 9, sound: 4)), .problem("plays without its sound"), .ended(""),
            .damage(MediaDamage(pictures: 3, sound: 1, begin: .seconds(2))), .damage(MediaDamage()),
            .note(.decoder("vaapi (/dev/dri/renderD128)")), .note(.lineSpeed(5e6)),
            .log("deprecated pixel format used"), .request(1, .file(path: "/srv/ü.mov", folder: nil)),
            .request(2, .file(path: "b.ts", folder: "/srv")), .request(3, .deinterlacer), .request(4, .device),
            .request(5, .name("camera.local")), .request(6, .plane(plane)), .result(.previews(true)),
            .result(.preview(nil)),
            .result(.preview(preview)), .result(.thumbnail(facts, PixelSize(width: 3, height: 2))), .result(.thumbnail(broken, nil)),
            .surface(
                ReaderSurface(
                    number: 3, format: 0x3231_564E, modifier: .max,
                    planes: [.init(object: 0, offset: 0, pitch: 640), .init(object: 0, offset: 1 << 20, pitch: 640)])),
            .note(.refusedByDevices("h264 1920x1080 8")), .note(.deviceFailed("it did not answer for 1 s")),
            .note(.device("/dev/dri/renderD128: a driver")),
            .result(.cover(codec: "mjpeg", byteCount: 12345)), .result(.noCover), .result(.times(nil)), .result(.times(99)),
            .film(.began(encoder: "libx264", note: nil)), .film(.began(encoder: nil, note: "in software")), .film(.free(room: 1)),
            .film(.write(at: 1 << 33, count: 65_536)), .film(.sync), .film(.finished), .film(.looked([])), .film(.looked(["is a still"])),
            .film(.copied(1 << 40)), .film(.failed(.noSpace)), .film(.failed(.noEncoder(codec: "hevc", tried: ["libx265: no", ""]))),
            .film(.failed(.cannotWrite("no"))), .film(.failed(.encoderFailed("x"))), .film(.failed(.unsupportedPicture("1×1"))),
            .film(.failed(.unreadable("it ends"))), .film(.failed(.isBeingWritten)),
            .result(.file), .result(.noFile(.leadsOutside)), .result(.noFile(.refused(.notMedia))),
        ]
    }()
}
