import ArgumentParser
import Configuration
import KioskPlatform
import KioskVocabulary

/// What `kiosk export` takes beside its sources: what an arrangement file can say of the whole film, which it beats.
struct ExportOptions: ParsableArguments {
    @Option(
        name: [.customLong("music")],
        help: ArgumentHelp("Play this under all of the film.", valueName: "file"), completion: .file())
    var music: String?

    @Option(
        help: ArgumentHelp(
            "What becomes of the clips' own sound: duck (the music is lowered for it), mix or replace.", valueName: "mode"),
        completion: .list(MusicMode.allCases.map(\.rawValue)), transform: word(MusicMode.self))
    var musicMode: MusicMode?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Loudness of the music, 0…100.", valueName: "percent"),
        transform: value("a whole number from 0 to 100") { Int($0).flatMap { 0...100 ~= $0 ? $0 : nil } })
    var musicVolume: Int?

    @Flag(help: "Do not begin the music again where it is shorter than the film.")
    var musicOnce = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Size of the film, such as 1920x1080. Default: that of the first clip that moves, as it is seen.", valueName: "size"),
        transform: value("a size such as 1920x1080, even numbers from 16 to 8192", PictureSize.init))
    var size: PictureSize?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Pictures a second. Default: as many as show every picture of the clips, up to 60.", valueName: "rate"),
        transform: value("pictures a second from 10 to 240, such as 25, 29.97 or 30000/1001") { FrameRate($0) })
    var rate: FrameRate?

    @Option(
        help: ArgumentHelp("Encode pictures as h264, hevc or mpeg4.", valueName: "codec"),
        completion: .list(ExportCodec.allCases.map(\.rawValue)), transform: word(ExportCodec.self))
    var codec: ExportCodec?

    @Option(
        help: ArgumentHelp("What encodes pictures: auto, software or hardware. Default: auto.", valueName: "encoder"),
        completion: .list(EncoderSetting.allCases.map(\.rawValue)), transform: word(EncoderSetting.self))
    var encoder: EncoderSetting?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Quality of the pictures, from 0 (nothing lost) to 51. Default: 20.", valueName: "factor"),
        transform: value("a whole number from 0 to 51") { Int($0).flatMap { 0...51 ~= $0 ? $0 : nil } })
    var quality: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Kilobits a second of the pictures, instead of a quality.", valueName: "kbit"),
        transform: value("a whole number from 50 to 500000") { Int($0).flatMap { 50...500_000 ~= $0 ? $0 : nil } })
    var bitRate: Int?

    @Option(
        help: ArgumentHelp("How a clip follows the one before: cut or fade.", valueName: "transition"),
        completion: .list(Transition.allCases.map(\.rawValue)), transform: word(Transition.self))
    var transition: Transition?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long a fade lasts. Default: 1.", valueName: "seconds"),
        transform: value("seconds from 0.01 to 60") { Double($0).flatMap { 0.01...60 ~= $0 ? $0 : nil } })
    var transitionDuration: Double?

    @Option(
        help: ArgumentHelp("Fit pictures to the film's size: fit, fill or stretch.", valueName: "gravity"),
        completion: .list(VideoGravity.allCases.map(\.word)), transform: word(\VideoGravity.word))
    var gravity: VideoGravity?

    @Option(
        help: ArgumentHelp("Colour beside a picture. Default: #000000.", valueName: "#rrggbb"),
        transform: value("# and six hexadecimal digits, such as #00ff80", Color.init))
    var background: Color?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long a still stands. Default: 5.", valueName: "seconds"),
        transform: value("seconds from 0.1 to 86400") { Double($0).flatMap { 0.1...86400 ~= $0 ? $0 : nil } })
    var imageDuration: Double?

    @Option(help: ArgumentHelp("What the file calls itself.", valueName: "text"))
    var title: String?

    func validate() throws {
        if quality != nil, bitRate != nil { throw ValidationError("--bit-rate takes the place of --quality: leave one of them out") }
    }

    /// Puts what was given into a film; paths are relative to `folder`.
    func apply(to arrangement: inout Arrangement, folder: String) throws {
        let output = arrangement.output, film = arrangement.film
        arrangement.output.size = size ?? output.size
        arrangement.output.rate = rate ?? output.rate
        arrangement.output.codec = codec ?? output.codec
        arrangement.output.encoder = encoder ?? output.encoder
        arrangement.output.quality = quality ?? output.quality
        arrangement.output.bitRate = bitRate.map { $0 * 1000 } ?? (quality == nil ? output.bitRate : nil)
        arrangement.output.title = title ?? output.title
        arrangement.film.transition = transition ?? film.transition
        arrangement.film.transitionDuration = transitionDuration.map { .seconds($0) } ?? film.transitionDuration
        arrangement.film.gravity = gravity ?? film.gravity
        arrangement.film.background = background ?? film.background
        arrangement.film.imageDuration = imageDuration.map { .seconds($0) } ?? film.imageDuration
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
