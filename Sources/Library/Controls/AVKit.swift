public import KioskPlayer

/// Apple's name for the controls of a player. The article "Coming from AVPlayer" of KioskPlayer lists its symbols.
public typealias AVPlayerViewController = PlayerControls

extension PlayerControls {
    /// How to fit the picture of the current item into the display.
    public var videoGravity: VideoGravity {
        get { player?.currentItem?.videoGravity ?? .resizeAspect }
        set { player?.currentItem?.videoGravity = newValue }
    }

    /// Whether the player has shown a picture.
    public var isReadyForDisplay: Bool { (player?.statistics.framesShown ?? 0) > 0 }
}
