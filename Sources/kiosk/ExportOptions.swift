import ArgumentParser
import KioskConfiguration
import KioskPlatform
import KioskVocabulary

/// The options of `kiosk export` for the whole film; they override the arrangement file.
struct ExportOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Play this music under the whole film.", valueName: "file"), completion: .file())
    var music: String?

    @Option("Treatment of the clips' own sound: duck (lower the music for it), mix or replace.", value: "mode", .word(\.rawValue))
    var musicMode: MusicMode?

    @Option("Loudness of the music, 0…100.", value: "percent", parsing: .unconditional, .whole(0...100))
    var musicVolume: Int?

    @Flag(help: "Do not repeat music that is shorter than the film.")
    var musicOnce = false

    @Option(
        "Size of the film, such as 1920x1080. Default: the visible size of the first clip that moves.", value: "size",
        parsing: .unconditional, .text("a size such as 1920x1080, even numbers from 16 to 8192"))
    var size: PictureSize?

    @Option(
        "Pictures a second. Default: enough for every picture of the clips, up to 60.", value: "rate", parsing: .unconditional,
        .text("pictures a second from 10 to 240, such as 25, 29.97 or 30000/1001"))
    var rate: FrameRate?

    @Option("Encode pictures as h264, hevc or mpeg4.", value: "codec", .word(\.rawValue))
    var codec: ExportCodec?

    @Option("Encoder of the pictures: auto, software or hardware. Default: auto.", value: "encoder", .word(\.rawValue))
    var encoder: EncoderSetting?

    @Option(
        "Quality of the pictures, from 0 (nothing lost) to 51. Default: 20.", value: "factor", parsing: .unconditional, .whole(0...51))
    var quality: Int?

    @Option(
        "Kilobits a second of the pictures, instead of a quality.", value: "kbit", parsing: .unconditional, .whole(50...500_000))
    var bitRate: Int?

    @Option("Transition from one clip to the next: cut or fade.", value: "transition", .word(\.rawValue))
    var transition: Transition?

    @Option(
        "Length of a fade, in seconds. Default: 1.", value: "seconds", parsing: .unconditional,
        .number("seconds from 0.01 to 60", in: 0.01...60))
    var transitionDuration: Double?

    @Option("Fit pictures to the film's size: fit, fill or stretch.", value: "gravity", .word(\.word))
    var gravity: VideoGravity?

    @Option("Colour beside a picture. Default: #000000.", value: "#rrggbb", .color())
    var background: Color?

    @Option(
        "Seconds for each still. Default: 5.", value: "seconds", parsing: .unconditional,
        .number("seconds from 0.1 to 86400", in: 0.1...86400))
    var imageDuration: Double?

    @Option(
        "Draw subtitles of the clips into the film: a language, a number from 1, or auto. Default: off.", value: "track",
        .text("a language such as de, a number from 1, auto or off", words: ["auto", "off"]))
    var subtitles: TrackChoice?

    @Option(help: ArgumentHelp("Title in the file.", valueName: "text"))
    var title: String?

    func validate() throws {
        if quality != nil, bitRate != nil { throw ValidationError("--bit-rate replaces --quality: leave one of the two out") }
    }

    /// Applies the options to a film; paths are relative to `folder`.
    func apply(to arrangement: inout Arrangement, folder: String) throws {
        func set<Value>(_ path: WritableKeyPath<Arrangement, Value>, _ value: Value?) {
            if let value { arrangement[keyPath: path] = value }
        }
        arrangement.output.size = size ?? arrangement.output.size
        arrangement.output.rate = rate ?? arrangement.output.rate
        arrangement.output.codec = codec ?? arrangement.output.codec
        set(\.output.encoder, encoder)
        set(\.output.quality, quality)
        arrangement.output.title = title ?? arrangement.output.title
        if bitRate != nil || quality != nil { arrangement.output.bitRate = bitRate.map { $0 * 1000 } }
        set(\.film.transition, transition)
        set(\.film.transitionDuration, transitionDuration.map(MediaTime.seconds))
        set(\.film.gravity, gravity)
        set(\.film.subtitles, subtitles)
        set(\.film.background, background)
        set(\.film.imageDuration, imageDuration.map(MediaTime.seconds))
        let hasFade = arrangement.film.transition == .fade || arrangement.clips.contains { $0.transition == .fade }
        if transitionDuration != nil, !hasFade { throw ValidationError("--transition-duration: there is no fade: add --transition fade") }
        if let music {
            let source = PlaylistSource(music, relativeTo: folder).location
            arrangement.music = arrangement.music ?? .init(source: source)
            arrangement.music?.source = source
        }
        guard arrangement.music != nil else {
            if musicMode != nil || musicVolume != nil || musicOnce { throw ValidationError("there is no music: name it with --music") }
            return
        }
        if let musicMode { arrangement.music?.mode = musicMode }
        if let musicVolume { arrangement.music?.volume = musicVolume }
        if musicOnce { arrangement.music?.isRepeated = false }
    }
}
