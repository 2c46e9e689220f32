// The table of commands: the only place that names them, their parameters and their answers. CommandEntry.swift defines the entries.
import KioskPlatform
import KioskVocabulary
import Logging

/// All commands, in the order of the documentation.
package struct CommandTable: Sendable {
    /// All commands.
    package static let all = CommandTable.make()
    /// The commands of programs.
    package static let ofPrograms = all.filter { $0.request != nil }
    /// The commands that kiosk.conf can bind.
    package static let ofViewers = all.filter { !$0.forms.isEmpty }
    private static let named = Dictionary(uniqueKeysWithValues: ofPrograms.map { ($0.name, $0) })
    private static let bound = Dictionary(uniqueKeysWithValues: ofViewers.map { ($0.name, $0) })

    /// Returns the programs' command of this name; `playlist` alone is the list.
    package static func named(_ name: String) -> CommandEntry? { named[name == "playlist" ? "playlist list" : name] }

    /// Returns the command of this word in kiosk.conf.
    package static func bound(_ word: String) -> CommandEntry? { bound[word] }

    /// The step of `volume-up` and `volume-down`, in hundredths of full scale.
    package static let volumeStep = 5

    private var entries: [CommandEntry] = []

    /// Adds a command of programs, which makes a request of its parameters.
    private mutating func add<each Value: Sendable>(
        _ name: String, _ summary: String, _ parameters: repeat Parameter<each Value>, oneOf: [String] = [], needs need: CommandNeed? = nil,
        scope: CommandScope? = nil, reading: CommandReading = .never, effect: String = "at once", orElse problem: String? = nil,
        answer: CommandAnswer = [:], bound forms: [CommandForm] = [],
        _ request: @escaping @Sendable (repeat each Value) -> Request
    ) {
        var entry = CommandEntry(name, forms)
        (entry.summary, entry.oneOf, entry.need, entry.effect) = (summary, oneOf, need, effect)
        (entry.problem, entry.answer, entry.reading) = (problem, answer, reading)
        if case .always = reading { entry.scope = .view }
        if let scope { entry.scope = scope }
        for facts in repeat (each parameters).facts { entry.parameters.append(facts) }
        entry.request = { members in request(repeat (each parameters).value(members[(each parameters).facts.name])) }
        entries.append(entry)
    }

    /// Adds a command without parameters, for programs and viewers.
    private mutating func add(
        _ name: String, _ summary: String, _ command: Command, keys: [String] = [], gestures: [GestureName] = [],
        needs need: CommandNeed? = nil, scope: CommandScope? = nil, effect: String = "at once", orElse problem: String? = nil,
        answer: CommandAnswer = [:]
    ) {
        add(
            name, summary, needs: need, scope: scope, effect: effect, orElse: problem, answer: answer,
            bound: [.plain(command, keys: keys, gestures: gestures)]
        ) { .command(command) }
    }

    /// Adds a command for viewers only.
    private mutating func bind(_ name: String, _ forms: CommandForm...) { entries.append(CommandEntry(name, forms)) }

    private static func make() -> [CommandEntry] {
        var table = CommandTable()
        table.addPlaying()
        table.addSoundAndPicture()
        table.addRecording()
        table.addStatus()
        table.addPlaylist()
        table.addTracks()
        table.addShelf()
        table.addProgram()
        return table.entries
    }

    // MARK: Playing

    private static let firstFrame = "when its first frame is on the screen"
    private static let frame = "when the frame is on the screen"

    private mutating func addPlaying() {
        enum Afterwards: String, CaseIterable { case resume, next }
        add(
            "play", "Continue playback; or go to an item and play it; or play a source that need not be on the playlist.",
            .optional("item", .item, "The item to go to.", .place),
            .optional("source", .text, "A file (an absolute path) or a URL to play now, instead of an item.", scope: .content),
            .optional(
                "then", .word(Afterwards.allCases), "After the source: back to the former position (the default), or on to the next item."),
            effect: "when it plays, with the first frame of the item on the screen", answer: .place,
            bound: [
                .plain(.player(.play), keys: ["PLAY", "PLAYCD"]),
                .source("a file or a URL, as in \"play special.mp4\" or \"play special.mp4 then resume\""),
            ]
        ) { item, source, then in
            if let source { return .command(.player(.playSource(withoutFileScheme(source), resumes: then != .next))) }
            return item.map { .item($0, plays: true) } ?? .command(.player(.play))
        }
        add(
            "pause", "Hold the picture and the sound.", .player(.pause), keys: ["PAUSE", "PAUSECD", "STOP", "STOPCD"],
            effect: "when the picture stands", answer: .place)
        add(
            "toggle", "Pause if playing, play if paused.", .player(.togglePlayback),
            keys: ["SPACE", "PLAYPAUSE", "ENTER", "KPENTER", "OK", "SELECT"], gestures: [.tap], effect: "like pause or play",
            answer: .place)
        add(
            "seek", "Seek within the item.", .optional("to", .time, "The position to seek to.", .place),
            .optional("by", .span, "The distance from the current position.", .signed), oneOf: ["to", "by"], needs: .seekableItem,
            effect: Self.frame,
            orElse: "there is nothing to seek in", answer: .place,
            bound: [.argument("a time, as in \"seek 1:30\", or \"seek +30\" and \"seek -30\"", Self.seek)]
        ) { to, by in .command(.player(to.map(PlayerCommand.seekTo) ?? .seekBy(by ?? .zero))) }
        add(
            "next", "Go to the next item.", .player(.nextItem), keys: ["N", "PAGEDOWN", "NEXTSONG", "NEXT", "CHANNELUP"],
            effect: Self.firstFrame, orElse: "there is no next item: the playlist ends here", answer: .place)
        add(
            "previous", "Go to the previous item.", .player(.previousItem),
            keys: ["P", "PAGEUP", "PREVIOUSSONG", "PREVIOUS", "CHANNELDOWN"], effect: Self.firstFrame, orElse: "there is no previous item",
            answer: .place)
        add(
            "item", "Go to an item. Playback stays playing or paused.", Self.item, effect: Self.firstFrame, answer: .place,
            bound: [.number("the place of an item, 1 to 10000, as in \"item 3\"", in: 1...10_000, PlayerCommand.selectItem)]
        ) { .item($0, plays: false) }
        add(
            "restart", "Begin the item again.", .player(.restartItem), keys: ["HOME", "RESTART"], effect: Self.firstFrame,
            orElse: "there is nothing on the screen", answer: .place)
        add(
            "restart-playlist", "Play the playlist from its first item.", .player(.restartPlaylist), effect: Self.firstFrame,
            orElse: "the playlist is empty", answer: .place)
        add(
            "go-on", "Go on from an item that waits for a tap.", .player(.waitEnded), effect: Self.firstFrame,
            orElse: "the item on the screen waits for no tap", answer: .place)
    }

    /// Parses a time, or a span with its sign.
    private static func seek(_ text: String) -> Command? {
        let sign = text.first.flatMap { $0 == "+" ? 1 : $0 == "-" ? -1 : nil }
        let digits = sign == nil ? text : String(text.dropFirst())
        let seconds = digits.wholeMatch(of: /[0-9]{1,7}(\.[0-9]{1,9})?/).flatMap { _ in Double(digits) }.map(MediaTime.init(seconds:))
        guard let time = MediaTime(clock: digits) ?? seconds, time <= .longest else { return nil }
        return .player(sign.map { .seekBy(time * Int64($0)) } ?? .seekTo(time))
    }

    // MARK: Sound and picture

    private mutating func addSoundAndPicture() {
        let volume: CommandAnswer = ["volume": "0 to 100"]
        add(
            "volume", "Set or change the loudness.", .optional("to", .integer(0...100), "The loudness, in hundredths.", .place),
            .optional("by", .integer(-100...100), "The change, in hundredths; kiosk clamps the result.", .signed), oneOf: ["to", "by"],
            answer: volume,
            bound: [.number("a whole number from 0 to 100, as in \"volume 40\"", in: 0...100, PlayerCommand.setVolume)]
        ) { to, by in .command(.player(to.map(PlayerCommand.setVolume) ?? .changeVolume(by: by ?? 0))) }
        add(
            "volume-up", "Raise the loudness by 5.", .player(.changeVolume(by: Self.volumeStep)),
            keys: ["UP", "VOLUMEUP", KeyTrigger.dialUp],
            answer: volume)
        add(
            "volume-down", "Lower the loudness by 5.", .player(.changeVolume(by: -Self.volumeStep)),
            keys: ["DOWN", "VOLUMEDOWN", KeyTrigger.dialDown], answer: volume)
        add(
            "mute", "Switch the sound off or on.",
            .optional("on", .flag, "true mutes, false unmutes; without a value mute toggles.", .place),
            answer: ["muted": "true if the sound is off"],
            bound: [.plain(.player(.toggleMute), keys: ["M", "MUTE"], gestures: [.twoFingerTap])]
        ) { .command(.player($0.map(PlayerCommand.setMuted) ?? .toggleMute)) }
        add(
            "interruption begin",
            "Interrupt the sound for another program, as [audio] interruption says, until the end or for some time.",
            .optional("for", .seconds(0.1...3600), "Seconds until the interruption ends by itself; the default is an hour."),
            .optional("by", .text, "Name of the program. If several programs interrupt, the sound returns after the last one."),
            answer: ["interrupted": "true"]
        ) { time, name in .command(.player(.beginInterruption(name ?? "", for: time ?? .seconds(3600)))) }
        add(
            "interruption end", "End the interruption of the same name.",
            .optional("by", .text, "The name given to interruption begin."),
            answer: ["interrupted": "true if another program still interrupts"]
        ) { .command(.player(.endInterruption($0 ?? ""))) }
        add(
            "rate", "Set the speed and keep the pitch; the change takes half a second at most.",
            .required("to", .number(0.5...2), "The speed."), answer: ["rate": "the speed"],
            bound: [
                .argument("a number from 0.5 to 2, as in \"rate 1.5\"") {
                    Double($0).flatMap { 0.5...2 ~= $0 ? .player(.setRate($0)) : nil }
                }
            ]
        ) { .command(.player(.setRate($0))) }
        add(
            "rotate", "Rotate the picture.", .optional("to", .degrees, "Clockwise; without a value a quarter further than now.", .place),
            effect: "when the rotated picture is on the screen",
            answer: ["rotation": "the rotation, 0, 90, 180 or 270"],
            bound: [
                .plain(.rotate(nil)),
                .argument("0, 90, 180 or 270, as in \"rotate 90\"") { Int($0).flatMap(Rotation.init(rawValue:)).map { .rotate($0) } },
            ]
        ) { .command(.rotate($0)) }
        add(
            "gravity", "Fit pictures of another shape in another way until reload, the current one, too.",
            .required("to", .word(VideoGravity.allCases, as: \.word), "The fit."), answer: ["gravity": "the fit"]
        ) { .gravity($0) }
        add(
            "region", "Move the picture to a rectangle of the display during playback; `0 0 100 100` is the whole display.",
            .required("x", .number(0...99), "Distance from the left edge, in hundredths of the display's width."),
            .required("y", .number(0...99), "Distance from the top edge, in hundredths of its height."),
            .required("width", .number(1...100), "The width; the display's edge cuts off the rest."),
            .required("height", .number(1...100), "The height, likewise."),
            .optional("within", .seconds(0...60), "Seconds of the movement; without a value kiosk moves the picture at once."),
            answer: ["region": "`x`, `y`, `width` and `height`, in hundredths"]
        ) { x, y, width, height, time in
            .region(Region(x: x / 100, y: y / 100, width: width / 100, height: height / 100), within: time ?? .zero)
        }
        add(
            "seek-forward", "Seek forward by [playback] seek-step.", .player(.seekSteps(1)), keys: ["RIGHT", "FASTFORWARD"],
            gestures: [.doubleTapRight, .swipeRight], needs: .seekableItem, effect: Self.frame, orElse: "there is nothing to seek in",
            answer: .place)
        add(
            "seek-back", "Seek back by [playback] seek-step.", .player(.seekSteps(-1)), keys: ["LEFT", "REWIND"],
            gestures: [.doubleTapLeft, .swipeLeft], needs: .seekableItem, effect: Self.frame, orElse: "there is nothing to seek in",
            answer: .place)
        add("show-controls", "Show the controls, as a touch does.", .showControls)
        add("hide-controls", "Hide the controls.", .hideControls)
        add("toggle-controls", "Show the controls, or hide them if they are shown.", .toggleControls)
        bind("shelf", .plain(.toggleShelf, keys: ["MENU", "LIST"]))
    }

    // MARK: Recording

    private mutating func addRecording() {
        let recording: CommandAnswer = [
            "state":
                "\"idle\", \"opening\", \"framing\", \"recording\", \"paused\", \"finishing\" or \"reviewing\"; "
                + "right after a command the former state, or \"opening\"",
            "elapsed": "seconds of the film", "remaining": "seconds left; null if unknown",
            "dropped": "pictures missing in the film", "level": "the recent peak of the sound, 0 to 1",
            "film": "the film kept last, or null", "failure": "the last error, or null",
        ]
        for order in RecordingOrder.allCases {
            let summary =
                switch order {
                case .preview: "Show the camera's picture, with a start button."
                case .start: "Record camera and microphone, or resume after a pause."
                case .stop: "End the film; kiosk keeps or reviews it, as [record] on-record says."
                case .pause: "Pause the film: leave out picture and sound from now on."
                case .resume: "Resume the same film."
                case .toggle: "Start or stop the film."
                case .keep: "Keep the reviewed film."
                case .retake: "Discard the film and show the camera again."
                case .cancel: "Discard the film and go back to the playlist."
                }
            add("record \(order.rawValue)", summary, needs: .recorder, answer: recording) { .command(.program(.record(order))) }
        }
        add("record status", "Report the state of the recording.", needs: .recorder, reading: .always, answer: recording) { .recording }
        let orders = RecordingOrder.allCases.map(\.rawValue)
        bind(
            "record",
            .argument("\(orders.dropLast().joined(separator: ", ")) or \(orders.last ?? ""), as in \"record start\"") {
                RecordingOrder(rawValue: $0).map { .program(.record($0)) }
            })
    }

    // MARK: Status

    private static let latency =
        "seconds between receiving and hearing a live stream; null for any other item"
    private static let frames: CommandAnswer = [
        "framesShown": "frames that reached the screen",
        "framesLate": "of those, frames that came a vblank or more after their time",
        "framesDropped": "frames that kiosk dropped", "seams": "changes from one showing to the next",
    ]

    private mutating func addStatus() {
        let player: CommandAnswer = [
            "state": "\"playing\", \"paused\" or \"waiting\"",
            "ended": "true if a playlist without a loop has ended",
            "stateAge": "seconds since `state` or `ended` last changed",
            "duration": "seconds; null for a live stream",
            "itemStatus": "\"unknown\", \"ready\" or \"failed\"; null if nothing is on the screen",
            "live": "true if the duration is unknown, as of a live stream",
            "presentationSize": "`width` and `height` of the picture at its own size; null without one",
            "loaded": "ranges of the item, `from` and `to` in seconds, that play without waiting for its source",
            "seekable": "ranges of the item that a seek can reach",
            "likelyToKeepUp": "true if the item is likely to play to its end without waiting for its source", "latency": Self.latency,
            "count": "number of items on the playlist", "volume": "0 to 100",
            "muted": "true if the sound is off", "interrupted": "true if a program interrupts the sound",
            "rate": "the speed", "rotation": "0, 90, 180 or 270",
            "display": "`name`, `width`, `height` and `refresh` of the display; null if there is none",
            "audio": "the sound device, or the reason if there is none",
        ]
        let program: CommandAnswer = [
            "failure": "the last error, and its `age` in seconds; null if there was none",
            "uptime": "seconds since the start of the player", "version": "version of kiosk",
            "pid": "process id of the player",
        ]
        add(
            "status", "Report the state of the player.",
            reading: .always, answer: .members(AnswerMember.place.dropLast() + player.members + Self.frames.members + program.members)
        ) { .status }
        let counts: CommandAnswer = [
            "worstSeamLateness": "the most vblanks that a seam's first frame was late",
            "flipsLost": "page flips that the driver never reported",
            "stalls": "how often picture and sound stood still because nothing was ready",
            "stalledTime": "seconds of these stalls in all",
            "soundRatio": "samples that are played in the time of one", "latency": Self.latency,
            "synchrony": "`half` and `most` of the frames were this close to their sound, in seconds",
            "inputLatency": "`half` and `most` of the commands were on the screen after so many seconds",
            "queuedFrames": "decoded frames in the queue",
            "queuedSound": "seconds of sound in the queue",
            "items": "the same counts of frames and seams for each item: `item` and these",
        ]
        add(
            "statistics", "Report counts since the start of the player.",
            reading: .always, answer: .members(Self.frames.members + counts.members)
        ) { .statistics }
        add(
            "metrics", "Report the metrics for Prometheus, as [control] metrics does.", reading: .always,
            answer: ["text": "the metrics in Prometheus' text format"]
        ) { .metrics }
    }

    // MARK: The playlist

    private static let item = Parameter.required("item", .item, "The item.")

    private mutating func addPlaylist() {
        enum Boundary: String, CaseIterable { case boundary, now }
        let count = "number of items on the playlist now"
        let list: CommandAnswer = ["count": count]
        let sources = Parameter.required("sources", .texts, "Files (absolute paths), folders, lists and URLs.", .rest)
        let boundary = Parameter.optional(
            "at", .word(Boundary.allCases), "If the current item leaves the list: play it to its end (the default), or leave it now.")
        add(
            "playlist list", "List the playlist, as `playlist` alone does.",
            reading: .always, answer: ["count": count, "items": "each with `id`, `place`, `title` and `source`"]
        ) { .playlist(.list) }
        add(
            "playlist set", "Play other items from now on, until reload.", sources, boundary, scope: .content, answer: list
        ) { .playlist(.set($0, atOnce: $1 == .now)) }
        add("playlist append", "Append items to the playlist.", sources, scope: .content, answer: list) { .playlist(.append($0)) }
        add(
            "playlist insert", "Insert items into the playlist.",
            .required("before", .integer(1...1_000_000), "The place of the first new item; a place beyond the end is the end."), sources,
            scope: .content, answer: list
        ) { .playlist(.insert($1, before: $0)) }
        add(
            "playlist remove", "Remove an item from the playlist.", Self.item, boundary, scope: .content, answer: list
        ) { .playlist(.remove($0, atOnce: $1 == .now)) }
        add(
            "playlist move", "Move an item to another place of the playlist.", Self.item,
            .required("to", .integer(1...1_000_000), "The new place; a place beyond the end is the end."), scope: .content,
            answer: list
        ) { .playlist(.move($0, to: $1)) }
    }

    // MARK: Tracks, chapters and metadata

    private mutating func addTracks() {
        let optionalItem = Parameter.optional("item", .item, "The item; without a value the one on the screen.")
        let about = "the item"
        add(
            "tracks", "List the tracks of an item that kiosk has opened.", optionalItem,
            reading: .always,
            answer: [
                "item": about,
                "tracks":
                    "each with its `kind`, its `number` among those, `codec`, `language`, `title`, `default` and `selected`; of sound "
                    + "`sampleRate` and `channels`, of pictures `width` and `height`, of subtitles `forced`, `sdh` and `beside` (a file beside the clip)",
            ]
        ) { .tracks(of: $0) }
        add(
            "select",
            "Play another track of an item, in its later showings, too. Sound changes within a second or two, and the picture goes on. "
                + "Subtitles change at once, or with the next one that the file has.",
            .required("kind", .word([TrackKind.audio, .video, .subtitle]), "The kind of the track."),
            .required("track", .track, "The track, or none."),
            optionalItem, answer: ["track": "the track as requested"]
        ) { .select($1, of: $0, in: $2) }
        add(
            "audio-track", "Play another sound track of the item on the screen, in its later showings, too.",
            .required("track", .track, "The track, or none."), answer: ["track": "the track as requested"],
            bound: [
                .argument("a language, a number or \"off\", as in \"audio-track de\"") {
                    TrackChoice($0).map { .player(.selectAudioTrack($0)) }
                }
            ]
        ) { .select($0, of: .audio, in: nil) }
        add(
            "next-audio-track", "Play the next sound track; after the last one the first.", .player(.nextAudioTrack),
            answer: .place)
        add(
            "subtitle-track", "Show other subtitles of the item on the screen, or none, in its later showings, too.",
            .required("track", .track, "The subtitles, or none."), answer: ["track": "the track as requested"],
            bound: [
                .argument("a language, a number or \"off\", as in \"subtitle-track de\"") {
                    TrackChoice($0).map { .player(.selectSubtitleTrack($0)) }
                }
            ]
        ) { .select($0, of: .subtitle, in: nil) }
        add(
            "next-subtitle-track", "Show the next subtitles; after the last ones none.", .player(.nextSubtitleTrack),
            answer: .place)
        add(
            "chapters", "List the chapters of an item that kiosk has opened.", optionalItem,
            reading: .always,
            answer: [
                "item": about, "chapters": "each with its `number`, `title`, `start` and `end`; `current` is the one on the screen",
            ]
        ) { .chapters(of: $0) }
        add(
            "chapter", "Go to the beginning of a chapter.", .required("to", .integer(1...1000), "The number of the chapter."),
            needs: .seekableItem,
            effect: Self.frame, orElse: "the item has no such chapter", answer: .place,
            bound: [.number("the number of a chapter, 1 to 1000, as in \"chapter 3\"", in: 1...1000, PlayerCommand.selectChapter)]
        ) { .command(.player(.selectChapter($0))) }
        add(
            "next-chapter", "Go to the next chapter.", .player(.skipChapters(1)), needs: .seekableItem, effect: Self.frame,
            orElse: "there is no next chapter", answer: .place)
        add(
            "previous-chapter", "Go to the beginning of the chapter, or within three seconds of that to the previous chapter.",
            .player(.skipChapters(-1)), needs: .seekableItem, effect: Self.frame, orElse: "the item has no chapters", answer: .place)
        add(
            "metadata", "Report the metadata in an item's file.", optionalItem,
            reading: .always,
            answer: [
                "item": about, "title": "the title; null if the file has none, as for the following", "artist": "the artist",
                "album": "the album", "date": "the date, as the file has it",
                "cover": "the format of the cover, \"mjpeg\" or \"png\"; null if there is none",
            ]
        ) { .metadata(of: $0) }
        add(
            "cover", "Get the cover of an item's file; its descriptor comes with the answer (SCM_RIGHTS).", optionalItem,
            reading: .always, effect: "when kiosk has read the cover", answer: ["format": "\"mjpeg\", \"png\" or another format"]
        ) { .cover(of: $0) }
        add(
            "cache", "Report the HTTP files of the playlist that are on the disk.", needs: .cache, reading: .always,
            answer: [
                "folder": "path of the cache", "limit": "largest size of the cache, in bytes", "bytes": "size of the cache now",
                "items":
                    "each with its `source`, `size`, the `bytes` on the disk, `complete` if kiosk plays it from the disk, "
                    + "and the last `problem`",
            ]
        ) { .cache }
    }

    // MARK: The shelf

    private mutating func addShelf() {
        let shelved = Parameter.required("item", .item, "The clip: its place in the list, its path, the name of its file, or its title.")
        let clips: CommandAnswer = ["clips": "number of clips in the film"]
        let paths = "paths of the clips, in order"
        add("shelf open", "Open the shelf on the screen. Playback stands still until the shelf closes.") { .shelf(.open) }
        add("shelf close", "Close the shelf.") { .shelf(.close) }
        add(
            "shelf search", "Search the shelf for a text, and open the shelf.",
            .optional("text", .text, "The text; without one the shelf shows everything.", .place),
            answer: ["count": "number of clips found"]
        ) { .shelf(.search($0)) }
        add(
            "shelf list", "List the clips on the shelf, or those that the search finds.",
            .optional("from", .integer(1...1_000_000), "The first place; the default is 1."),
            .optional("most", .integer(1...1000), "The largest number of clips; the default is 100."), reading: .always,
            answer: [
                "count": "number of all clips", "open": "true if the shelf is on the screen",
                "items":
                    "each with `place`, `title`, `source` and `kind`; of those that the screen has shown also "
                    + "`duration`, `portrait`, `sound` and `problem`",
            ]
        ) { .shelf(.list(from: $0 ?? 1, most: $1 ?? 100)) }
        add("shelf play", "Play a clip of the shelf now, then resume at the former position.", shelved) { .shelf(.play($0)) }
        add(
            "shelf play-from", "Play a clip of the shelf and those after it, instead of the playlist, until reload.", shelved
        ) { .shelf(.playFrom($0)) }
        add(
            "shelf add",
            "Put a clip at the end of the film, or sound under it. kiosk refuses a clip that is known to fail (`item-failed`).",
            shelved, scope: .content, answer: clips
        ) { .shelf(.add($0)) }
        add(
            "shelf remove", "Remove a clip from the film: the last one, if the film has it several times.", shelved, scope: .content,
            answer: clips
        ) { .shelf(.remove($0)) }
        add(
            "shelf move", "Move a clip to another place of the film.",
            .required("clip", .integer(1...1_000_000), "The clip's place in the film."),
            .required("to", .integer(1...1_000_000), "The new place; a place beyond the end is the end."), scope: .content,
            answer: ["clips": paths]
        ) { .shelf(.move(clip: $0, to: $1)) }
        add("shelf clear", "Empty the film.", scope: .content) { .shelf(.clear) }
        add(
            "shelf film", "Report the content of the film, and the progress of making it.", reading: .always,
            answer: [
                "clips": paths, "music": "path of the music, or null",
                "state": "\"none\", \"running\", \"done\" or \"failed\"",
                "done": "progress, 0 to 1", "left": "remaining seconds, or null",
                "file": "path of the finished film", "problem": "the reason if kiosk could not make the film",
            ]
        ) { .shelf(.film) }
        add(
            "shelf export",
            "Make the film: a file in [shelf] export-folder. `shelf film`, and the events of `export`, report the progress.",
            scope: .content,
            answer: clips
        ) { .shelf(.export) }
        add("shelf cancel", "Stop making the film; no file is left.", scope: .content) { .shelf(.cancel) }
    }

    // MARK: The program

    /// Parses a zone's name, which may contain spaces, and a command for it.
    private static func zone(_ text: String) -> Command? {
        guard let space = text.lastIndex(of: " "), let order = ZoneOrder(rawValue: String(text[text.index(after: space)...])) else {
            return nil
        }
        let name = text[..<space]
        return name.isEmpty || name.last == " " ? nil : .program(.zone(String(name), order))
    }

    private mutating func addProgram() {
        add(
            "display", "Report whether the display is on; or switch it on or off, or leave that to the schedule again.",
            .optional(
                "to", .word(DisplayOrder.allCases),
                "The state until the schedule next switches the display; `auto` is the schedule's state now.",
                .place), reading: .withoutParameters,
            answer: [
                "dark": "true if the display is off; playback stands still meanwhile", "order": "\"on\", \"off\" or \"auto\", as requested",
            ],
            bound: [
                .argument("on, off or auto, as in \"display off\"") { DisplayOrder(rawValue: $0).map { .program(.display($0)) } }
            ]
        ) { .display($0) }
        add(
            "overlay", "List the overlays; or replace the text of one, or restore it.",
            .optional("name", .text, "Name of an [[overlay]]; any other name makes a line at the bottom.", .place),
            .optional("text", .text, "The text; without one the overlay shows its own again.", .place),
            .optional("for", .duration, "Duration; without one the text stays until the next command."), reading: .withoutParameters,
            effect: "at once; the text shows within two refresh periods of its drawing",
            answer: [
                "overlays": "each with its `name`, the requested `text` or null, and the seconds `left` or null"
            ]
        ) { .overlay($0, text: $1, for: $2) }
        add(
            "zone", "List the zones of the display; or control one: next or previous item, play, pause, or the command of a tap on it.",
            .optional("name", .text, "Name of a [[zone]].", .place),
            .optional("do", .word(ZoneOrder.allCases), "The command for the zone.", .place), reading: .withoutParameters,
            answer: [
                "zones":
                    "each with its `name`; its current `item` and the item's `place` in the list, or null; the `count` of items; "
                    + "its `state`, as in `status`; its `seams`, and its frames that were `late` or `dropped`"
            ],
            bound: [
                .argument("the name of a zone and next, previous, play, pause, toggle or tap, as in \"zone news next\"", Self.zone)
            ]
        ) { .zone($0, $1) }
        add(
            "screenshot", "Get a PNG of the screen; its descriptor comes with the answer (SCM_RIGHTS).",
            reading: .always, effect: "when the PNG is encoded", answer: ["format": "\"png\""]
        ) { .screenshot }
        add(
            "observe",
            "Report events to this client from now on: a line with `event` for each. Another `observe` replaces this one.",
            .optional("events", .words(ControlTopic.allCases), "The events; without a value all of them.", .rest), reading: .always,
            answer: ["events": "the reported events"]
        ) { .observe($0 ?? ControlTopic.allCases) }
        add("reload", "Read kiosk.conf again, as SIGHUP does; the file's playlist replaces one from `playlist set`.", scope: .admin) {
            .reload
        }
        add(
            "log-level", "Set the lowest level to log.",
            .optional("to", .word(Logger.Level.allCases), "The level; without one kiosk changes nothing.", .place), scope: .admin,
            reading: .withoutParameters, answer: ["level": "the level"]
        ) { .logLevel($0) }
        add(
            "quit", "End the program, if [input] allow-quit is set.", .program(.quit), keys: ["ESC", "Q", "EXIT"],
            needs: .permissionToQuit, scope: .admin)
    }
}
