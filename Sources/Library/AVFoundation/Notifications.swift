// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
public import KioskPlayer

// The notifications of AVPlayerItem. The first use of a name begins to post all of them, on the event thread of the player; a program that uses none
// pays nothing.

extension Notification.Name {
    private static let begun: Void = Player.tapEvents { event in
        switch event {
        case .itemEnded(let item): NotificationCenter.default.post(name: .AVPlayerItemDidPlayToEndTime, object: item)
        case .itemFailed(let item, let error):
            NotificationCenter.default.post(
                name: .AVPlayerItemFailedToPlayToEndTime, object: item, userInfo: [AVPlayerItemFailedToPlayToEndTimeErrorKey: error])
        default: break
        }
    }

    private static func posted(_ name: String) -> Notification.Name {
        begun
        return Notification.Name(name)
    }

    /// An item has been on the screen to its end; `object` is the item.
    public static var AVPlayerItemDidPlayToEndTime: Notification.Name { posted("AVPlayerItemDidPlayToEndTimeNotification") }
    /// An item has a fault, with its error in `userInfo`; `object` is the item.
    public static var AVPlayerItemFailedToPlayToEndTime: Notification.Name { posted("AVPlayerItemFailedToPlayToEndTimeNotification") }
}

/// The key of the error in `userInfo`, a `PlaybackError`, if an item has a fault.
public let AVPlayerItemFailedToPlayToEndTimeErrorKey = "AVPlayerItemFailedToPlayToEndTimeErrorKey"

extension PlayerItem {
    /// An item has been on the screen to its end.
    public static var didPlayToEndTimeNotification: Notification.Name { .AVPlayerItemDidPlayToEndTime }
    /// An item has a fault.
    public static var failedToPlayToEndTimeNotification: Notification.Name { .AVPlayerItemFailedToPlayToEndTime }
}
