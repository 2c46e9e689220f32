import KioskMedia
import KioskVocabulary
import Testing

/// The true content of a gallery clip, as `Tests/Clips/make` draws it. Tests compare the player's findings with it.
package struct GalleryClip: Sendable, CustomTestStringConvertible {
    /// The file's name.
    package var name: String
    /// Pixels across and down as it stands upright.
    package var width = 320, height = 180
    /// The pixels' width divided by their height.
    package var pixelAspectRatio = 1.0
    /// How the stored picture must be turned.
    package var orientation = Orientation.up
    /// The numbers of its pictures; nil for sound alone.
    package var numbers: ClosedRange<Int>? = 1...24
    /// Pictures a second, in interlaced clips twice the number of stored frames; nil for a still.
    package var rate: Double? = 30
    /// Whether the pictures follow each other at a constant rate.
    package var isConstantRate = true
    /// Whether it consists of fields.
    package var isInterlaced = false
    /// Its sound, if any.
    package var sound: Sound? = Sound()

    /// The tone of 440 Hz.
    package struct Sound: Sendable {
        /// Samples a second for each channel, as stored.
        package var sampleRate = 48000
        /// The number of stored channels.
        package var channels = 2
        /// Its length in seconds; nil if it is as long as the picture.
        package var seconds: Double?
        /// The exactness of the times in the container.
        package var timing = Timing.exact

        /// How exactly a container tells the beginning and the end of sound.
        package enum Timing: Sendable {
            /// Both, to the sample.
            case exact
            /// Both, in whole milliseconds.
            case milliseconds
            /// Without the padding of the last packet.
            case padded
            /// Without the padding and without the encoder's delay.
            case delayed
        }

        /// The largest surplus in samples at 48 kHz, and the most samples that sound may be early or late (nil: unknown).
        package var inexactness: (surplus: Int, late: Double?) {
            switch timing {
            case .exact: (sampleRate == 48000 ? 0 : 1, 1)
            case .milliseconds: (1024, 24)
            case .padded: (3 * 1152, 1)
            case .delayed: (3 * 1152, nil)
            }
        }

        /// Creates stereo sound at 48 kHz, exact and as long as the picture, except for the given values.
        package init(sampleRate: Int = 48000, channels: Int = 2, seconds: Double? = nil, timing: Timing = .exact) {
            (self.sampleRate, self.channels, self.seconds, self.timing) = (sampleRate, channels, seconds, timing)
        }
    }

    /// Whether it is a single image.
    package var isStill: Bool { numbers != nil && rate == nil }
    /// The number of pictures.
    package var frameCount: Int { numbers?.count ?? 0 }
    /// Returns the time in seconds when picture `index`, from 0, begins; for ``frameCount``, the end of the last picture. The pictures of
    /// vfr.mp4 last 20, 40 and 60 ms in turn. The last one lasts 20 ms, as no encoder can know its length.
    package func time(ofFrame index: Int) -> Double {
        if !isConstantRate {
            return index == frameCount ? time(ofFrame: index - 1) + 0.02 : 0.12 * Double(index / 3) + [0, 0.02, 0.06][index % 3]
        }
        return rate.map { Double(index) / $0 } ?? 0
    }

    /// The length in seconds: of the picture, or of the sound if there is no picture.
    package var seconds: Double { numbers == nil ? sound?.seconds ?? 0 : time(ofFrame: frameCount) }
    /// The name.
    package var testDescription: String { name }

    /// Creates a clip with the default values, changed by `change`.
    init(_ name: String, _ change: (inout GalleryClip) -> Void = { _ in }) {
        self.name = name
        change(&self)
    }

    /// Creates a clip of `frames` frames, by default 320 x 180 at 30 a second with stereo sound.
    init(_ name: String, frames: Int, rate: Double = 30, sound: Sound? = Sound(), size: (Int, Int) = (320, 180)) {
        self.name = name
        (numbers, self.rate, self.sound, width, height) = (1...frames, rate, sound, size.0, size.1)
    }

    static func still(_ name: String, size: (Int, Int) = (320, 180), orientation: Orientation = .up) -> GalleryClip {
        GalleryClip(name) { clip in
            (clip.numbers, clip.rate, clip.sound, clip.orientation) = (401...401, nil, nil, orientation)
            (clip.width, clip.height) = size
        }
    }
}

