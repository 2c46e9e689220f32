/// What a player is doing about time.
public enum TimeControlStatus: Hashable, Sendable {
    /// It stands still because it was asked to, or has not been asked to play.
    case paused
    /// It should be playing and has nothing to play yet: opening, seeking, or waiting for the disk or the network.
    case waitingToPlay
    /// It plays.
    case playing

    /// What status lines and the control socket say.
    package var word: String {
        switch self {
        case .paused: "paused"
        case .waitingToPlay: "waiting"
        case .playing: "playing"
        }
    }
}
