// The table of commands: the one place that names them, their parameters and their answers. CommandEntry.swift says what an entry is.
import KioskPlatform
import KioskVocabulary
import Logging

/// All commands, in the order in which they are listed to users.
package struct CommandTable: Sendable {
    /// All of them.
    package static let all = CommandTable.make()
    /// Those that programs may ask for.
    package static let ofPrograms = all.filter { $0.request != nil }
    /// Those that kiosk.conf may bind.
    package static let ofViewers = all.filter { !$0.forms.isEmpty }
    private static let named = Dictionary(uniqueKeysWithValues: ofPrograms.map { ($0.name, $0) })
    private static let bound = Dictionary(uniqueKeysWithValues: ofViewers.map { ($0.name, $0) })

    /// The one that programs ask for by this name; `playlist` alone is the list.
    package static func named(_ name: String) -> CommandEntry? { named[name == "playlist" ? "playlist list" : name] }

    /// The one of this word in kiosk.conf.
    package static func bound(_ word: String) -> CommandEntry? { bound[word] }

    /// Hundredths of full scale that `volume-up` and `volume-down` move by.
    package static let volumeStep = 5

    private var entries: [CommandEntry] = []

    /// A command of programs, which makes a request of its parameters.
    private mutating func add<each Value: Sendable>(
        _ name: String, _ summary: String, _ parameters: repeat Parameter<each Value>, oneOf: [String] = [], needs need: CommandNeed? = nil,
        effect: String = "at once", orElse problem: String? = nil, answer: CommandAnswer = [:], bound forms: [CommandForm] = [],
        _ request: @escaping @Sendable (repeat each Value) -> Request
    ) {
        var entry = CommandEntry(name, forms)
        (entry.summary, entry.oneOf, entry.need, entry.effect) = (summary, oneOf, need, effect)
        (entry.problem, entry.answer) = (problem, answer)
        for facts in repeat (each parameters).facts { entry.parameters.append(facts) }
        entry.request = { members in request(repeat (each parameters).value(members[(each parameters).facts.name])) }
        entries.append(entry)
    }

    /// A command without parameters of programs and viewers.
    private mutating func add(
        _ name: String, _ summary: String, _ command: Command, keys: [String] = [], gestures: [GestureName] = [],
        needs need: CommandNeed? = nil, effect: String = "at once", orElse problem: String? = nil, answer: CommandAnswer = [:]
    ) {
        add(
            name, summary, needs: need, effect: effect, orElse: problem, answer: answer,
            bound: [.plain(command, keys: keys, gestures: gestures)]
        ) { .command(command) }
    }

    /// A command of viewers alone.
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
            "play", "Plays on; or goes to an item and plays it; or plays a source that need not be on the playlist.",
            .optional("item", .item, "The item to go to.", .place),
            .optional("source", .text, "A file (an absolute path) or a URL to play now, instead of an item."),
            .optional(
                "then", .word(Afterwards.allCases), "After the source: where the player was (the default), or the item after that."),
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
            "pause", "Holds the picture and the sound.", .player(.pause), keys: ["PAUSE", "PAUSECD", "STOP", "STOPCD"],
            effect: "when the picture stands", answer: .place)
        add(
            "toggle", "Pauses when playing, plays when paused.", .player(.togglePlayback),
            keys: ["SPACE", "PLAYPAUSE", "ENTER", "KPENTER", "OK", "SELECT"], gestures: [.tap], effect: "as of pause and play",
            answer: .place)
        add(
            "seek", "Moves within the item.", .optional("to", .time, "The time in the item to go to.", .place),
            .optional("by", .span, "How far to move from here.", .signed), oneOf: ["to", "by"], needs: .seekableItem, effect: Self.frame,
            orElse: "there is nothing to seek in", answer: .place,
            bound: [.argument("a time, as in \"seek 1:30\", or \"seek +30\" and \"seek -30\"", Self.seek)]
        ) { to, by in .command(.player(to.map(PlayerCommand.seekTo) ?? .seekBy(by ?? .zero))) }
        add(
            "next", "Goes to the next item.", .player(.nextItem), keys: ["N", "PAGEDOWN", "NEXTSONG", "NEXT", "CHANNELUP"],
            effect: Self.firstFrame, orElse: "there is no next item: the playlist ends here", answer: .place)
        add(
            "previous", "Goes to the item before.", .player(.previousItem),
            keys: ["P", "PAGEUP", "PREVIOUSSONG", "PREVIOUS", "CHANNELDOWN"], effect: Self.firstFrame, orElse: "there is no item before",
            answer: .place)
        add(
            "item", "Goes to an item, playing or paused as it is.", Self.item, effect: Self.firstFrame, answer: .place,
            bound: [.number("the place of an item, 1 to 10000, as in \"item 3\"", in: 1...10_000, PlayerCommand.selectItem)]
        ) { .item($0, plays: false) }
        add(
            "restart", "Begins the item again.", .player(.restartItem), keys: ["HOME", "RESTART"], effect: Self.firstFrame,
            orElse: "there is nothing on the screen", answer: .place)
        add(
            "restart-playlist", "Plays the playlist from its first item.", .player(.restartPlaylist), effect: Self.firstFrame,
            orElse: "the playlist is empty", answer: .place)
        add(
            "go-on", "Goes on from an item that waits for a tap.", .player(.waitEnded), effect: Self.firstFrame,
            orElse: "what is on the screen waits for no tap", answer: .place)
    }

    /// A time, or a span with its sign.
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
            "volume", "Sets or changes the loudness.", .optional("to", .integer(0...100), "The loudness, in hundredths.", .place),
            .optional("by", .integer(-100...100), "How much louder; the result is clamped.", .signed), oneOf: ["to", "by"], answer: volume,
            bound: [.number("a whole number from 0 to 100, as in \"volume 40\"", in: 0...100, PlayerCommand.setVolume)]
        ) { to, by in .command(.player(to.map(PlayerCommand.setVolume) ?? .changeVolume(by: by ?? 0))) }
        add(
            "volume-up", "Makes it louder by 5.", .player(.changeVolume(by: Self.volumeStep)), keys: ["UP", "VOLUMEUP", KeyTrigger.dialUp],
            answer: volume)
        add(
            "volume-down", "Makes it quieter by 5.", .player(.changeVolume(by: -Self.volumeStep)),
            keys: ["DOWN", "VOLUMEDOWN", KeyTrigger.dialDown], answer: volume)
        add(
            "mute", "Switches the sound off or on.",
            .optional("on", .flag, "Whether it is to be off; else the other way than now.", .place),
            answer: ["muted": "whether the sound is off"],
            bound: [.plain(.player(.toggleMute), keys: ["M", "MUTE"], gestures: [.twoFingerTap])]
        ) { .command(.player($0.map(PlayerCommand.setMuted) ?? .toggleMute)) }
        add(
            "interruption begin",
            "Has the sound give way to another program's, as [audio] interruption says, until the end or for some time.",
            .optional("for", .seconds(0.1...3600), "Seconds after which it ends by itself; else an hour."),
            .optional("by", .text, "A name of the program: with several the sound comes back when all have ended."),
            answer: ["interrupted": "true"]
        ) { time, name in .command(.player(.beginInterruption(name ?? "", for: time ?? .seconds(3600)))) }
        add(
            "interruption end", "Ends the interruption that was begun under the same name.",
            .optional("by", .text, "The name that was given at its beginning."),
            answer: ["interrupted": "whether another program still interrupts"]
        ) { .command(.player(.endInterruption($0 ?? ""))) }
        add(
            "rate", "Sets the speed, the pitch kept; heard and seen within half a second.",
            .required("to", .number(0.5...2), "The speed."), answer: ["rate": "the speed"],
            bound: [
                .argument("a number from 0.5 to 2, as in \"rate 1.5\"") {
                    Double($0).flatMap { 0.5...2 ~= $0 ? .player(.setRate($0)) : nil }
                }
            ]
        ) { .command(.player(.setRate($0))) }
        add(
            "rotate", "Rotates the picture.", .optional("to", .degrees, "Clockwise; else a quarter further than now.", .place),
            effect: "when the rotated picture is on the screen",
            answer: ["rotation": "the rotation, 0, 90, 180 or 270"],
            bound: [
                .plain(.rotate(nil)),
                .argument("0, 90, 180 or 270, as in \"rotate 90\"") { Int($0).flatMap(Rotation.init(rawValue:)).map { .rotate($0) } },
            ]
        ) { .command(.rotate($0)) }
        add(
            "gravity", "Fits pictures of another shape in another way, the one on the screen, too, until reload.",
            .required("to", .word(VideoGravity.allCases, as: \.word), "How."), answer: ["gravity": "how"]
        ) { .gravity($0) }
        add(
            "region", "Has the picture be in a rectangle of the display, playing on; `0 0 100 100` is all of it.",
            .required("x", .number(0...99), "From the left edge, in hundredths of the display's width."),
            .required("y", .number(0...99), "From the top edge, in hundredths of its height."),
            .required("width", .number(1...100), "Across; what is beyond the edge is cut off."),
            .required("height", .number(1...100), "Down, likewise."),
            .optional("within", .seconds(0...60), "For how many seconds it is on its way there; else at once."),
            answer: ["region": "`x`, `y`, `width` and `height`, in hundredths"]
        ) { x, y, width, height, time in
            .region(Region(x: x / 100, y: y / 100, width: width / 100, height: height / 100), within: time ?? .zero)
        }
        add(
            "seek-forward", "Moves forward by [playback] seek-step.", .player(.seekSteps(1)), keys: ["RIGHT", "FASTFORWARD"],
            gestures: [.doubleTapRight, .swipeRight], needs: .seekableItem, effect: Self.frame, orElse: "there is nothing to seek in",
            answer: .place)
        add(
            "seek-back", "Moves back by [playback] seek-step.", .player(.seekSteps(-1)), keys: ["LEFT", "REWIND"],
            gestures: [.doubleTapLeft, .swipeLeft], needs: .seekableItem, effect: Self.frame, orElse: "there is nothing to seek in",
            answer: .place)
        add("show-controls", "Shows the controls as a touch does.", .showControls)
        add("hide-controls", "Hides the controls.", .hideControls)
        bind("shelf", .plain(.toggleShelf, keys: ["MENU", "LIST"]))
    }

    // MARK: Recording

    private mutating func addRecording() {
        let recording: CommandAnswer = [
            "state":
                "\"idle\", \"opening\", \"framing\", \"recording\", \"paused\", \"finishing\" or \"reviewing\"; after something that has just been asked for how "
                + "it was before, or \"opening\"",
            "elapsed": "seconds of the film", "remaining": "seconds it can go on; null where nobody knows",
            "dropped": "pictures that are missing in it", "level": "the loudest of late, 0 to 1",
            "film": "what was kept last; null where nothing was", "failure": "what went wrong last, or null",
        ]
        for order in RecordingOrder.allCases {
            let summary =
                switch order {
                case .preview: "Shows what the camera sees, with a button that starts."
                case .start: "Records what camera and microphone have, or goes on after a pause."
                case .stop: "Ends the film; it is kept or reviewed, as [record] on-record says."
                case .pause: "Leaves out of the film what is seen and heard from now on."
                case .resume: "Goes on in the same film."
                case .toggle: "Starts, or stops."
                case .keep: "Keeps the film that is reviewed."
                case .retake: "Throws the film away and shows the camera again."
                case .cancel: "Throws the film away and goes back to the playlist."
                }
            add("record \(order.rawValue)", summary, needs: .recorder, answer: recording) { .command(.program(.record(order))) }
        }
        add("record status", "Tells how the recording is.", needs: .recorder, answer: recording) { .recording }
        let orders = RecordingOrder.allCases.map(\.rawValue)
        bind(
            "record",
            .argument("\(orders.dropLast().joined(separator: ", ")) or \(orders.last ?? ""), as in \"record start\"") {
                RecordingOrder(rawValue: $0).map { .program(.record($0)) }
            })
    }

    // MARK: Status

    private static let latency =
        "seconds between what has been received of a live stream and what is heard of it; null of anything else"
    private static let frames: CommandAnswer = [
        "framesShown": "frames that reached the screen",
        "framesLate": "of those, how many came a vblank or more after their time",
        "framesDropped": "frames that were left out", "seams": "joints of one showing and the next",
    ]

    private mutating func addStatus() {
        let player: CommandAnswer = [
            "state": "\"playing\", \"paused\" or \"waiting\"",
            "ended": "whether a playlist that does not loop has ended",
            "stateAge": "seconds since `state` and `ended` have been so",
            "duration": "seconds; null for a live stream",
            "itemStatus": "\"unknown\", \"ready\" or \"failed\"; null where nothing is on the screen",
            "live": "whether nobody knows how long the item lasts, as of a live stream",
            "presentationSize": "`width` and `height` of the picture at its own size; null without one",
            "loaded": "ranges of the item, `from` and `to` in seconds, that are there without waiting for its source",
            "seekable": "ranges of the item that one can seek to",
            "likelyToKeepUp": "whether it is likely to play to its end without waiting for its source", "latency": Self.latency,
            "count": "how many items the playlist has", "volume": "0 to 100",
            "muted": "whether the sound is off", "interrupted": "whether a program has the sound give way",
            "rate": "the speed", "rotation": "0, 90, 180 or 270",
            "display": "`name`, `width`, `height` and `refresh` of the display; null where there is none",
            "audio": "the sound device, or why there is none",
        ]
        let program: CommandAnswer = [
            "failure": "the last thing that went wrong, and `age` in seconds; null where nothing has",
            "uptime": "seconds since the player was started", "version": "of the program",
            "pid": "its process",
        ]
        add(
            "status", "Tells what the player does.",
            answer: .members(AnswerMember.place.dropLast() + player.members + Self.frames.members + program.members)
        ) { .status }
        let counts: CommandAnswer = [
            "worstSeamLateness": "the most vblanks that a seam's first frame was late",
            "flipsLost": "page flips that were never reported",
            "stalls": "how often picture and sound stood still because nothing was ready",
            "stalledTime": "seconds of that in all",
            "soundRatio": "samples that are played in the time of one", "latency": Self.latency,
            "synchrony": "`half` and `most` of the frames were this close to their sound, in seconds",
            "inputLatency": "`half` and `most` of what was asked for was on the screen after so many seconds",
            "queuedFrames": "decoded frames that lie ready",
            "queuedSound": "seconds of sound that lie ready",
            "items": "the same counts of frames and seams for each item: `item` and these",
        ]
        add(
            "statistics", "Counts, since the player was started.",
            answer: .members(Self.frames.members + counts.members)
        ) { .statistics }
    }

    // MARK: The playlist

    private static let item = Parameter.required("item", .item, "Which item.")

    private mutating func addPlaylist() {
        enum Boundary: String, CaseIterable { case boundary, now }
        let count = "how many items the playlist has now"
        let list: CommandAnswer = ["count": count]
        let sources = Parameter.required("sources", .texts, "Files (absolute paths), folders, lists and URLs.", .rest)
        let boundary = Parameter.optional(
            "at", .word(Boundary.allCases), "When what is on the screen and has left the list gives way: at its end (the default), or now.")
        add(
            "playlist list", "Lists the playlist, as `playlist` alone does.",
            answer: ["count": count, "items": "each with `id`, `place`, `title` and `source`"]
        ) { .playlist(.list) }
        add(
            "playlist set", "Plays other items from now on. What was set holds until reload.", sources, boundary, answer: list
        ) { .playlist(.set($0, atOnce: $1 == .now)) }
        add("playlist append", "Puts items at the end of the playlist.", sources, answer: list) { .playlist(.append($0)) }
        add(
            "playlist insert", "Puts items into the playlist.",
            .required("before", .integer(1...1_000_000), "The place of the first of them; beyond the end is the end."), sources,
            answer: list
        ) { .playlist(.insert($1, before: $0)) }
        add(
            "playlist remove", "Takes an item off the playlist.", Self.item, boundary, answer: list
        ) { .playlist(.remove($0, atOnce: $1 == .now)) }
        add(
            "playlist move", "Moves an item to another place of the playlist.", Self.item,
            .required("to", .integer(1...1_000_000), "Its place then; beyond the end is the end."), answer: list
        ) { .playlist(.move($0, to: $1)) }
    }

    // MARK: Tracks, chapters and what an item says of itself

    private mutating func addTracks() {
        let optionalItem = Parameter.optional("item", .item, "Which item; else the one on the screen.")
        let about = "which one it is"
        add(
            "tracks", "Lists the tracks of an item that has been opened.", optionalItem,
            answer: [
                "item": about,
                "tracks":
                    "each with its `kind`, its `number` among those, `codec`, `language`, `title`, `default` and `selected`; of sound "
                    + "`sampleRate` and `channels`, of pictures `width` and `height`, of subtitles `forced`, `sdh` and `beside` (a file beside the clip)",
            ]
        ) { .tracks(of: $0) }
        add(
            "select",
            "Plays another track of an item, in its later showings, too. Sound changes within a second or two, and the picture goes on. "
                + "Subtitles change at once, or with the next one that the file has.",
            .required("kind", .word([TrackKind.audio, .video, .subtitle]), "Of what."),
            .required("track", .track, "Which one, or none of them."),
            optionalItem, answer: ["track": "what was asked for"]
        ) { .select($1, of: $0, in: $2) }
        add(
            "audio-track", "Plays another sound track of the item on the screen, in its later showings, too.",
            .required("track", .track, "Which one, or none of them."), answer: ["track": "what was asked for"],
            bound: [
                .argument("a language, a number or \"off\", as in \"audio-track de\"") {
                    TrackChoice($0).map { .player(.selectAudioTrack($0)) }
                }
            ]
        ) { .select($0, of: .audio, in: nil) }
        add(
            "next-audio-track", "Plays the sound track after the present one; after the last the first.", .player(.nextAudioTrack),
            answer: .place)
        add(
            "subtitle-track", "Shows other subtitles of the item on the screen, or none, in its later showings, too.",
            .required("track", .track, "Which ones, or none of them."), answer: ["track": "what was asked for"],
            bound: [
                .argument("a language, a number or \"off\", as in \"subtitle-track de\"") {
                    TrackChoice($0).map { .player(.selectSubtitleTrack($0)) }
                }
            ]
        ) { .select($0, of: .subtitle, in: nil) }
        add(
            "next-subtitle-track", "Shows the subtitles after the present ones; after the last none.", .player(.nextSubtitleTrack),
            answer: .place)
        add(
            "chapters", "Lists the chapters of an item that has been opened.", optionalItem,
            answer: [
                "item": about, "chapters": "each with its `number`, `title`, `start` and `end`; `current` is the one on the screen",
            ]
        ) { .chapters(of: $0) }
        add(
            "chapter", "Goes to the beginning of a chapter.", .required("to", .integer(1...1000), "Its number."), needs: .seekableItem,
            effect: Self.frame, orElse: "it has no such chapter", answer: .place,
            bound: [.number("the number of a chapter, 1 to 1000, as in \"chapter 3\"", in: 1...1000, PlayerCommand.selectChapter)]
        ) { .command(.player(.selectChapter($0))) }
        add(
            "next-chapter", "Goes to the next chapter.", .player(.skipChapters(1)), needs: .seekableItem, effect: Self.frame,
            orElse: "there is no chapter behind this one", answer: .place)
        add(
            "previous-chapter", "Goes to the beginning of the chapter; within three seconds of that to the chapter before.",
            .player(.skipChapters(-1)), needs: .seekableItem, effect: Self.frame, orElse: "it has no chapters", answer: .place)
        add(
            "metadata", "What the file of an item says of itself.", optionalItem,
            answer: [
                "item": about, "title": "null where it does not say, as the following", "artist": "who made it",
                "album": "what it belongs to", "date": "when it was made, as it is written in the file",
                "cover": "the kind of the picture that belongs to it, \"mjpeg\" or \"png\"; null where there is none",
            ]
        ) { .metadata(of: $0) }
        add(
            "cover", "The picture that belongs to the file of an item; its descriptor comes with the answer (SCM_RIGHTS).", optionalItem,
            effect: "when it has been read", answer: ["format": "\"mjpeg\", \"png\" or what else it is"]
        ) { .cover(of: $0) }
        add(
            "cache", "What is kept on the disk of what the playlist plays over HTTP.", needs: .cache,
            answer: [
                "folder": "where", "limit": "bytes that may be kept", "bytes": "that are there",
                "items":
                    "each with its `source`, `size`, the `bytes` of it that are there, whether it is `complete`, so that it is played from "
                    + "the disk, and the last `problem`",
            ]
        ) { .cache }
    }

    // MARK: The shelf

    private mutating func addShelf() {
        let shelved = Parameter.required("item", .item, "Its place in the list, its path, the name of its file, or its title.")
        let clips: CommandAnswer = ["clips": "how many it has"]
        let paths = "their paths, in order"
        add("shelf open", "Opens the shelf on the screen. What plays stands still until it is closed.") { .shelf(.open) }
        add("shelf close", "Closes the shelf.") { .shelf(.close) }
        add(
            "shelf search", "Shows what is found by a text on the shelf, and opens it.",
            .optional("text", .text, "What to look for; else everything is shown.", .place),
            answer: ["count": "how many clips are found"]
        ) { .shelf(.search($0)) }
        add(
            "shelf list", "Lists what is on the shelf, or what the search finds there.",
            .optional("from", .integer(1...1_000_000), "The place to begin at; else the first."),
            .optional("most", .integer(1...1000), "How many at most; else 100."),
            answer: [
                "count": "how many there are", "open": "whether it is on the screen",
                "items":
                    "each with `place`, `title`, `source` and `kind`; of those that have been looked at on the screen also `duration`, `portrait`, "
                    + "`sound` and `problem`",
            ]
        ) { .shelf(.list(from: $0 ?? 1, most: $1 ?? 100)) }
        add("shelf play", "Plays a clip of the shelf now, then the player goes on where it was.", shelved) { .shelf(.play($0)) }
        add(
            "shelf play-from", "Plays a clip of the shelf and those that follow it, instead of the playlist, until reload.", shelved
        ) { .shelf(.playFrom($0)) }
        add(
            "shelf add",
            "Puts a clip at the end of the film, or sound under it. One that is known not to be playable is refused (`item-failed`).",
            shelved, answer: clips
        ) { .shelf(.add($0)) }
        add(
            "shelf remove", "Takes a clip out of the film; the last one, where it is in it several times.", shelved, answer: clips
        ) { .shelf(.remove($0)) }
        add(
            "shelf move", "Moves a clip to another place of the film.",
            .required("clip", .integer(1...1_000_000), "Its place in the film."),
            .required("to", .integer(1...1_000_000), "Its place then; beyond the end is the end."), answer: ["clips": paths]
        ) { .shelf(.move(clip: $0, to: $1)) }
        add("shelf clear", "Begins the film anew, with nothing in it.") { .shelf(.clear) }
        add(
            "shelf film", "Tells what is in the film, and how far it is made.",
            answer: [
                "clips": paths, "music": "the path of the sound under it, or null",
                "state": "\"none\", \"running\", \"done\" or \"failed\"",
                "done": "while it is made: 0 to 1", "left": "seconds that it will take, or null",
                "file": "when it is there", "problem": "why it could not be made",
            ]
        ) { .shelf(.film) }
        add(
            "shelf export",
            "Makes the film: a file in [shelf] export-folder. `shelf film`, and the events of `export`, tell how far it is.",
            answer: clips
        ) { .shelf(.export) }
        add("shelf cancel", "Ends making the film; nothing is left of it.") { .shelf(.cancel) }
    }

    // MARK: The program

    /// A zone's name, which may have spaces in it, and what it is to do.
    private static func zone(_ text: String) -> Command? {
        guard let space = text.lastIndex(of: " "), let order = ZoneOrder(rawValue: String(text[text.index(after: space)...])) else {
            return nil
        }
        let name = text[..<space]
        return name.isEmpty || name.last == " " ? nil : .program(.zone(String(name), order))
    }

    private mutating func addProgram() {
        add(
            "display", "Tells whether the display is on; or switches it on or off, or leaves that to the schedule again.",
            .optional(
                "to", .word(DisplayOrder.allCases), "What it is to be until the schedule next changes that; `auto` is what that has now.",
                .place),
            answer: [
                "dark": "whether it is off; what is played stands meanwhile", "order": "\"on\", \"off\" or \"auto\", as was asked for",
            ],
            bound: [
                .argument("on, off or auto, as in \"display off\"") { DisplayOrder(rawValue: $0).map { .program(.display($0)) } }
            ]
        ) { .display($0) }
        add(
            "overlay", "Lists what stands over the picture; or has one say something else, or its own again.",
            .optional("name", .text, "Which: the name of an [[overlay]], or another one, which is then a line at the bottom.", .place),
            .optional("text", .text, "What it is to say; without it its own is back.", .place),
            .optional("for", .duration, "For how long; else until something else is asked for."),
            effect: "at once; it is seen within two refresh periods of being drawn",
            answer: [
                "overlays": "each with its `name`, the `text` that was asked for or null, and for how many seconds it is `left` or null"
            ]
        ) { .overlay($0, text: $1, for: $2) }
        add(
            "zone", "Lists the zones of the display; or has one go to its next or previous item, play, pause, or do what a tap on it does.",
            .optional("name", .text, "Which: the name of a [[zone]].", .place),
            .optional("do", .word(ZoneOrder.allCases), "What it is to do.", .place),
            answer: [
                "zones":
                    "each with its `name`; the `item` that it plays and its `place` in its list, or null; the `count` of these; its `state`, "
                    + "as in `status`; and how many `seams` it has had, and frames that were `late` or `dropped`"
            ],
            bound: [
                .argument("the name of a zone and next, previous, play, pause, toggle or tap, as in \"zone news next\"", Self.zone)
            ]
        ) { .zone($0, $1) }
        add(
            "screenshot", "A PNG of what is on the screen; its descriptor comes with the answer (SCM_RIGHTS).",
            effect: "when it is encoded", answer: ["format": "\"png\""]
        ) { .screenshot }
        add(
            "observe",
            "Has the player tell this client from now on what happens: a line with `event` for each. Again replaces what was asked for.",
            .optional("events", .words(ControlTopic.allCases), "What of; else of everything.", .rest),
            answer: ["events": "what it is told of"]
        ) { .observe($0 ?? ControlTopic.allCases) }
        add("reload", "Reads kiosk.conf again, as SIGHUP does; a playlist that was set here gives way to the file's.") { .reload }
        add(
            "log-level", "Logs no less important than this.",
            .optional("to", .word(Logger.Level.allCases), "The level; else none is set.", .place),
            answer: ["level": "the level"]
        ) { .logLevel($0) }
        add(
            "quit", "Ends the program, where [input] allow-quit is set.", .program(.quit), keys: ["ESC", "Q", "EXIT"],
            needs: .permissionToQuit)
    }
}
