import ArgumentParser
import KioskConfiguration
import KioskContent
import KioskDisplayCore
import KioskExportCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// `kiosk check [SOURCE…]`: opens every item before it plays.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Open every item, and report its format and playback problems.",
        usage: "kiosk check [<options>] [<source> ...]",
        discussion: """
            kiosk checks the configuration file. Then it opens every item of the playlist, of zones, and of keys and taps (or the \
            sources named here). It reports items that it cannot open or decode. It warns of sound that is longer than its picture, and \
            of black frames at the end. It warns of frame rates that do not fit the display's refresh. It also reports a shelf folder \
            that cannot take films, and entries that never play. Exit status: 0 if all items can be played, else 1; 64 for a wrong \
            command line, 78 for a wrong configuration file. The status is also 1 if kiosk cannot read a folder or list, if there is \
            nothing to play, and with --strict for a warning.
            """)

    @OptionGroup var settings: Settings

    @Option(
        "Judge frame rates for this refresh, in Hz.", value: "hz",
        discussion: "Default: that of the display and mode in use, else that of [display] mode, else 60.",
        .number("a number from 1 to 1000", in: 1...1000))
    var refresh: Double?

    @Flag(help: "Exit with 1 for warnings, too.")
    var strict = false

    @Argument(
        help: ArgumentHelp("Files, folders, .m3u lists or URLs to check instead of the file's playlist.", valueName: "source"),
        completion: .file())
    var sources: [String] = []

    func run() throws {
        let configuration = try settings.load(sources: sources)
        _ = try settings.keyMap(configuration)
        startLog(.error)
        var (playlist, problems, folders) = configuration.expandPlaylist()
        // The zones of the items after those of the main playlist.
        var zones: [String?] = playlist.map { _ in nil }
        for zone in configuration.zones {
            let found = configuration.configuration(of: zone).expandPlaylist()
            playlist += found.items
            zones += found.items.map { _ in zone.name }
            problems += found.problems.map { "zone “\(zone.name)”: \($0)" }
            folders += found.folders
        }
        // Sources of keys and taps are on no list; only the visitor who triggers them would notice a missing one.
        let listed = Set(playlist.map(\.path))
        let asked = configuration.commandSources.filter { sources.isEmpty && !listed.contains(Path($0)) }
        let items =
            playlist
            + asked.map { configuration.item(of: $0) }
        for problem in problems { printError(problem.printable) }
        let rate =
            refresh ?? DisplayDevices.survey(DisplaySettings(configuration)).chosenRefreshRate ?? configuration.display.mode.refresh ?? 60

        var table = TextTable(["", "item", "kind", "codec", "size", "rate", "duration", "sound"])
        var (failures, warnings) = (0, 0)
        var videos: [(AssetDescription.Video, VideoGravity)] = []
        for (index, item) in items.enumerated() {
            let inspection = ItemInspection.inspect(item, refreshRate: rate, readers: configuration.readers)
            table.add(row(index, item, inspection, imageDuration: configuration.playback.imageDuration))
            if index < zones.count, let zone = zones[index] { table.add(note: "in the zone “\(zone)”") }
            if let failure = inspection.failure {
                failures += 1
                table.add(note: "cannot be played: \(failure)")
            }
            for note in inspection.description?.trackNotes ?? [] { table.add(note: note) }
            for warning in inspection.warnings { table.add(note: warning) }
            warnings += inspection.warnings.count
            if let video = inspection.description?.video { videos.append((video, item.gravity)) }
        }
        if sources.isEmpty, !configuration.shelf.folders.isEmpty, let folder = configuration.shelf.exportFolder,
            let objection = objection(toFilmsIn: folder, isAsking: true)
        {
            warnings += 1
            printError("the shelf cannot make films: [shelf] export-folder \(folder): \(objection)".printable)
        }
        if sources.isEmpty {
            for finding in ScheduleReport.allFindings(configuration, from: WallClock.now.seconds) {
                warnings += 1
                printError(finding.printable)
            }
        }
        if items.isEmpty { print("there is nothing to play") } else { print(table.text) }
        let leftOut = PlaylistSource.filesLeftOut(of: folders)
        if !leftOut.isEmpty {
            print("Not played, because the name does not end like that of a video, a sound or an image:")
            for path in leftOut.prefix(20) { print("  \(path.printable)") }
            if leftOut.count > 20 { print("  and \(leftOut.count - 20) more") }
        }
        if !videos.isEmpty { printPaths(of: videos, DisplaySettings(configuration)) }
        print("\(items.count) item\(items.count == 1 ? "" : "s"), \(failures) cannot be played; frame rates judged for \(decimal(rate)) Hz")
        if failures > 0 || !problems.isEmpty || items.isEmpty || strict && warnings > 0 { throw ExitCode(1) }
    }

    /// Prints the picture paths of videos to the screen, each once. Runs last, so that kiosk is DRM master only for that time.
    private func printPaths(of videos: [(AssetDescription.Video, VideoGravity)], _ settings: DisplaySettings) {
        do throws(PathInquiry.Refusal) {
            let inquiry = try PathInquiry.open(settings)
            print("Pictures on \(inquiry.display), as software decodes them:")
            var said: Set<String> = []
            for (video, gravity) in videos {
                if let line = inquiry.line(video, gravity: gravity), said.insert(line).inserted { print("  \(line.printable)") }
            }
        } catch {
            print("Ways of pictures to the screen not checked: \(error)")
        }
    }

    private func row(_ index: Int, _ item: PlaylistItem, _ inspection: ItemInspection, imageDuration: MediaTime) -> [String] {
        guard let asset = inspection.description else { return ["\(index + 1)", item.name, "—", "", "", "", "", ""] }
        let video = asset.video
        let size = video.map { video in
            var size = "\(video.width)×\(video.height)"
            if abs(video.pixelAspectRatio - 1) > 0.001 { size += " (pixels \(decimal(video.pixelAspectRatio)):1)" }
            if video.isInterlaced { size += " interlaced" }
            if video.orientation.isMirrored { size += " mirrored" }
            if video.orientation.rotation != .none { size += " turned \(video.orientation.rotation.rawValue)°" }
            return size
        }
        let sound = asset.audio.map { audio in
            let channels = audio.channelCount == 1 ? "mono" : audio.channelCount == 2 ? "stereo" : "\(audio.channelCount) channels"
            return "\(audio.codec) \(decimal(Double(audio.sampleRate) / 1000)) kHz \(channels)"
        }
        let duration =
            asset.duration?.description
            ?? (asset.isStill ? "held \(item.slot(isStill: true) ?? imageDuration)" : asset.isSeekable ? "unknown" : "live")
        return [
            "\(index + 1)", item.name, asset.isStill ? "image" : video == nil ? "sound" : "video", video?.codec ?? "", size ?? "",
            video?.frameRate.map { decimal($0) } ?? "", duration, sound ?? "none",
        ]
    }
}

extension AssetDescription {
    /// The user's choices: the tracks of a kind if there are several, all subtitles, and the chapters.
    fileprivate var trackNotes: [String] {
        var notes: [String] = []
        for kind in TrackKind.allCases {
            let tracks = tracks.filter { $0.kind == kind }
            if tracks.count > (kind == .subtitle ? 0 : 1) {
                notes.append("\(kind.rawValue) tracks: " + tracks.map(\.summary).joined(separator: "; "))
            }
        }
        if !chapters.isEmpty { notes.append("\(chapters.count) chapter\(chapters.count == 1 ? "" : "s")") }
        return notes
    }
}
