// The commands of the control socket: the one place that names them, their parameters and their answers.
import KioskVocabulary

/// What can be asked of a running player. The raw value is the `command` of a request, and the words of `kiosk ctl`.
package enum ControlCommand: String, Hashable, Sendable, CaseIterable {
    case play, pause, toggle, seek, next, previous, item, restart
    case restartPlaylist = "restart-playlist"
    case goOn = "go-on"
    case volume
    case volumeUp = "volume-up"
    case volumeDown = "volume-down"
    case mute
    case interruptionBegin = "interruption begin"
    case interruptionEnd = "interruption end"
    case rate, rotate, gravity, region
    case seekForward = "seek-forward"
    case seekBack = "seek-back"
    case showControls = "show-controls"
    case hideControls = "hide-controls"
    case recordPreview = "record preview"
    case recordStart = "record start"
    case recordStop = "record stop"
    case recordPause = "record pause"
    case recordResume = "record resume"
    case recordToggle = "record toggle"
    case recordKeep = "record keep"
    case recordRetake = "record retake"
    case recordCancel = "record cancel"
    case recordStatus = "record status"
    case status, statistics
    case playlist = "playlist list"
    case playlistSet = "playlist set"
    case playlistAppend = "playlist append"
    case playlistInsert = "playlist insert"
    case playlistRemove = "playlist remove"
    case playlistMove = "playlist move"
    case tracks, select, chapters, chapter
    case nextChapter = "next-chapter"
    case previousChapter = "previous-chapter"
    case metadata, cover, cache
    case shelfOpen = "shelf open"
    case shelfClose = "shelf close"
    case shelfSearch = "shelf search"
    case shelfList = "shelf list"
    case shelfPlay = "shelf play"
    case shelfPlayFrom = "shelf play-from"
    case shelfAdd = "shelf add"
    case shelfRemove = "shelf remove"
    case shelfMove = "shelf move"
    case shelfClear = "shelf clear"
    case shelfFilm = "shelf film"
    case shelfExport = "shelf export"
    case shelfCancel = "shelf cancel"
    case screenshot, observe, reload
    case logLevel = "log-level"
    case quit

    /// The command of this name; `playlist` alone is the list.
    package init?(name: String) { self.init(rawValue: name == "playlist" ? ControlCommand.playlist.rawValue : name) }

    /// What it takes and answers.
    package var schema: ControlSchema { ControlSchema.of(self) }
}

/// What a client that observes is told of.
package enum ControlTopic: String, Hashable, Sendable, CaseIterable {
    case status, item, time, display, audio, failure, export, record

    /// What its events say.
    var text: String {
        switch self {
        case .status: "`state` has changed: \"playing\", \"paused\" or \"waiting\"; `ended` with the playlist"
        case .item: "another showing of an item has begun: `item`, `seam` where it followed without a jump, `late` in vblanks"
        case .time: "`time`, `duration` and `item`, once a second and whenever something happens"
        case .display: "`display` has come, gone or changed: its name and mode, or null"
        case .audio: "`audio` is another sound device, or why there is none"
        case .export:
            "how far the film is that is made on the shelf: `done`, 0 to 1, and `left`, seconds or null, twice a second; at the end `file`, or "
                + "`problem` where there is none"
        case .record: "the recording is in another state, has kept a film or has failed: what `record status` answers"
        case .failure: "`message`: an item could not be played, or nothing can be; `item` where it is one"
        }
    }
}

