public import Foundation
import KioskAudio
import KioskDisplay
public import KioskPlayer
import Synchronization

// What AVPlayer does without an output: the players here show their pictures on the main display, and send their sound to the main sound card.

extension VideoOutput {
    private static let shared = Mutex<VideoOutput?>(nil)

    /// The output of players that are made without one: the first display, opened on the first read. Set it before, to choose a display, or
    /// memory (`.offscreen()`).
    public static var main: VideoOutput {
        get {
            shared.withLock { shared in
                if let shared { return shared }
                let display = VideoOutput.display()
                shared = display
                return display
            }
        }
        set { shared.withLock { $0 = newValue } }
    }
}

extension AudioOutput {
    private static let shared = Mutex<AudioOutput?>(nil)

    /// The output of players that are made without one: the sound card of the main display, opened on the first read. Set it before, to
    /// choose another one, or silence (`.silent()`).
    public static var main: AudioOutput {
        get {
            shared.withLock { shared in
                if let shared { return shared }
                let card = AudioOutput.alsa(display: .main)
                shared = card
                return card
            }
        }
        set { shared.withLock { $0 = newValue } }
    }
}

extension Asset {
    /// Creates the asset of a file or an address.
    public init(url: URL, options: Options = Options()) { self.init(url.isFileURL ? url.path : url.absoluteString, options: options) }

    /// Its address.
    public var url: URL { URL(string: source).flatMap { $0.scheme == nil ? nil : $0 } ?? URL(fileURLWithPath: source) }
}

extension PlayerItem {
    /// Creates an item of a file or an address.
    public convenience init(url: URL) { self.init(Asset(url: url)) }
    /// Creates an item of an asset.
    public convenience init(asset: Asset) { self.init(asset) }
}

extension Player {
    /// Creates a player of a file or an address, paused, on the main outputs.
    public convenience init(url: URL) { self.init(playerItem: PlayerItem(url: url)) }
    /// Creates a player of an item, paused, on the main outputs.
    public convenience init(playerItem item: PlayerItem?) { self.init(item, video: .main, audio: .main) }
    /// Creates a player without an item, on the main outputs.
    public convenience init() { self.init(playerItem: nil) }

    /// Whether a player can play: always, until it has been stopped. An item that fails does not end a player.
    public enum Status: Int, Hashable, Sendable {
        /// Never.
        case unknown
        /// It can play.
        case readyToPlay
        /// Never.
        case failed
    }

    /// Whether it can play.
    public var status: Status { .readyToPlay }
    /// nil: the `error` of an item says why kiosk cannot play it.
    public var error: (any Error)? { nil }

    /// Removes an observer of whatever type its variable has.
    public func removeTimeObserver(_ observer: Any) { if let observer = observer as? TimeObserver { removeTimeObserver(observer) } }
}

extension QueuePlayer {
    /// Creates a player of these items, paused, on the main outputs.
    public convenience init(items: [PlayerItem]) { self.init(items: items, video: .main, audio: .main) }
}

/// The place of a player's picture on its display. A player shows its picture without a layer, too: the layer only changes its place.
public final class AVPlayerLayer {
    /// The player.
    public var player: Player?

    /// Creates the layer of a player.
    public init(player: Player? = nil) { self.player = player }

    /// How to fit the picture into its place: that of the current item, and of all items if it is set.
    public var videoGravity: AVLayerVideoGravity {
        get { player?.currentItem?.videoGravity ?? .resizeAspect }
        set {
            let items = (player as? QueuePlayer)?.items() ?? [player?.currentItem].compactMap { $0 }
            for item in items { item.videoGravity = newValue }
        }
    }

    /// The place of the picture in pixels of the display, from its top left corner; all of it at first. Ignored without a display.
    public var frame: CGRect {
        get {
            guard let player, let size = player.videoOutput.size else { return .zero }
            let (region, width, height) = (player.region, Double(size.width), Double(size.height))
            return CGRect(x: region.x * width, y: region.y * height, width: region.width * width, height: region.height * height)
        }
        set {
            guard let player, let size = player.videoOutput.size else { return }
            let (width, height) = (Double(size.width), Double(size.height))
            player.region = Region(
                x: newValue.minX / width, y: newValue.minY / height, width: newValue.width / width, height: newValue.height / height)
        }
    }

    /// Whether the player has shown a picture.
    public var isReadyForDisplay: Bool { (player?.statistics.framesShown ?? 0) > 0 }
}