/// The clips of the gallery that play as intended, in the order of `Tests/Clips/make`; also the names of the faulty ones.
package enum Gallery {
    /// The clips of the bed and the benchmark: five seconds each, except for flash-half.mp4 (half a second).
    package static let bed: [GalleryClip] = [
        GalleryClip("a1080p60.mp4", frames: 300, rate: 60, size: (1920, 1080)),
        GalleryClip("a1080p30.mp4", frames: 150, size: (1920, 1080)),
        GalleryClip("a1080p25.mp4", frames: 125, rate: 25, size: (1920, 1080)),
        GalleryClip("a60.mp4", frames: 300, rate: 60, size: (1280, 720)),
        GalleryClip("a50.mp4", frames: 250, rate: 50, size: (1280, 720)),
        GalleryClip("a.mp4", frames: 150, size: (1280, 720)),
        GalleryClip("b.mp4") { ($0.numbers, $0.width, $0.height) = (1001...1150, 1280, 720) },
        GalleryClip("a25.mp4", frames: 125, rate: 25, size: (1280, 720)),
        GalleryClip("a24.mp4", frames: 120, rate: 24, size: (1280, 720)),
        GalleryClip("flash.mp4", frames: 150, size: (1280, 720)),
        GalleryClip("flash-half.mp4", frames: 15, rate: 30000 / 1001),
    ]

    /// Clips of one second each, for many loops on the bed.
    package static let loops: [GalleryClip] =
        [24, 25, 30, 50, 60].flatMap { rate in
            [("loop", 1), ("other", 1001)].map { name, first in
                GalleryClip("\(name)\(rate).mp4") { ($0.numbers, $0.rate) = (first...(first + rate - 1), Double(rate)) }
            }
        } + [
            GalleryClip("loop50i.mp4") { clip in
                (clip.numbers, clip.rate, clip.isInterlaced) = (1...50, 50, true)
                (clip.width, clip.height, clip.pixelAspectRatio) = (720, 576, 64.0 / 45)
            }
        ]

    /// Clips of about a second each, with nothing in common.
    package static let mixed: [GalleryClip] = [
        mixed(1, "mp4", 30, 30, (480, 270)),
        mixed(2, "webm", 25, 25, (320, 240), .init(timing: .milliseconds)),
        mixed(3, "mkv", 24, 24000 / 1001, (320, 180), .init(timing: .milliseconds)),
        mixed(4, "ts", 25, 25, (352, 288), .init(timing: .padded)),
        mixed(5, "mp4", 60, 60, (320, 180), nil),
        mixed(6, "mp4", 50, 50, (640, 360), .init(sampleRate: 22050, channels: 1)),
        mixed(7, "mov", 24, 24, (320, 180)),
        mixed(8, "mkv", 15, 15, (400, 300), .init(timing: .milliseconds)),
        mixed(9, "mp4", 30, 30000 / 1001, (320, 180), .init(channels: 6)),
        mixed(10, "mp4", 30, 30, (321, 179)),
    ]

    private static func mixed(
        _ place: Int, _ container: String, _ frames: Int, _ rate: Double, _ size: (Int, Int), _ sound: GalleryClip.Sound? = .init()
    ) -> GalleryClip {
        GalleryClip("mix-\(place).\(container)") { clip in
            (clip.numbers, clip.rate, clip.sound) = (1000 * place + 1...1000 * place + frames, rate, sound)
            (clip.width, clip.height) = size
        }
    }

    /// Moving pictures of up to four seconds.
    package static let moving: [GalleryClip] = [
        GalleryClip("corners.mp4", frames: 60, size: (640, 480)),
        GalleryClip("thirty.mp4", frames: 30),
        GalleryClip("faststart.mp4", frames: 60),
        GalleryClip("keyframes.mp4", frames: 90),
        GalleryClip("one-frame.mp4", frames: 1, sound: .init(seconds: 0.033)),
        GalleryClip("film.mp4", frames: 24, rate: 24000 / 1001),
        GalleryClip("ntsc.mp4", frames: 30, rate: 30000 / 1001),
        GalleryClip("ntsc60.mkv", frames: 60, rate: 60000 / 1001, sound: .init(timing: .milliseconds)),
        GalleryClip("vfr.mp4") { ($0.numbers, $0.rate, $0.isConstantRate) = (1...30, 25, false) },
        GalleryClip("interlaced.mp4") { ($0.numbers, $0.rate, $0.isInterlaced) = (1...48, 50, true) },
        GalleryClip("h264.ts", frames: 24, sound: .init(timing: .padded)),
        GalleryClip("hevc.mp4"), GalleryClip("hevc10.mp4"),
        GalleryClip("vp8.webm", frames: 24, sound: .init(timing: .milliseconds)),
        GalleryClip("vp9.webm", frames: 24, sound: .init(timing: .milliseconds)),
        GalleryClip("vp9-alpha.webm", frames: 24, sound: .init(timing: .milliseconds)),
        GalleryClip("av1.mkv", frames: 24, sound: .init(timing: .milliseconds)),
        GalleryClip("long.ts", frames: 120, sound: .init(timing: .padded)),
        GalleryClip("mpeg2.ts", frames: 20, rate: 25, sound: .init(timing: .padded)),
        GalleryClip("mpeg2.mpg", frames: 20, rate: 25, sound: .init(timing: .padded)),
        GalleryClip("mpeg4.avi", frames: 24, sound: .init(timing: .delayed)),
        GalleryClip("mjpeg.avi"), GalleryClip("prores.mov"),
        GalleryClip("animation.gif", frames: 8, rate: 10, sound: nil),
        GalleryClip("animation.apng", frames: 8, rate: 10, sound: nil),
        turned("turned-90.mp4", .clockwise90), turned("turned-180.mp4", .clockwise180), turned("turned-270.mp4", .clockwise270),
        GalleryClip("odd.webm", frames: 24, sound: .init(timing: .milliseconds), size: (321, 179)),
        GalleryClip("odd444.mp4", frames: 24, size: (321, 179)),
        GalleryClip("anamorphic.mp4") { clip in
            (clip.numbers, clip.rate, clip.width, clip.height, clip.pixelAspectRatio) = (1...20, 25, 360, 288, 64.0 / 45)
        },
        GalleryClip("silent.mp4", frames: 24, sound: nil),
        GalleryClip("mono-22050.mp4", frames: 24, sound: .init(sampleRate: 22050, channels: 1)),
        GalleryClip("surround.mp4", frames: 24, sound: .init(channels: 6)),
        GalleryClip("sound-longer.mp4", frames: 24, sound: .init(seconds: 2)),
        GalleryClip("sound-shorter.mp4", frames: 60, sound: .init(seconds: 0.4)),
        GalleryClip("edit-list.mov") { ($0.numbers, $0.sound) = (16...47, .init(seconds: 1.014)) },
        GalleryClip("late-picture.mov", frames: 24, sound: .init(seconds: 0.5)),
        GalleryClip("wrong-extension.mp3", frames: 30), GalleryClip("wrong-extension.jpg", frames: 30),
    ]

    /// A second of the tone, in four codecs.
    package static let soundAlone: [GalleryClip] = ["sound-only.m4a", "sound-only.mp3", "sound-only.opus", "sound-only.flac"].map { name in
        GalleryClip(name) { ($0.numbers, $0.rate, $0.sound) = (nil, nil, .init(seconds: 1)) }
    }

    /// Images.
    package static let stills: [GalleryClip] = [
        .still("still.jpg"), .still("still.png"), .still("still.webp"), .still("still.bmp"), .still("still.tiff"),
        .still("odd.png", size: (321, 179)), .still("corners.png", size: (640, 480)),
        // EXIF orientations 2 to 8: mirrored first, then turned clockwise
        .still("exif-2.jpg", orientation: .init(isMirrored: true)), .still("exif-3.jpg", orientation: .init(rotation: .clockwise180)),
        .still("exif-4.jpg", orientation: .init(rotation: .clockwise180, isMirrored: true)),
        .still("exif-5.jpg", orientation: .init(rotation: .clockwise270, isMirrored: true)),
        .still("exif-6.jpg", orientation: .init(rotation: .clockwise90)),
        .still("exif-7.jpg", orientation: .init(rotation: .clockwise90, isMirrored: true)),
        .still("exif-8.jpg", orientation: .init(rotation: .clockwise270)), .still("wrong-extension.mp4"),
    ]

    /// The files that cannot be played at all.
    package static let unplayable = ["no-moov.mp4", "header-only.mp4", "empty.mp4", "text.mp4"]
    /// The files of which only some pictures can be shown.
    package static let damaged = ["truncated.mp4", "truncated.mkv", "truncated.ts", "truncated.jpg", "flipped.mp4", "flipped.ts"]

    private static func turned(_ name: String, _ rotation: Rotation) -> GalleryClip {
        GalleryClip(name) { clip in
            (clip.width, clip.height, clip.orientation) = (180, 320, Orientation(rotation: rotation))
        }
    }
}
