import KioskPlatform
import KioskVocabulary
import Logging

/// A program's request on the control socket.
package enum Request: Hashable, Sendable {
    /// A command that viewers have too, or a command of the player.
    case command(Command)
    /// Goes to an item of the playlist; also plays it if `plays`.
    case item(ItemName, plays: Bool)
    case gravity(VideoGravity)
    case region(Region, within: MediaTime)
    /// Reports the state of the recording.
    case recording
    case status, statistics, metrics
    case playlist(PlaylistRequest)
    /// Report facts about an item; nil for the item on the screen.
    case tracks(of: ItemName?), chapters(of: ItemName?), metadata(of: ItemName?), cover(of: ItemName?)
    case select(TrackChoice, of: TrackKind, in: ItemName?)
    case cache
    case shelf(ShelfRequest)
    /// Sets the text of an overlay, or restores its own; without a name it only lists the overlays.
    case overlay(String?, text: String?, for: MediaTime?)
    /// Switches the display; nil only reports its state.
    case display(DisplayOrder?)
    /// Sends a command to a zone; without a name it only lists the zones.
    case zone(String?, ZoneOrder?)
    case screenshot
    case observe([ControlTopic])
    case reload
    /// Sets the log level; nil only reports it.
    case logLevel(Logger.Level?)
}

/// A program's request about the playlist. Places count from 1; `atOnce` leaves the current item at once if it has left the list.
package enum PlaylistRequest: Hashable, Sendable {
    case list
    case set([String], atOnce: Bool)
    case append([String])
    case insert([String], before: Int)
    case remove(ItemName, atOnce: Bool)
    case move(ItemName, to: Int)
}

/// A program's request about the shelf. Places count from 1.
package enum ShelfRequest: Hashable, Sendable {
    case open, close
    /// Searches for a text; nil shows everything.
    case search(String?)
    case list(from: Int, most: Int)
    case play(ItemName), playFrom(ItemName)
    case add(ItemName), remove(ItemName)
    /// Moves a clip within the film.
    case move(clip: Int, to: Int)
    case clear, film, export, cancel
}

/// A program's name for an item of the playlist or of the shelf.
package enum ItemName: Hashable, Sendable, CustomStringConvertible {
    /// The place, from 1.
    case place(Int)
    /// `id:12`, or the title, the source or the file's name.
    case text(String)

    /// The name as written.
    package var description: String {
        switch self {
        case .place(let place): "\(place)"
        case .text(let text): text
        }
    }
}

/// A topic of events for observing clients.
package enum ControlTopic: String, Hashable, Sendable, CaseIterable {
    case status, item, time, subtitle, display, audio, failure, export, record

    /// The content of its events.
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
