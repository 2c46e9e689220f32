import KioskPlatform
import KioskVocabulary

/// What is shown when nothing can be played, as a pure value: the configured item, where there is one that can be played itself.
///
/// It is shown while the list is empty, and from when the player says that nothing on the list can be played until something on it opens
/// again, or the list changes.
struct FallbackState {
    private let item: PlaylistItem?
    /// What is to be played; nil before that is known.
    private(set) var list: [PlaylistItem]?
    /// Nothing on the list can be played, the player says.
    private var listFails = false
    /// Nor can the item itself.
    private var itemFails = false
    /// When to try again whether something on the list opens.
    private(set) var trialDue: HostTime?

    static let trialInterval = MediaTime.seconds(5)

    /// None where `item` is nil.
    init(_ item: PlaylistItem?) { self.item = item }

    /// Whether the item is shown.
    var isShown: Bool { item != nil && !itemFails && list.map { $0.isEmpty || listFails } ?? false }

    /// What is to be played; nil before there is a list.
    var played: [PlaylistItem]? { isShown ? [item!] : list }

    /// The list to try; empty where nothing is to be tried.
    var trial: [PlaylistItem] { trialDue == nil ? [] : list ?? [] }

    /// There is another list.
    mutating func setList(_ list: [PlaylistItem]) {
        self.list = list
        (listFails, itemFails, trialDue) = (false, false, nil)
    }

    /// The player says that nothing that it was given can be played.
    mutating func nothingCanBePlayed(at now: HostTime) {
        guard item != nil else { return }
        if isShown {
            itemFails = true
        } else if !itemFails {
            listFails = true
            trialDue = now + Self.trialInterval
        }
    }

    /// The list has been tried; whether something on it opens.
    mutating func tried(opens: Bool, at now: HostTime) {
        guard trialDue != nil else { return }
        if opens { (listFails, trialDue) = (false, nil) } else { trialDue = now + Self.trialInterval }
    }
}
