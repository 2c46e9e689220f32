import KioskMedia
import KioskVocabulary

/// What an operator asks of the display.
package struct DisplaySettings: Hashable, Sendable {
    /// Where pictures go.
    package var connector: DisplayConnector
    /// How the display there is driven.
    package var mode: DisplayModeChoice
    /// The clockwise rotation of the picture, on a display that was itself rotated. A panel that is built in rotated is rotated back in addition.
    package var rotation: Rotation
    /// What is shown beside the picture, and without one.
    package var background: Color
    /// What the display measures, where what it says itself is wrong; nil to believe it.
    package var physicalSize: PhysicalSize?
    /// Which ways of a picture to the screen may be taken.
    package var picturePath: PicturePathChoice

    /// Settings from their parts.
    package init(
        connector: DisplayConnector = .automatic, mode: DisplayModeChoice = .preferred, rotation: Rotation = .none,
        background: Color = .black, physicalSize: PhysicalSize? = nil, picturePath: PicturePathChoice = .automatic
    ) {
        self.connector = connector
        self.mode = mode
        self.rotation = rotation
        self.background = background
        self.physicalSize = physicalSize
        self.picturePath = picturePath
    }
}
