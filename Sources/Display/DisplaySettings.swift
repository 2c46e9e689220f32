import Media
import Vocabulary

/// What an operator asks of the display.
public struct DisplaySettings: Hashable, Sendable {
    /// Where pictures go.
    public var connector: DisplayConnector
    /// How the display there is driven.
    public var mode: DisplayModeChoice
    /// The clockwise turn of the picture, on a display that was itself turned. A panel that is built in turned is turned back in addition.
    public var rotation: Rotation
    /// What is shown beside the picture, and without one.
    public var background: Color

    /// Settings from their parts.
    public init(
        connector: DisplayConnector = .automatic, mode: DisplayModeChoice = .preferred, rotation: Rotation = .none,
        background: Color = .black
    ) {
        self.connector = connector
        self.mode = mode
        self.rotation = rotation
        self.background = background
    }
}
