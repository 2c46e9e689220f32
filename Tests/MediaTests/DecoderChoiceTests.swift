import CKioskFFmpeg
import KioskVocabulary
import Testing

@testable import KioskMedia

/// The hardware decoders that kiosk tries, their order, and the reason if it tries none.
@Suite struct DecoderChoiceTests {
    typealias Way = DecoderChoice.Way

    private static let h264 = DecoderChoice.Track(codec: "h264", width: 1920, height: 1080)
    private static let everything = DecoderChoice.Offers(vaapi: "h264", v4l2Request: "h264", v4l2: ["h264_v4l2m2m"])
    private static let debian = DecoderChoice.Offers(vaapi: "h264", v4l2: ["h264_v4l2m2m"])
    private static let gpu = DecoderChoice.Nodes(render: ["/dev/dri/renderD128"])
    private static let two = DecoderChoice.Nodes(render: ["/dev/dri/renderD128", "/dev/dri/renderD129"])
    private static let board = DecoderChoice.Nodes(render: ["/dev/dri/renderD128"], hasVideo: true)
    private static let vaapi = Way(method: .vaapi, decoder: "h264", device: "/dev/dri/renderD128")
    private static let second = Way(method: .vaapi, decoder: "h264", device: "/dev/dri/renderD129")
    private static let stateful = Way(method: .v4l2, decoder: "h264_v4l2m2m")
    private static let stateless = Way(method: .v4l2Request, decoder: "h264", device: "/dev/dri/renderD128")

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var track = DecoderChoiceTests.h264
        var setting = DecoderSetting.automatic
        var offers = DecoderChoiceTests.debian
        var nodes = DecoderChoiceTests.gpu
        var memory = 1 << 30
        var ways: [Way] = []
        var obstacle: String?
    }

    static let rows = [
        Row(testDescription: "a PC", ways: [vaapi]),
        Row(testDescription: "the same where hardware is asked for", setting: .hardware, ways: [vaapi]),
        Row(testDescription: "two graphics processors", nodes: two, ways: [vaapi, second]),
        Row(testDescription: "a board, or a PC with a webcam", nodes: board, ways: [vaapi, stateful]),
        Row(
            testDescription: "a board whose FFmpeg knows stateless decoders", offers: everything, nodes: board,
            ways: [vaapi, stateful, stateless]),
        Row(testDescription: "stateless needs a V4L2 node", offers: everything, ways: [vaapi]),
        Row(testDescription: "stateful needs no graphics", nodes: .init(hasVideo: true), ways: [stateful]),
        Row(testDescription: "software", setting: .software, nodes: board),
        Row(testDescription: "no device", nodes: .init(), obstacle: "there is no device for it (/dev/dri/renderD*, /dev/video*)"),
        Row(testDescription: "an unknown codec", offers: .init(), obstacle: "the installed FFmpeg has no hardware decoder for h264"),
        Row(
            testDescription: "a webcam is no use to VAAPI", offers: .init(vaapi: "h264"), nodes: .init(hasVideo: true),
            obstacle: "no device here decodes h264"),
        Row(
            testDescription: "4:4:4", track: .init(codec: "h264", width: 1920, height: 1080, isPlain420: false),
            obstacle: "its pixel format is not one of hardware decoders"),
        Row(
            testDescription: "interlaced, on a graphics processor",
            track: .init(codec: "h264", width: 1920, height: 1080, isInterlaced: true), offers: everything, nodes: board, ways: [vaapi]),
        Row(
            testDescription: "interlaced, for V4L2", track: .init(codec: "h264", width: 1920, height: 1080, isInterlaced: true),
            nodes: .init(hasVideo: true), obstacle: "it is interlaced"),
        Row(
            testDescription: "10 bits in 4K need 830 MB", track: .init(codec: "hevc", width: 3840, height: 2160, bitsPerSample: 10),
            memory: 800 << 20, obstacle: "its pictures would take 830 MB"),
        Row(
            testDescription: "the kernel's decoders have memory of their own",
            track: .init(codec: "hevc", width: 3840, height: 2160, bitsPerSample: 10),
            nodes: board, memory: 800 << 20, ways: [stateful]),
    ]

    @Test(arguments: rows) func ways(row: Row) {
        let choice = DecoderChoice(row.track, setting: row.setting, offers: row.offers, nodes: row.nodes, memory: row.memory)
        #expect(choice.ways == row.ways)
        #expect(choice.obstacle == row.obstacle)
    }

    @Test("What the header says of formats and fields is found") func tracks() {
        func track(_ format: AVPixelFormat, _ order: AVFieldOrder = AV_FIELD_PROGRESSIVE) -> DecoderChoice.Track {
            var parameters = avcodec_parameters_alloc()
            defer { avcodec_parameters_free(&parameters) }
            (parameters!.pointee.codec_id, parameters!.pointee.format, parameters!.pointee.field_order) = (
                AV_CODEC_ID_H264, format.rawValue, order
            )
            return DecoderChoice.Track(parameters!.pointee)
        }
        #expect(track(AV_PIX_FMT_YUV420P).isPlain420 && track(AV_PIX_FMT_YUVJ420P).isPlain420 && track(AV_PIX_FMT_NV12).isPlain420)
        #expect(track(AV_PIX_FMT_YUV420P10LE).isPlain420 && track(AV_PIX_FMT_YUV420P10LE).bitsPerSample == 10)
        #expect(track(AV_PIX_FMT_NONE).isPlain420, "the first picture will tell")
        for other in [
            AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVA420P, AV_PIX_FMT_GRAY8, AV_PIX_FMT_RGB24, AV_PIX_FMT_YUV420P12LE,
        ] {
            #expect(!track(other).isPlain420, "\(other.rawValue)")
        }
        #expect(track(AV_PIX_FMT_YUV420P, AV_FIELD_TT).isInterlaced && !track(AV_PIX_FMT_YUV420P).isInterlaced)
        #expect(!track(AV_PIX_FMT_YUV420P, AV_FIELD_UNKNOWN).isInterlaced)
        #expect(track(AV_PIX_FMT_YUV420P).codec == "h264")
    }

    @Test("libavcodec's offers are found") func offers() {
        let h264 = DecoderChoice.Offers(AV_CODEC_ID_H264)
        #expect(h264.vaapi == "h264" && h264.v4l2 == ["h264_v4l2m2m"])
        #expect(DecoderChoice.Offers(AV_CODEC_ID_AV1).vaapi == "av1", "and not libdav1d, which comes first")
        #expect(DecoderChoice.Offers(AV_CODEC_ID_PNG).isEmpty)
    }
}

