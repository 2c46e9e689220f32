import Platform

/// What a viewer or an operator asks of the player: the one vocabulary of keys, fingers and (later) the control socket.
public enum Command: Hashable, Sendable {
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
    case nextItem
    case previousItem
    /// The present item again, from its beginning.
    case restartItem
    /// Adds to the volume, in hundredths of full scale; the result is clamped to 0…100.
    case changeVolume(by: Int)
    case toggleMute
    /// Sets the speed, 0.5…2.
    case setRate(Double)
    /// Ends the program, where the configuration lets viewers do that.
    case quit
}