extension ControlSchema {
    private static let place: [ControlMember] = [
        ControlMember("item", "what is on the screen: `id`, `place`, `title` and `source`; null where nothing is"),
        ControlMember("time", "seconds of it"),
        ControlMember("shown", "false where there is no display to show it"),
    ]
    private static let list: [ControlMember] = [ControlMember("count", "how many items the playlist has now")]
    private static let recording: [ControlMember] = [
        ControlMember(
            "state",
            "\"idle\", \"opening\", \"framing\", \"recording\", \"paused\", \"finishing\" or \"reviewing\"; after something that has just been asked for how "
                + "it was before, or \"opening\""),
        ControlMember("elapsed", "seconds of the film"), ControlMember("remaining", "seconds it can go on; null where nobody knows"),
        ControlMember("dropped", "pictures that are missing in it"), ControlMember("level", "the loudest of late, 0 to 1"),
        ControlMember("film", "what was kept last; null where nothing was"), ControlMember("failure", "what went wrong last, or null"),
    ]
    private static let sources = ControlParameter(
        name: "sources", kind: .texts, isRequired: true, text: "Files (absolute paths), folders, lists and URLs.", word: .rest)
    private static let boundary = ControlParameter(
        name: "at", kind: .word(["boundary", "now"]),
        text: "When what is on the screen and has left the list gives way: at its end (the default), or now.")
    private static let optionalItem = ControlParameter(
        name: "item", kind: .item, text: "Which item; else the one on the screen.", word: .option)
    private static let about = ControlMember("item", "which one it is")
    private static let latency = ControlMember(
        "latency", "seconds between what has been received of a live stream and what is heard of it; null of anything else")
    private static let firstFrame = "when its first frame is on the screen"
    private static let shelved = ControlParameter(
        name: "item", kind: .item, isRequired: true,
        text: "Its place in the list, its path, the name of its file, or its title.", word: .place)
    private static let item = ControlParameter(name: "item", kind: .item, isRequired: true, text: "Which item.", word: .place)

