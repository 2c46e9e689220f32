import KioskPlatform

/// A request of a viewer, a key or a program, by the part that carries it out. The table of commands (CommandTable.swift) has its notation
/// in kiosk.conf and on the control socket.
package enum Command: Hashable, Sendable {
    case player(PlayerCommand)
    /// Turns the picture like `[display] rotation`; nil is another quarter clockwise. Carried out by the display.
    case rotate(Rotation?)
    /// Shows the controls like a touch. Carried out by the controls, also the next three.
    case showControls
    case hideControls
    /// Shows the controls, or hides them if they are shown.
    case toggleControls
    /// Opens or closes the shelf.
    case toggleShelf
    case program(ProgramCommand)
}

/// A command that the program around the player and the controls carries out.
package enum ProgramCommand: Hashable, Sendable {
    /// A command for the recorder, if `[record]` is set.
    case record(RecordingOrder)
    /// Switches the display on or off.
    case display(DisplayOrder)
    /// A command for the zone of this name; ignored if there is none.
    case zone(String, ZoneOrder)
    /// Ends the program, if the configuration lets viewers do that.
    case quit
    /// Restarts the program.
    case restart
}

/// A command that the player carries out.
package enum PlayerCommand: Hashable, Sendable {
    case play
    case pause
    /// Pauses when playing or waiting, plays when paused; replays when the playlist has ended.
    case togglePlayback
    /// Moves by this number of seek steps (`[playback] seek-step`) within the item, clamped to its beginning and end; negative is back.
    case seekSteps(Int)
    /// Moves within the item by a span, clamped to its beginning and end.
    case seekBy(MediaTime)
    /// Moves to a time of the item, clamped likewise.
    case seekTo(MediaTime)
    /// Shows the key frame nearest to a time of the item, during a drag of the slider; clamped likewise. The newest of several counts.
    case scrub(MediaTime)
    /// Moves to exactly this time of the item: the viewer has let go of the slider.
    case endScrub(MediaTime)
    case nextItem
    case previousItem
    /// Goes to the item at a place of the playlist, counted from 1; ignores a place that does not exist.
    case selectItem(Int)
    /// Restarts the current item from its beginning.
    case restartItem
    /// Plays the first item of the playlist from its beginning.
    case restartPlaylist
    /// Plays a file (an absolute path) or a URL now. If it `resumes`, the player then returns to its former position, else to the following
    /// item.
    case playSource(String, resumes: Bool)
    /// Continues after an item that waits for a tap (``PlaylistItem/waitsForTap``); ignored on any other.
    case waitEnded
    /// Adds to the volume, in hundredths of full scale; the result is clamped to 0…100.
    case changeVolume(by: Int)
    /// Sets the volume, in hundredths of full scale, 0…100.
    case setVolume(Int)
    case toggleMute
    case setMuted(Bool)
    /// Interrupts the sound for the program of this name, until it ends that or for this time; ends the interruption.
    case beginInterruption(String, for: MediaTime)
    case endInterruption(String)
    /// Sets the speed, 0.5…2.
    case setRate(Double)
    /// Plays another sound track of the item, also in its later turns.
    case selectAudioTrack(TrackChoice)
    /// Plays the next sound track; after the last the first.
    case nextAudioTrack
    /// Shows other subtitles of the current item, or none; shows the next ones, after the last none.
    case selectSubtitleTrack(TrackChoice), nextSubtitleTrack
    /// Moves to the beginning of a chapter of the item, by its number from 1; ignores a number that does not exist.
    case selectChapter(Int)
    /// Moves by a number of chapters; negative is back, first to the beginning of the current one.
    case skipChapters(Int)
}
