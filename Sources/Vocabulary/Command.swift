import KioskPlatform

/// What a viewer or an operator asks of the player: the one vocabulary of keys, fingers and (later) the control socket.
package enum Command: Hashable, Sendable {
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
    /// Sets the speed, 0.5…2.
    case setRate(Double)
    /// Plays another sound track of the item, and in its later turns, too.
    case selectAudioTrack(TrackChoice)
    /// Plays the sound track after the present one; after the last the first.
    case nextAudioTrack
    /// Moves to the beginning of a chapter of the item, by its number from 1; a number that it does not have is ignored.
    case selectChapter(Int)
    /// Moves to the beginning of the chapter so many behind the present one; negative is back, first of all to the beginning of the present one.
    case skipChapters(Int)
    /// Turns the picture as `[display] rotation` does; nil is a quarter further clockwise than it is.
    case rotate(Rotation?)
    /// Something about the recording, where `[record]` is set.
    case record(RecordingOrder)
    /// Shows the controls as a touch does.
    case showControls
    case hideControls
    /// Opens the shelf, or closes it.
    case toggleShelf
    /// Ends the program, where the configuration lets viewers do that.
    case quit
}
