import KioskMedia
import KioskVocabulary

/// The operator's settings for the display.
package struct DisplaySettings: Hashable, Sendable {
    /// The connector or device that shows the pictures.
    package var connector: DisplayConnector
    /// The mode of that display.
    package var mode: DisplayModeChoice
    /// The clockwise rotation of the picture, for a display that is itself rotated. kiosk also compensates for a panel that is built in
    /// rotated.
    package var rotation: Rotation
    /// The colour beside the picture, and without one.
    package var background: Color
    /// The size of the display, if its own statement is wrong; nil to believe the display.
    package var physicalSize: PhysicalSize?
    /// The allowed paths of a picture to the screen.
    package var picturePath: PicturePathChoice

    /// Creates settings from their parts.
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
