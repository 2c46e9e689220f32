import KioskContent
import KioskControlsCore
import KioskDisplayCore
public import KioskInput
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
public import KioskPlayer
import KioskVocabulary
import Logging
import Synchronization

/// Lets a viewer pick clips on the display: PHPickerViewController, UIDocumentPickerViewController.
///
/// The shelf shows cards in a grid, with a search. It covers the whole display, over the pictures of all players. The first player of the
/// display pauses meanwhile. Fingers and keys act on the shelf, and the application's own events pause.
///
///     let shelf = Shelf(ShelfConfiguration(folders: ["/srv/clips"]))
///     let picked = try await shelf.present(on: display, input: devices)
///     if let item = picked.first { player.replaceCurrentItem(with: PlayerItem(item.asset.source)) }
///
/// Present it as often as you like. Call it from any thread.
public final class Shelf: Sendable {
    /// An event of a shelf, in order: PHPickerViewControllerDelegate.
    public enum Event: Hashable, Sendable {
        /// It is on the screen.
        case presented
        /// Its content has changed: a listing is complete, or a file has come or gone.
        case itemsChanged([ShelfItem])
        /// The viewer has picked these, in this order.
        case picked([ShelfItem])
        /// It was closed without a choice.
        case cancelled
    }

    private struct State {
        var presentation: ShelfPresentation?
        /// The shelf of the last time, with the facts that it has read.
        var last: ShelfState?
    }

    /// The content, and how a viewer picks from it.
    public let configuration: ShelfConfiguration
    private let state = Mutex(State())
    private let told = Broadcast<Event>()
    private let store: ThumbnailStore?
    /// The outputs that have a shelf.
    private static let outputs = Mutex<Set<ObjectIdentifier>>([])

    /// The names of the keys with a meaning on the shelf, for `InputDevices(keys:)`. Letters and digits search.
    public static let keys = [
        "KEY_LEFT", "KEY_RIGHT", "KEY_UP", "KEY_DOWN", "KEY_PAGEUP", "KEY_PAGEDOWN", "KEY_HOME", "KEY_END", "KEY_ENTER", "KEY_KPENTER",
        "KEY_OK", "KEY_SELECT", "KEY_ESC", "KEY_BACK", "KEY_EXIT",
    ]

    /// Creates a shelf; it opens nothing.
    public init(_ configuration: ShelfConfiguration) {
        self.configuration = configuration
        store = configuration.thumbnailFolder.map {
            ThumbnailStore(folder: $0, limit: max(0, configuration.thumbnailLimit)) { ShelfPresentation.log.notice("\($0)") }
        }
    }

    /// Shows the shelf until the viewer has picked, or has closed it. The end of the task closes it.
    ///
    /// - Parameters:
    /// - output: the display. Without a player, the shelf has one of its own there.
    /// - input: the devices of the viewer; nil if ``handle(_:)`` gets all events.
    /// - Returns: the picked items, in order; empty if the viewer has closed it, or did nothing for its time limit.
    /// - Throws: ``ShelfError``.
    public func present(on output: VideoOutput, input: InputDevices? = nil) async throws(ShelfError) -> [ShelfItem] {
        LibraryLog.begin()
        try configuration.check()
        let id = ObjectIdentifier(output)
        guard Self.outputs.withLock({ $0.insert(id).inserted }) else {
            throw ShelfError(.isPresented, "the display shows a shelf: dismiss that one first")
        }
        defer { Self.outputs.withLock { _ = $0.remove(id) } }
        guard let presentation = begin(on: output, input) else {
            throw ShelfError(.isPresented, "the shelf is on the screen: dismiss it first, or create another one")
        }
        told.tell(.presented)
        let (last, picked) = await withTaskCancellationHandler {
            await withCheckedContinuation { presentation.show($0) }
        } onCancel: {
            presentation.dismiss()
        }
        state.withLock { ($0.presentation, $0.last) = (nil, last) }
        let items = picked.map { presentation.items($0, in: last) } ?? []
        told.tell(picked == nil ? .cancelled : .picked(items))
        return items
    }

    private func begin(on output: VideoOutput, _ input: InputDevices?) -> ShelfPresentation? {
        state.withLock { state in
            guard state.presentation == nil else { return nil }
            let presentation = ShelfPresentation(configuration, on: output, input, store, after: state.last) { [told] in
                told.tell(.itemsChanged($0))
            }
            state.presentation = presentation
            return presentation
        }
    }

    /// The showing; nil while it is not on the screen.
    var presentation: ShelfPresentation? { state.withLock { $0.presentation } }

    /// Closes it, as if the viewer did.
    public func dismiss() { presentation?.dismiss() }

    /// Whether it is on the screen.
    public var isPresented: Bool { presentation != nil }

    /// The items so far, in order; empty while it is not on the screen. A listing takes as long as the disk needs.
    public var items: [ShelfItem] { presentation?.items ?? [] }

    /// Passes a touch or a key from elsewhere: of a remote, of a test. Does nothing while the shelf is not on the screen.
    public func handle(_ event: InputDevices.Event) {
        if let made = InputEvent(event) { _ = presentation?.takes(made) }
    }

    /// All events from now on. Each call returns a sequence of its own.
    public var events: AsyncStream<Event> { told.stream() }
}
