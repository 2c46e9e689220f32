import KioskConfiguration
import KioskControlsCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// The plan of a film: an arrangement whose sources have been opened. All unusable sources are reported before anything is written.
struct ExportPlan {
    /// The items to play, in order.
    private(set) var items: [PlaylistItem] = []
    /// The description of each item's file; nil for a title card.
    private(set) var descriptions: [AssetDescription?] = []

    /// A clip over the others.
    struct Inset {
        var item: PlaylistItem, description: AssetDescription, cadence: MediaTime?
        /// The time in the film at which it begins.
        var start: MediaTime
    }

    /// The clips over the others, the rearmost first.
    private(set) var insets: [Inset] = []
    private(set) var size: PictureSize
    private(set) var rate: FrameRate
    /// The lowest rate that shows every frame of every clip, at most 60; nil if no clip moves, or the rate was not needed.
    let fileRate: FrameRate?
    /// The frame durations of the items, if known. If ``fileRate`` can show all frames of an item, its duration is no shorter than that.
    let cadences: [MediaTime?]
    /// The longest fade.
    let transition: MediaTime
    /// The length of the film, by the files.
    let length: MediaTime
    /// The part of the length without stills and title cards.
    let moving: MediaTime
    let hasSound: Bool
    /// Notes, one line each.
    private(set) var notes: [String] = []
    /// The title cards, which exist as long as this plan.
    private let cards: [PictureFile]

    /// The rate if none is set and no clip moves.
    static let defaultRate = FrameRate(30)!

    /// Opens every source. If the film's rate depends on the clips, or with `findsRate`, it also reads every packet of clips that may be
    /// uneven. Blocks for as long as that takes. `musicFault` is the fault of the music, to be reported together with those of the clips.
    init(
        _ arrangement: Arrangement, findsRate: Bool = false, musicFault: ExportError? = nil, readers: Readers = .shared,
        isCancelled: () -> Bool = { false }
    ) throws(ExportError) {
        let film = arrangement.film
        let findsRate = findsRate || arrangement.output.rate == nil
        var faults: [String] = []
        var rates: [Path: FilmRate.Choice?] = [:]
        var all: [AssetDescription?] = []
        for clip in arrangement.clips + arrangement.insets.map(\.clip) {
            guard case .file(let source) = clip.content else {
                all.append(nil)
                continue
            }
            do throws(MediaError) {
                let description = try Self.open(source, clip, by: readers)
                all.append(description)
                if findsRate, faults.isEmpty, musicFault == nil, rates[Path(source)] == nil {
                    rates[Path(source)] = .some(Self.rate(of: source, description, by: readers, isCancelled))
                }
            } catch {
                all.append(nil)
                if !faults.contains(error.description) { faults.append(error.description) }
            }
        }
        if isCancelled() { throw .cancelled }
        if let musicFault, faults.isEmpty { throw musicFault }
        if !faults.isEmpty { throw .sources(faults + (musicFault.map { [$0.description] } ?? [])) }
        if arrangement.clips.isEmpty { throw .sources(["there is nothing to make a film of: name a clip"]) }

        descriptions = Array(all.prefix(arrangement.clips.count))
        let seen = descriptions.contains { $0 != nil } ? descriptions : all
        size = arrangement.output.size ?? Self.size(of: seen, within: arrangement.output.largest)
        fileRate = rates.values.compactMap { $0?.rate }.max { $0.hertz < $1.hertz }
        rate = arrangement.output.rate ?? fileRate ?? Self.defaultRate
        func cadence(_ clip: Arrangement.Clip, _ description: AssetDescription?) -> MediaTime? {
            guard case .file(let source) = clip.content, let video = description?.video else { return nil }
            if let choice = rates[Path(source)] ?? nil, !choice.isTooLow { return choice.rate.time(of: 1) }
            return video.frameRate.map { .seconds(1 / (video.isDeinterlaced ? 2 * $0 : $0)) }
        }
        cadences = zip(arrangement.clips, descriptions).map(cadence)
        for (inset, description) in zip(arrangement.insets, all.dropFirst(arrangement.clips.count)) {
            guard let description, case .file(let source) = inset.clip.content else { continue }
            insets.append(
                Inset(
                    item: Self.item(inset.clip, source, in: arrangement), description: description,
                    cadence: cadence(inset.clip, description), start: inset.start))
        }
        let (items, cards) = try Self.items(of: arrangement, size: size)
        (self.items, self.cards) = (items, cards)
        let fades = arrangement.clips.map { clip in
            (clip.transition ?? film.transition) == .cut ? MediaTime.zero : clip.transitionDuration ?? film.transitionDuration
        }
        for index in items.indices { self.items[index].transition = fades[index] }
        transition = fades.max() ?? .zero
        length = Self.length(of: self.items, descriptions, imageDuration: film.imageDuration)
        let films = zip(self.items, descriptions).filter { $1?.isStill == false }
        moving = Self.length(of: films.map(\.0), films.map(\.1), imageDuration: film.imageDuration)
        let sources = zip(items + insets.map(\.item), descriptions + insets.map(\.description))
        hasSound =
            arrangement.music != nil
            || sources.contains { !$0.isMuted && ($0.volumes?.highest ?? $0.volume) > 0 && $1?.audio != nil }
    }