/// The packets that kiosk keeps for software to continue with.
@Suite struct KeptPacketsTests {
    private func packet(_ stamp: Int64, key: Bool = false, bytes: Int32 = 100) -> Packet {
        let packet = Packet()
        av_new_packet(packet.raw, bytes)
        packet.raw.pointee.pts = stamp
        packet.raw.pointee.flags = key ? AV_PKT_FLAG_KEY : 0
        return packet
    }

    private func stamps(_ kept: consuming KeptPackets) -> [Int64] {
        var stamps: [Int64] = []
        while let packet = kept.popFirst() { stamps.append(packet.raw.pointee.pts) }
        return stamps
    }

    @Test("A group is dropped when the key frame after it has come out, not when that is sent") func groups() {
        var kept = KeptPackets()
        for stamp: Int64 in [0, 2, 1, 3] { kept.append(packet(stamp, key: stamp == 0)) }
        kept.gaveOut(0)
        kept.append(packet(5, key: true))
        kept.append(packet(4))
        kept.gaveOut(3)
        #expect(kept.count == 6)
        // Packet 4 was sent after the key frame and is shown before it.
        kept.gaveOut(4)
        #expect(kept.count == 6)
        kept.gaveOut(5)
        #expect(kept.count == 2 && kept.byteCount == 200)
        #expect(stamps(kept) == [5, 4])
    }

    @Test("Of a stream of key frames no more is kept than what has not come out") func keyFrames() {
        var kept = KeptPackets()
        for stamp: Int64 in 0..<100 {
            kept.append(packet(stamp, key: true))
            if stamp > 0 { kept.gaveOut(stamp - 1) }
            #expect(kept.count <= 2)
        }
    }

    @Test("Where a group has no room nothing is kept up to the next key frame") func limit() {
        var kept = KeptPackets(limit: 1000)
        for stamp: Int64 in 0..<12 { kept.append(packet(stamp, key: stamp == 0)) }
        #expect(kept.count == 0 && kept.byteCount == 0 && !kept.isComplete && !kept.hasKey)
        kept.append(packet(12))
        #expect(kept.count == 0)
        kept.append(packet(13, key: true))
        kept.append(packet(14))
        #expect(kept.isComplete && kept.hasKey)
        #expect(stamps(kept) == [13, 14])
    }

    @Test("After a seek nothing is kept") func removal() {
        var kept = KeptPackets(limit: 150)
        kept.append(packet(0, key: true))
        kept.append(packet(1))
        kept.removeAll()
        #expect(kept.isComplete && !kept.hasKey && kept.count == 0 && kept.byteCount == 0)
    }
}
