import KioskPlatform
import KioskVocabulary

/// A display that several players have at the same time: the first has the output itself, each other one a window over that one's picture.
package protocol SharedSceneOutput: SceneOutput {
    /// A window's output, which shows what it has to by `show`; `vblank` is the last one of the display.
    func makeWindow(
        vblank: @escaping @Sendable () -> HostTime?, show: @escaping @Sendable (Overlay.Picture?) -> Void
    ) -> any WindowSceneOutput
    /// What is on the screen, as a PNG file.
    func png() throws -> [UInt8]
    /// Whether input devices are ours, as another program may have the virtual terminal; called once.
    func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void)
    /// The rotation of touches; called once.
    func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void)
}

/// The output of a player that has a window over another one's picture.
package protocol WindowSceneOutput: SceneOutput {
    /// The display has come, gone or changed. From any thread.
    func displayChanged()
}
