import KioskPlatform
import KioskVocabulary

/// The fallback, as a pure value: the configured item, if it can itself be played.
///
/// It is shown while the list is empty. It is also shown once the player reports that it can play nothing on the list. That lasts until an
/// item opens again, or the list changes.
/// again, or the list changes.
struct FallbackState {
    private let item: PlaylistItem?
    /// The items to play; nil before the first list.
    private(set) var list: [PlaylistItem]?
    /// Whether the player has reported that it can play nothing on the list.
    private var listFails = false
    /// Whether the fallback cannot be played either.
    private var itemFails = false
    /// When to test again whether an item on the list opens.
    private(set) var trialDue: HostTime?

    static let trialInterval = MediaTime.seconds(5)

    /// Makes a state without a fallback if `item` is nil.
    init(_ item: PlaylistItem?) { self.item = item }

    /// Whether the fallback is shown.
    var isShown: Bool { item != nil && !itemFails && list.map { $0.isEmpty || listFails } ?? false }

    /// The items to play, or the fallback; nil before the first list.
    var played: [PlaylistItem]? { isShown ? [item!] : list }

    /// The items to test; empty if no test is due.
    var trial: [PlaylistItem] { trialDue == nil ? [] : list ?? [] }

    /// Sets another list.
    mutating func setList(_ list: [PlaylistItem]) {
        self.list = list
        (listFails, itemFails, trialDue) = (false, false, nil)
    }

    /// Notes the player's report that it can play nothing.
    mutating func nothingCanBePlayed(at now: HostTime) {
        guard item != nil else { return }
        if isShown {
            itemFails = true
        } else if !itemFails {
            listFails = true
            trialDue = now + Self.trialInterval
        }
    }

    /// Takes the result of a test of the list.
    mutating func tried(opens: Bool, at now: HostTime) {
        guard trialDue != nil else { return }
        if opens { (listFails, trialDue) = (false, nil) } else { trialDue = now + Self.trialInterval }
    }
}
