import KioskPlatform
import KioskVocabulary
import Logging

/// What a program asks for by the control socket.
package enum Request: Hashable, Sendable {
    /// What a viewer can ask for, too, or what the player carries out.
    case command(Command)
    /// Goes to an item of the playlist and, where `plays`, plays it.
    case item(ItemName, plays: Bool)
    case gravity(VideoGravity)
    case region(Region, within: MediaTime)
    /// How the recording is.
    case recording
    case status, statistics
    case playlist(PlaylistRequest)
    /// What is known of an item; nil is the one on the screen.
    case tracks(of: ItemName?), chapters(of: ItemName?), metadata(of: ItemName?), cover(of: ItemName?)
    case select(TrackChoice, of: TrackKind, in: ItemName?)
    case cache
    case shelf(ShelfRequest)
    /// Has an overlay say a text, or its own again; nothing with a name alone where it is nil.
    case overlay(String?, text: String?, for: MediaTime?)
    /// nil asks for nothing.
    case display(DisplayOrder?)
    /// Something of a zone; nothing without a name.
    case zone(String?, ZoneOrder?)
    case screenshot
    case observe([ControlTopic])
    case reload
    /// nil sets none.
    case logLevel(Logger.Level?)
}

/// What a program asks of the playlist. Places count from 1; `atOnce`: what is on the screen and has left the list gives way now.
package enum PlaylistRequest: Hashable, Sendable {
    case list
    case set([String], atOnce: Bool)
    case append([String])
    case insert([String], before: Int)
    case remove(ItemName, atOnce: Bool)
    case move(ItemName, to: Int)
}

/// What a program asks of the shelf. Places count from 1.
package enum ShelfRequest: Hashable, Sendable {
    case open, close
    /// nil shows everything.
    case search(String?)
    case list(from: Int, most: Int)
    case play(ItemName), playFrom(ItemName)
    case add(ItemName), remove(ItemName)
    /// A clip of the film.
    case move(clip: Int, to: Int)
    case clear, film, export, cancel
}

/// How a program names an item of the playlist or of the shelf.
package enum ItemName: Hashable, Sendable, CustomStringConvertible {
    /// Its place, from 1.
    case place(Int)
    /// `id:12`, its title, its source or the name of its file.
    case text(String)

    /// As it was written.
    package var description: String {
        switch self {
        case .place(let place): "\(place)"
        case .text(let text): text
        }
    }
}

/// What a client that observes is told of.
package enum ControlTopic: String, Hashable, Sendable, CaseIterable {
    case status, item, time, subtitle, display, audio, failure, export, record

    /// What its events say.
    package var text: String {
        switch self {
        case .status: "`state` has changed: \"playing\", \"paused\" or \"waiting\"; `ended` with the playlist"
        case .item: "another showing of an item has begun: `item`, `seam` if it followed without a jump, `late` in vblanks"
        case .time: "`time`, `duration` and `item`, once a second and whenever something happens"
        case .subtitle:
            "a text subtitle, a moment before it shows: its `text`, `start` and `end`, in seconds of the `item`"
        case .display: "`display` has come, gone or changed: its name and mode, or null"
        case .audio: "`audio` is another sound device, or the reason if there is none"
        case .export:
            "progress of the shelf's film: `done`, 0 to 1, and `left`, seconds or null, twice a second; at the end `file`, or "
                + "`problem` if there is none"
        case .record: "the recording is in another state, has kept a film or has failed: the answer of `record status`"
        case .failure: "`message`: kiosk cannot play an item, or nothing at all; `item` if it is one"
        }
    }
}