    static func of(_ command: ControlCommand) -> ControlSchema {
        func schema(
            _ summary: String, _ parameters: [ControlParameter] = [], oneOf: [String] = [], effect: String = "at once",
            answer: [ControlMember] = []
        ) -> ControlSchema {
            ControlSchema(command: command, summary: summary, parameters: parameters, oneOf: oneOf, effect: effect, answer: answer)
        }
        return switch command {
        case .play:
            schema(
                "Plays on; or goes to an item and plays it; or plays a source that need not be on the playlist.",
                [
                    ControlParameter(name: "item", kind: .item, text: "The item to go to.", word: .place),
                    ControlParameter(
                        name: "source", kind: .text, text: "A file (an absolute path) or a URL to play now, instead of an item."),
                    ControlParameter(
                        name: "then", kind: .word(["resume", "next"]),
                        text: "After the source: where the player was (the default), or the item after that."),
                ], effect: "when it plays, with the first frame of the item on the screen", answer: place)
        case .pause: schema("Holds the picture and the sound.", effect: "when the picture stands", answer: place)
        case .toggle: schema("Pauses when playing, plays when paused.", effect: "as of pause and play", answer: place)
        case .seek:
            schema(
                "Moves within the item.",
                [
                    ControlParameter(name: "to", kind: .time, text: "The time in the item to go to.", word: .place),
                    ControlParameter(name: "by", kind: .span, text: "How far to move from here.", word: .signed),
                ], oneOf: ["to", "by"], effect: "when the frame is on the screen", answer: place)
        case .seekForward: schema("Moves forward by [playback] seek-step.", effect: "when the frame is on the screen", answer: place)
        case .seekBack: schema("Moves back by [playback] seek-step.", effect: "when the frame is on the screen", answer: place)
        case .next: schema("Goes to the next item.", effect: firstFrame, answer: place)
        case .previous: schema("Goes to the item before.", effect: firstFrame, answer: place)
        case .item: schema("Goes to an item, playing or paused as it is.", [item], effect: firstFrame, answer: place)
        case .restart: schema("Begins the item again.", effect: firstFrame, answer: place)
        case .restartPlaylist: schema("Plays the playlist from its first item.", effect: firstFrame, answer: place)
        case .goOn: schema("Goes on from an item that waits for a tap.", effect: firstFrame, answer: place)
        case .volume:
            schema(
                "Sets or changes the loudness.",
                [
                    ControlParameter(name: "to", kind: .integer(0...100), text: "The loudness, in hundredths.", word: .place),
                    ControlParameter(
                        name: "by", kind: .integer(-100...100), text: "How much louder; the result is clamped.", word: .signed),
                ], oneOf: ["to", "by"], answer: [ControlMember("volume", "0 to 100")])
        case .volumeUp: schema("Makes it louder by 5.", answer: [ControlMember("volume", "0 to 100")])
        case .volumeDown: schema("Makes it quieter by 5.", answer: [ControlMember("volume", "0 to 100")])
        case .mute:
            schema(
                "Turns the sound off or on.",
                [ControlParameter(name: "on", kind: .flag, text: "Whether it is to be off; else the other way than now.", word: .place)],
                answer: [ControlMember("muted", "whether the sound is off")])
        case .interruptionBegin:
            schema(
                "Has the sound give way to another program's, as [audio] interruption says, until the end or for some time.",
                [
                    ControlParameter(name: "for", kind: .number(0.1...3600), text: "Seconds after which it ends by itself; else an hour."),
                    ControlParameter(
                        name: "by", kind: .text, text: "A name of the program: with several the sound comes back when all have ended."),
                ], answer: [ControlMember("interrupted", "true")])
        case .interruptionEnd:
            schema(
                "Ends the interruption that was begun under the same name.",
                [ControlParameter(name: "by", kind: .text, text: "The name that was given at its beginning.")],
                answer: [ControlMember("interrupted", "whether another program still interrupts")])
        case .rate:
            schema(
                "Sets the speed, the pitch kept; heard and seen within half a second.",
                [ControlParameter(name: "to", kind: .number(0.5...2), isRequired: true, text: "The speed.", word: .place)],
                answer: [ControlMember("rate", "the speed")])
        case .rotate:
            schema(
                "Turns the picture.",
                [ControlParameter(name: "to", kind: .degrees, text: "Clockwise; else a quarter further than now.", word: .place)],
                effect: "when the turned picture is on the screen", answer: [ControlMember("rotation", "the turn, 0, 90, 180 or 270")])
        case .gravity:
            schema(
                "Fits pictures of another shape in another way, the one on the screen, too, until reload.",
                [
                    ControlParameter(
                        name: "to", kind: .word(VideoGravity.allCases.map(\.rawValue)), isRequired: true, text: "How.", word: .place)
                ], answer: [ControlMember("gravity", "how")])
        case .region:
            schema(
                "Has the picture be in a rectangle of the display, playing on; `0 0 100 100` is all of it.",
                [
                    ControlParameter(
                        name: "x", kind: .number(0...99), isRequired: true,
                        text: "From the left edge, in hundredths of the display's width.",
                        word: .place),
                    ControlParameter(
                        name: "y", kind: .number(0...99), isRequired: true, text: "From the top edge, in hundredths of its height.",
                        word: .place),
                    ControlParameter(
                        name: "width", kind: .number(1...100), isRequired: true, text: "Across; what is beyond the edge is cut off.",
                        word: .place),
                    ControlParameter(name: "height", kind: .number(1...100), isRequired: true, text: "Down, likewise.", word: .place),
                    ControlParameter(
                        name: "within", kind: .number(0...60), text: "For how many seconds it is on its way there; else at once."),
                ], answer: [ControlMember("region", "`x`, `y`, `width` and `height`, in hundredths")])
        case .showControls: schema("Shows the controls as a touch does.")
        case .hideControls: schema("Hides the controls.")
        case .recordPreview: schema("Shows what the camera sees, with a button that starts.", answer: recording)
        case .recordStart: schema("Records what camera and microphone have, or goes on after a pause.", answer: recording)
        case .recordStop: schema("Ends the film; it is kept or reviewed, as [record] on-record says.", answer: recording)
        case .recordPause: schema("Leaves out of the film what is seen and heard from now on.", answer: recording)
        case .recordResume: schema("Goes on in the same film.", answer: recording)
        case .recordToggle: schema("Starts, or stops.", answer: recording)
        case .recordKeep: schema("Keeps the film that is reviewed.", answer: recording)
        case .recordRetake: schema("Throws the film away and shows the camera again.", answer: recording)
        case .recordCancel: schema("Throws the film away and goes back to the playlist.", answer: recording)
        case .recordStatus: schema("Tells how the recording is.", answer: recording)
        case .status:
            schema(
                "Tells what the player does.",
                answer: place.dropLast() + [
                    ControlMember("state", "\"playing\", \"paused\" or \"waiting\""),
                    ControlMember("ended", "whether a playlist that does not loop has ended"),
                    ControlMember("stateAge", "seconds since `state` and `ended` have been so"),
                    ControlMember("duration", "seconds; null for a live stream"),
                    ControlMember("itemStatus", "\"unknown\", \"ready\" or \"failed\"; null where nothing is on the screen"),
                    ControlMember("live", "whether nobody knows how long the item lasts, as of a live stream"),
                    ControlMember("presentationSize", "`width` and `height` of the picture at its own size; null without one"),
                    ControlMember(
                        "loaded", "ranges of the item, `from` and `to` in seconds, that are there without waiting for its source"),
                    ControlMember("seekable", "ranges of the item that one can seek to"),
                    ControlMember("likelyToKeepUp", "whether it is likely to play to its end without waiting for its source"),
                    latency,
                    ControlMember("count", "how many items the playlist has"),
                    ControlMember("volume", "0 to 100"), ControlMember("muted", "whether the sound is off"),
                    ControlMember("interrupted", "whether a program has the sound give way"),
                    ControlMember("rate", "the speed"),
                    ControlMember("rotation", "0, 90, 180 or 270"),
                    ControlMember("display", "`name`, `width`, `height` and `refresh` of the display; null where there is none"),
                    ControlMember("audio", "the sound device, or why there is none"),
                    ControlMember("framesShown", "frames that reached the screen"),
                    ControlMember("framesLate", "of those, how many came a vblank or more after their time"),
                    ControlMember("framesDropped", "frames that were left out"),
                    ControlMember("seams", "joints of one showing and the next"),
                    ControlMember("failure", "the last thing that went wrong, and `age` in seconds; null where nothing has"),
                    ControlMember("uptime", "seconds since the player was started"), ControlMember("version", "of the program"),
                    ControlMember("pid", "its process"),
                ])
        case .statistics:
            schema(
                "Counts, since the player was started.",
                answer: [
                    ControlMember("framesShown", "frames that reached the screen"),
                    ControlMember("framesLate", "of those, how many came a vblank or more after their time"),
                    ControlMember("framesDropped", "frames that were left out"),
                    ControlMember("seams", "joints of one showing and the next"),
                    ControlMember("worstSeamLateness", "the most vblanks that a seam's first frame was late"),
                    ControlMember("flipsLost", "page flips that were never reported"),
                    ControlMember("stalls", "how often picture and sound stood still because nothing was ready"),
                    ControlMember("stalledTime", "seconds of that in all"),
                    ControlMember("soundRatio", "samples that are played in the time of one"), latency,
                    ControlMember("synchrony", "`half` and `most` of the frames were this close to their sound, in seconds"),
                    ControlMember("inputLatency", "`half` and `most` of what was asked for was on the screen after so many seconds"),
                    ControlMember("queuedFrames", "decoded frames that lie ready"),
                    ControlMember("queuedSound", "seconds of sound that lie ready"),
                    ControlMember("items", "the same counts of frames and seams for each item: `item` and these"),
                ])
        case .playlist:
            schema(
                "Lists the playlist, as `playlist` alone does.",
                answer: list + [ControlMember("items", "each with `id`, `place`, `title` and `source`")])
        case .playlistSet: schema("Plays other items from now on. What was set holds until reload.", [sources, boundary], answer: list)
        case .playlistAppend: schema("Puts items at the end of the playlist.", [sources], answer: list)
        case .playlistInsert:
            schema(
                "Puts items into the playlist.",
                [
                    ControlParameter(
                        name: "before", kind: .integer(1...1_000_000), isRequired: true,
                        text: "The place of the first of them; beyond the end is the end.", word: .place),
                    sources,
                ], answer: list)
        case .playlistRemove: schema("Takes an item off the playlist.", [item, boundary], answer: list)
        case .playlistMove:
            schema(
                "Moves an item to another place of the playlist.",
                [
                    item,
                    ControlParameter(
                        name: "to", kind: .integer(1...1_000_000), isRequired: true, text: "Its place then; beyond the end is the end.",
                        word: .place),
                ], answer: list)
        case .tracks:
            schema(
                "Lists the tracks of an item that has been opened.", [optionalItem],
                answer: [
                    about,
                    ControlMember(
                        "tracks",
                        "each with its `kind`, its `number` among those, `codec`, `language`, `title`, `default` and `selected`; of sound "
                            + "`sampleRate` and `channels`, of pictures `width` and `height`"),
                ])
        case .select:
            schema(
                "Plays another track of an item, in its later showings, too. Sound changes within a second or two, and the picture goes on.",
                [
                    ControlParameter(name: "kind", kind: .word(["audio", "video"]), isRequired: true, text: "Of what.", word: .place),
                    ControlParameter(
                        name: "track", kind: .track, isRequired: true, text: "Which one, or none of them.", word: .place),
                    optionalItem,
                ], answer: [ControlMember("track", "what was asked for")])
        case .chapters:
            schema(
                "Lists the chapters of an item that has been opened.", [optionalItem],
                answer: [
                    about,
                    ControlMember("chapters", "each with its `number`, `title`, `start` and `end`; `current` is the one on the screen"),
                ])
        case .chapter:
            schema(
                "Goes to the beginning of a chapter.",
                [ControlParameter(name: "to", kind: .integer(1...1000), isRequired: true, text: "Its number.", word: .place)],
                effect: "when the frame is on the screen", answer: place)
        case .nextChapter: schema("Goes to the next chapter.", effect: "when the frame is on the screen", answer: place)
        case .previousChapter:
            schema(
                "Goes to the beginning of the chapter; within three seconds of that to the chapter before.",
                effect: "when the frame is on the screen", answer: place)
        case .metadata:
            schema(
                "What the file of an item says of itself.", [optionalItem],
                answer: [
                    about, ControlMember("title", "null where it does not say, as the following"), ControlMember("artist", "who made it"),
                    ControlMember("album", "what it belongs to"), ControlMember("date", "when it was made, as it is written in the file"),
                    ControlMember("cover", "the kind of the picture that belongs to it, \"mjpeg\" or \"png\"; null where there is none"),
                ])
        case .cover:
            schema(
                "The picture that belongs to the file of an item; its descriptor comes with the answer (SCM_RIGHTS).", [optionalItem],
                effect: "when it has been read", answer: [ControlMember("format", "\"mjpeg\", \"png\" or what else it is")])
        case .cache:
            schema(
                "What is kept on the disk of what the playlist plays over HTTP.",
                answer: [
                    ControlMember("folder", "where"), ControlMember("limit", "bytes that may be kept"),
                    ControlMember("bytes", "that are there"),
                    ControlMember(
                        "items",
                        "each with its `source`, `size`, the `bytes` of it that are there, whether it is `complete`, so that it is played from "
                            + "the disk, and the last `problem`"),
                ])
        case .shelfOpen: schema("Opens the shelf on the screen. What plays stands still until it is closed.")
        case .shelfClose: schema("Closes the shelf.")
        case .shelfSearch:
            schema(
                "Shows what is found by a text on the shelf, and opens it.",
                [ControlParameter(name: "text", kind: .text, text: "What to look for; else everything is shown.", word: .place)],
                answer: [ControlMember("count", "how many clips are found")])
        case .shelfList:
            schema(
                "Lists what is on the shelf, or what the search finds there.",
                [
                    ControlParameter(name: "from", kind: .integer(1...1_000_000), text: "The place to begin at; else the first."),
                    ControlParameter(name: "most", kind: .integer(1...1000), text: "How many at most; else 100."),
                ],
                answer: [
                    ControlMember("count", "how many there are"), ControlMember("open", "whether it is on the screen"),
                    ControlMember(
                        "items",
                        "each with `place`, `title`, `source` and `kind`; of those that have been looked at on the screen also `duration`, `portrait`, "
                            + "`sound` and `problem`"),
                ])
        case .shelfPlay: schema("Plays a clip of the shelf now, then the player goes on where it was.", [shelved])
        case .shelfPlayFrom: schema("Plays a clip of the shelf and those that follow it, instead of the playlist, until reload.", [shelved])
        case .shelfAdd:
            schema(
                "Puts a clip at the end of the film, or sound under it. One that is known not to be playable is refused (`item-failed`).",
                [shelved], answer: [ControlMember("clips", "how many it has")])
        case .shelfRemove:
            schema(
                "Takes a clip out of the film; the last one, where it is in it several times.", [shelved],
                answer: [ControlMember("clips", "how many it has")])
        case .shelfMove:
            schema(
                "Moves a clip to another place of the film.",
                [
                    ControlParameter(
                        name: "clip", kind: .integer(1...1_000_000), isRequired: true, text: "Its place in the film.", word: .place),
                    ControlParameter(
                        name: "to", kind: .integer(1...1_000_000), isRequired: true, text: "Its place then; beyond the end is the end.",
                        word: .place),
                ], answer: [ControlMember("clips", "their paths, in order")])
        case .shelfClear: schema("Begins the film anew, with nothing in it.")
        case .shelfFilm:
            schema(
                "Tells what is in the film, and how far it is made.",
                answer: [
                    ControlMember("clips", "their paths, in order"), ControlMember("music", "the path of the sound under it, or null"),
                    ControlMember("state", "\"none\", \"running\", \"done\" or \"failed\""),
                    ControlMember("done", "while it is made: 0 to 1"), ControlMember("left", "seconds that it will take, or null"),
                    ControlMember("file", "when it is there"), ControlMember("problem", "why it could not be made"),
                ])
        case .shelfExport:
            schema(
                "Makes the film: a file in [shelf] export-folder. `shelf film`, and the events of `export`, tell how far it is.",
                answer: [ControlMember("clips", "how many it has")])
        case .shelfCancel: schema("Ends making the film; nothing is left of it.")
        case .screenshot:
            schema(
                "A PNG of what is on the screen; its descriptor comes with the answer (SCM_RIGHTS).",
                effect: "when it is encoded", answer: [ControlMember("format", "\"png\"")])
        case .observe:
            schema(
                "Has the player tell this client from now on what happens: a line with `event` for each. Again replaces what was asked for.",
                [
                    ControlParameter(
                        name: "events", kind: .words(ControlTopic.allCases.map(\.rawValue)), text: "What of; else of everything.",
                        word: .rest)
                ], answer: [ControlMember("events", "what it is told of")])
        case .reload: schema("Reads kiosk.conf again, as SIGHUP does; a playlist that was set here gives way to the file's.")
        case .logLevel:
            schema(
                "Logs no less important than this.",
                [
                    ControlParameter(
                        name: "to", kind: .word(["trace", "debug", "info", "notice", "warning", "error", "critical"]),
                        text: "The level; else none is set.", word: .place)
                ], answer: [ControlMember("level", "the level")])
        case .quit: schema("Ends the program, where [input] allow-quit is set.")
        }
    }
}
