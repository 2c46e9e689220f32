/// Whether a player plays, pauses or waits.
public enum TimeControlStatus: Hashable, Sendable {
    /// It is paused, or has not been told to play.
    case paused
    /// It should play, and has nothing to play yet: it opens, seeks, or waits for the disk or the network.
    case waitingToPlay
    /// It plays.
    case playing

    /// The word in status lines and on the control socket.
    package var word: String {
        switch self {
        case .paused: "paused"
        case .waitingToPlay: "waiting"
        case .playing: "playing"
        }
    }
}
