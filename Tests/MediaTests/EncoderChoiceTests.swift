import KioskVocabulary
import Testing

@testable import KioskMedia

@Suite struct EncoderChoiceTests {
    @Test(
        "Who is asked to encode, in which order",
        arguments: [
            (FilmFormat.VideoCodec.h264, EncoderSetting.automatic, "libx264 libopenh264 h264_v4l2m2m h264_vaapi@a h264_vaapi@b"),
            (.h264, .hardware, "h264_vaapi@a h264_vaapi@b h264_v4l2m2m libx264 libopenh264"),
            (.h264, .software, "libx264 libopenh264"),
            (.hevc, .automatic, "libx265 hevc_v4l2m2m hevc_vaapi@a hevc_vaapi@b"),
            (.hevc, .hardware, "hevc_vaapi@a hevc_vaapi@b hevc_v4l2m2m libx265"),
            (.hevc, .software, "libx265"),
            (.mpeg4, .automatic, "mpeg4"), (.mpeg4, .hardware, "mpeg4"), (.mpeg4, .software, "mpeg4"),
            (nil, .automatic, "libx264 libopenh264 h264_v4l2m2m h264_vaapi@a h264_vaapi@b mpeg4"),
            (nil, .hardware, "h264_vaapi@a h264_vaapi@b h264_v4l2m2m libx264 libopenh264 mpeg4"),
            (nil, .software, "libx264 libopenh264 mpeg4"),
        ] as [(FilmFormat.VideoCodec?, EncoderSetting, String)])
    func order(codec: FilmFormat.VideoCodec?, setting: EncoderSetting, expected: String) {
        let ways = EncoderChoice.ways(codec, setting, nodes: ["a", "b"])
        #expect(ways.map { way in way.encoder + (way.device.map { "@\($0)" } ?? "") }.joined(separator: " ") == expected)
        for way in ways {
            #expect(way.isVAAPI == way.encoder.contains("vaapi"))
            #expect(way.isHardware == (way.isVAAPI || way.encoder.contains("v4l2m2m")))
        }
    }

    @Test("Without a device VAAPI is named all the same, so that an error says what is missing") func noDevice() {
        #expect(EncoderChoice.ways(.h264, .hardware, nodes: []).first == EncoderChoice.Way(encoder: "h264_vaapi"))
    }
}
