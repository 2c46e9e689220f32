import KioskPlatform

/// What a viewer, a key or a program asks for, by who carries it out. How it is written, in kiosk.conf and on the control socket, is in the
/// table of commands (CommandTable.swift).
package enum Command: Hashable, Sendable {
    case player(PlayerCommand)
    /// The display's: turns the picture as `[display] rotation` does; nil is a quarter further clockwise than it is.
    case rotate(Rotation?)
    /// The controls': shows them as a touch does.
    case showControls
    case hideControls
    /// Opens the shelf, or closes it.
    case toggleShelf
    case program(ProgramCommand)
}

/// What the program around the player and the controls carries out.
package enum ProgramCommand: Hashable, Sendable {
    /// Something about the recording, where `[record]` is set.
    case record(RecordingOrder)
    /// Switches the display on or off.
    case display(DisplayOrder)
    /// Something of the zone of this name; nothing where there is none.
    case zone(String, ZoneOrder)
    /// Ends the program, where the configuration lets viewers do that.
    case quit
    /// Ends the program, and starts it anew.
    case restart
}

/// What the player carries out.
package enum PlayerCommand: Hashable, Sendable {
    case play
    case pause
    /// Pauses when playing or waiting, plays when paused; replays when the playlist has ended.
    case togglePlayback
    /// Moves by so many seek steps (`[playback] seek-step`) within the item, clamped to its beginning and end; negative is back.
    case seekSteps(Int)
    /// Moves within the item by a span, clamped to its beginning and end.
    case seekBy(MediaTime)
    /// Moves to a time of the item, clamped likewise.
    case seekTo(MediaTime)
    /// Shows the key frame nearest to a time of the item, while a finger holds the slider; clamped likewise. Of several the newest counts.
    case scrub(MediaTime)
    /// The slider is let go at a time of the item: moves to just there.
    case endScrub(MediaTime)
    case nextItem
    case previousItem
    /// Goes to the item at a place of the playlist, counted from 1; a place that it does not have is ignored.
    case selectItem(Int)
    /// The present item again, from its beginning.
    case restartItem
    /// The first item of the playlist, from its beginning, playing.
    case restartPlaylist
    /// Plays a file (an absolute path) or a URL now. Where it `resumes` the player then returns to where it was, else to the item after.
    case playSource(String, resumes: Bool)
    /// Goes on from an item that waits for a tap (``PlaylistItem/waitsForTap``); nothing on any other.
    case waitEnded
    /// Adds to the volume, in hundredths of full scale; the result is clamped to 0…100.
    case changeVolume(by: Int)
    /// Sets the volume, in hundredths of full scale, 0…100.
    case setVolume(Int)
    case toggleMute
    case setMuted(Bool)
    /// Has the sound give way to the program of this name, until it ends that or for this time; and ends that.
    case beginInterruption(String, for: MediaTime)
    case endInterruption(String)
    /// Sets the speed, 0.5…2.
    case setRate(Double)
    /// Plays another sound track of the item, and in its later turns, too.
    case selectAudioTrack(TrackChoice)
    /// Plays the sound track after the present one; after the last the first.
    case nextAudioTrack
    /// Shows other subtitles of the item on the screen, or none; the ones after those, after the last none.
    case selectSubtitleTrack(TrackChoice), nextSubtitleTrack
    /// Moves to the beginning of a chapter of the item, by its number from 1; a number that it does not have is ignored.
    case selectChapter(Int)
    /// Moves to the beginning of the chapter so many behind the present one; negative is back, first of all to the beginning of the present one.
    case skipChapters(Int)
}