    private static func open(_ source: String, _ clip: Arrangement.Clip, by readers: Readers) throws(MediaError) -> AssetDescription {
        var order = OpenOrder(.play, source)
        (order.samples, order.deinterlacing) = (ExportSession.samples, clip.deinterlace == .off ? .off : .fields)
        let description = try ReaderClient(order, by: readers, Interruption()).description
        if description.video == nil {
            throw MediaError(source, .failed("has no picture: sound goes under the film with --music, or [music] in an arrangement"))
        }
        let natural = description.video?.duration ?? description.duration
        if !description.isStill, natural == nil, clip.end == nil, clip.duration == nil {
            throw MediaError(source, .failed("has no known duration: give it an end or a duration in an arrangement"))
        }
        if let natural, !description.isStill, clip.start >= natural {
            throw MediaError(source, .failed("start is at or after its end (\(natural))"))
        }
        return description
    }

    // MARK: Size and rate

    /// Returns the displayed size of the first clip that moves, else of the first still; scaled down into `largest`, or into that upright.
    private static func size(of descriptions: [AssetDescription?], within largest: PictureSize?) -> PictureSize {
        let known = descriptions.compactMap { $0 }
        guard let video = (known.first { !$0.isStill } ?? known.first)?.video else { return PictureSize(width: 1920, height: 1080)! }
        var (width, height) = (Double(video.width) * video.pixelAspectRatio, Double(video.height))
        if video.orientation.rotation.swapsAxes { (width, height) = (height, width) }
        // Photographs are larger than any film.
        var scale = known.contains { !$0.isStill } ? 1 : min(1, 1920 / max(width, height))
        if let largest {
            let (long, short) = (Double(max(largest.width, largest.height)), Double(min(largest.width, largest.height)))
            scale = min(scale, long / max(width, height), short / min(width, height))
        }
        func even(_ length: Double) -> Int { min(max(Int((length * scale / 2).rounded()) * 2, 16), 8192) }
        return PictureSize(width: even(width), height: even(height))!
    }

    /// Returns the lowest rate that shows every frame of a clip; nil for a still.
    private static func rate(
        of source: String, _ description: AssetDescription, by readers: Readers, _ isCancelled: () -> Bool
    ) -> FilmRate.Choice? {
        guard let video = description.video, !description.isStill else { return nil }
        let times = try? MediaTime.pictures(
            of: source, deinterlacing: video.isDeinterlaced ? .fields : .off, by: readers, isCancelled: isCancelled)
        if let rate = times.flatMap({ FilmRate.choice(for: $0) }) { return rate }
        return video.frameRate.flatMap { FilmRate.choice(forAverage: video.isDeinterlaced ? 2 * $0 : $0) }
    }

    // MARK: Items

    private static func items(of arrangement: Arrangement, size: PictureSize) throws(ExportError) -> ([PlaylistItem], [PictureFile]) {
        var items: [PlaylistItem] = [], cards: [PictureFile] = []
        for clip in arrangement.clips {
            switch clip.content {
            case .file(let source):
                items.append(item(clip, source, in: arrangement))
            case .card(let text, let subtitle, let background, let foreground):
                let surface = TitleCard.draw(
                    text, subtitle: subtitle, width: size.width, height: size.height, font: arrangement.film.font,
                    background: background ?? arrangement.film.background, foreground: foreground)
                let card = try PictureFile(surface)
                cards.append(card)
                items.append(PlaylistItem(source: card.path, duration: clip.duration, decoder: .software))
            }
        }
        return (items, cards)
    }

    private static func item(_ clip: Arrangement.Clip, _ source: String, in arrangement: Arrangement) -> PlaylistItem {
        var item = PlaylistItem(
            source: source, gravity: clip.gravity ?? arrangement.film.gravity, volume: Double(clip.volume) / 100,
            isMuted: clip.isMuted || arrangement.music?.mode == .replace, repeatCount: clip.repeatCount, start: clip.start,
            end: clip.end, duration: clip.duration, deinterlace: clip.deinterlace, decoder: .software,
            audioTrack: arrangement.film.audioTrack)
        item.subtitleTrack = arrangement.film.subtitles
        item.volumes = clip.changes.volume
        return item
    }

    private static func length(of items: [PlaylistItem], _ descriptions: [AssetDescription?], imageDuration: MediaTime) -> MediaTime {
        var length = MediaTime.zero
        for (item, description) in zip(items, descriptions) {
            let isStill = description?.isStill ?? true
            let natural = isStill ? nil : description?.video?.duration ?? description?.duration
            let end = item.duration.map { item.start + $0 } ?? item.end ?? (isStill ? item.start + imageDuration : natural)
            let once = max((end ?? item.start) - item.start, .zero)
            // Both items share the time of a fade.
            let fade = min(item.transition ?? .zero, once.scaled(by: 0.5))
            length += (once - (length > .zero ? fade : .zero)) + (once - fade) * Int64(item.repeatCount - 1)
        }
        return length
    }

    /// Takes over the size and the rate of copied frames.
    mutating func adopt(size: PictureSize, rate: FrameRate) { (self.size, self.rate) = (size, rate) }

    /// Adds a note if the lengths of the music and the film differ.
    mutating func note(musicLength: MediaTime?, isRepeated: Bool) {
        guard let musicLength else { return }
        if musicLength > length + .seconds(1) {
            notes.append("the music is \(musicLength - length) longer than the film: kiosk cuts it there")
        } else if length > musicLength + .seconds(1) {
            notes.append(
                isRepeated
                    ? "the music is \(length - musicLength) shorter than the film: it begins again"
                    : "the music is \(length - musicLength) shorter than the film: the rest has none")
        }
    }

    /// Returns the name of an item for messages.
    func name(of place: Int) -> String {
        guard items.indices ~= place else { return "clip \(place + 1)" }
        return descriptions[place] == nil ? "title card (clip \(place + 1))" : items[place].source
    }
}
