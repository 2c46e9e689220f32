import Glibc
import KioskPlatform
import KioskVocabulary

/// Keeps what is played over HTTP on the disk, so that it is played from there, also when the network is gone.
///
/// A thread that gives way to all others fetches the files of the playlist one after the other, and asks the server now and then whether they
/// have changed (``CacheSchedule``, ``TransferPlan``). A file counts from when it is complete and written through (``CacheStore``); a new
/// content of it is played from the next opening on. Who opens an item asks ``file(for:)`` and waits for nothing but the first look into the
/// folder. What cannot be kept, because the disk is full or read-only or the server does not say how long it is, is played over the network as if
/// there were no cache; that is said once.
///
/// A folder belongs to one process: it is locked (``FolderLock``), and who finds it locked plays over the network until it is free.
package final class AssetCache: Sendable {
    /// What is worth saying.
    package enum News: Hashable, Sendable {
        case note(String)
        case problem(String)
    }

    /// What is known of a source.
    package struct Item: Hashable, Sendable {
        package var source: String
        /// How long the file is; nil where that is not known yet.
        package var size: Int64?
        /// How much of it is there.
        package var bytes: Int64
        /// Whether it can be played from the disk.
        package var isComplete: Bool
        /// Why it could not be fetched or checked the last time.
        package var problem: String?
    }

    struct State {
        var kept: [Path: CacheEntry] = [:]
        var isScanned = false
        /// What has been played since the thread looked last.
        var used: Set<Path> = []
        /// Entries that are not playable.
        var rejected: [CacheEntry] = []
        var wanted: [Path] = []
        /// How far the one that is fetched is.
        var fetching: (source: Path, bytes: Int64, size: Int64)?
        var parts: [Path: (bytes: Int64, size: Int64)] = [:]
        var problems: [Path: String] = [:]
        var isStopping = false
    }

    package let folder: String
    package let limit: ByteCount
    let store: CacheStore
    let state = Monitor(State())
    let tell: @Sendable (News) -> Void

    /// How often the playlist is looked at.
    private static let interval = MediaTime.seconds(1)
    /// How long who opens an item waits for the first look into the folder.
    private static let scanLimit = MediaTime.seconds(2)
    /// How long a folder that another process has is waited for before that is said: one that is ending lets go of it.
    private static let lockLimit = MediaTime.milliseconds(1500)
    private static let lockInterval = MediaTime.milliseconds(100)

    /// A cache in `folder`, an absolute path, of at most `limit`; `tell` is called on the thread `cache`.
    package init(folder: String, limit: ByteCount, tell: @escaping @Sendable (News) -> Void) {
        (self.folder, self.limit, self.tell) = (folder, limit, tell)
        store = CacheStore(folder: folder)
    }

    /// The folder for it: the service's own, else the user's (`XDG_CACHE_HOME`); nil where there is neither.
    package static var defaultFolder: String? {
        func folder(_ name: String) -> String? {
            environment(name).flatMap { $0.hasPrefix("/") ? String($0.prefix { $0 != ":" }) : nil }
        }
        if let state = folder("STATE_DIRECTORY") { return state + "/cache" }
        if let cache = folder("XDG_CACHE_HOME") { return cache + "/kiosk" }
        return folder("HOME").map { $0 + "/.cache/kiosk" }
    }

    /// Begins to fetch. `wanted` gives the items of the playlist, in their order; it is called on the thread `cache`. A source is fetched as the first of
    /// its items says. Called once.
    package func start(wanted: @escaping @Sendable () -> [PlaylistItem]) {
        Thread("cache") { [self] in
            Thread.giveWay()
            run(wanted)
        }.detach()
    }

    /// Ends fetching; a request that is under way ends within about a second, and goes on where it was the next time.
    package func stop() { state.signal { $0.isStopping = true } }

    /// Whether a source is one that can be kept.
    package static func mayKeep(_ source: String) -> Bool {
        let lower = source.lowercased()
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else { return false }
        let path = lower.prefix { $0 != "?" && $0 != "#" }
        return ![".m3u8", ".m3u", ".mpd", ".ism", ".sdp"].contains { path.hasSuffix($0) }
    }

    // MARK: For who opens items

    /// The file that is kept of a source; nil where there is none. From any thread.
    package func file(for source: String) -> String? {
        guard Self.mayKeep(source) else { return nil }
        let source = Path(source)
        _ = state.wait(until: .now + Self.scanLimit) { $0.isScanned || $0.isStopping ? true : nil }
        // Nothing is asked of its disk here, which may hang.
        return state.withLock { state in
            guard let entry = state.kept[source] else { return nil }
            state.used.insert(source)
            return store.contentPath(entry)
        }
    }

    /// The file that was given out for a source cannot be played: it is deleted, and the source is fetched again. Where another content has taken its place
    /// meanwhile, as a file of another name, that stays. From any thread.
    package func reject(_ source: String, at file: String) {
        let source = Path(source)
        state.signal { state in
            guard let entry = state.kept[source], store.contentPath(entry) == file else { return }
            state.kept[source] = nil
            state.rejected.append(entry)
        }
    }

    /// What it has, of what is on the playlist and of what is not, and how much that is in all.
    package var contents: (items: [Item], bytes: Int64) {
        state.withLock { state in
            let sources = state.wanted + state.kept.keys.filter { !state.wanted.contains($0) }.sorted()
            let items = sources.map { source -> Item in
                if let entry = state.kept[source] {
                    return Item(
                        source: source.string, size: entry.size, bytes: entry.size, isComplete: true, problem: state.problems[source])
                }
                let part = state.fetching.flatMap { $0.source == source ? ($0.bytes, $0.size) : nil } ?? state.parts[source]
                return Item(source: source.string, size: part?.1, bytes: part?.0 ?? 0, isComplete: false, problem: state.problems[source])
            }
            return (items, items.reduce(0) { $0 + $1.bytes })
        }
    }

    // MARK: The thread

    private func run(_ wanted: () -> [PlaylistItem]) {
        guard let lock = takeFolder() else { return }
        withExtendedLifetime(lock) {
            scan()
            if Transfer.isAvailable { return fetch(wanted) }
            tell(.problem("the cache keeps no new files: libcurl is not installed (apt install libcurl3-gnutls)"))
            _ = state.wait { $0.isStopping ? true : nil }
        }
    }

    /// Waits until no other process has the folder; nil at the end.
    private func takeFolder() -> FolderLock? {
        // Where that cannot be, the first fetch says why.
        try? store.make()
        let patience = HostTime.now + Self.lockLimit
        while true {
            if let lock = FolderLock.take(folder) { return lock }
            let isNews =
                HostTime.now >= patience
                && state.signal { state in
                    defer { state.isScanned = true }
                    return !state.isScanned
                }
            if isNews {
                tell(
                    .problem(
                        "cache: another process uses \(folder): kiosk plays network files without the cache until that process ends; give each "
                            + "a folder of its own, [playback] cache-folder"))
            }
            if state.wait(until: .now + Self.lockInterval, { $0.isStopping ? true : nil }) == true { return nil }
        }
    }

    private func fetch(_ wanted: () -> [PlaylistItem]) {
        var schedule = CacheSchedule()
        var settings: [Path: StreamSettings] = [:]
        while true {
            let now = HostTime.now
            let items = wanted().filter { Self.mayKeep($0.source) }
            let sources = unique(items.map(\.path))
            schedule.setWanted(sources, at: now)
            let former = settings
            settings = Dictionary(items.map { ($0.path, $0.stream) }, uniquingKeysWith: { first, _ in first })
            // What was refused with other headers may not be with these.
            for (source, stream) in settings where former[source] ?? stream != stream { schedule.hurry(source, at: now) }
            for source in settle(sources) { schedule.hurry(source, at: now) }
            if let source = schedule.due(at: now) {
                switch CacheFetch(self, source, settings[source] ?? StreamSettings(), wanted: Set(sources)).run() {
                case .done: schedule.succeeded(source, at: .now)
                case .failed(let isLasting): schedule.failed(source, at: .now, isLasting: isLasting)
                case .stopped: return
                }
                continue
            }
            if state.wait(until: .now + Self.interval, { $0.isStopping ? true : $0.rejected.isEmpty ? nil : false }) == true { return }
        }
    }

    /// Looks into the folder for the first time.
    private func scan() {
        let kept = Dictionary(store.scan().map { ($0.source, $0) }, uniquingKeysWith: { first, _ in first })
        let parts = store.parts()
        state.signal { state in
            (state.kept, state.isScanned) = (kept, true)
            for part in parts { state.parts[part.entry.source] = (min(part.bytes, part.entry.synced), part.entry.size) }
        }
        if !kept.isEmpty {
            let bytes = kept.values.reduce(0) { $0 + $1.size }
            tell(.note("cache: \(kept.count) file\(kept.count == 1 ? "" : "s") of \(ByteCount(bytes)) in \(folder)"))
        }
    }

    /// Notes what is wanted and has been used, and deletes what cannot be played; returns those.
    private func settle(_ sources: [Path]) -> [Path] {
        let used = state.withLock { state in
            defer { (state.used, state.wanted) = ([], sources) }
            return state.used.compactMap { state.kept[$0] }
        }
        for entry in used {
            store.touch(CacheKey(entry.source))
            // Somebody has cut it off.
            if !store.isComplete(entry) { reject(entry.source.string, at: store.contentPath(entry)) }
        }
        let rejected = state.withLock { state in
            defer { state.rejected = [] }
            return state.rejected
        }
        for entry in rejected { store.remove(entry) }
        return rejected.map(\.source)
    }

    private func unique(_ sources: [Path]) -> [Path] {
        var seen: Set<Path> = []
        return sources.filter { seen.insert($0).inserted }
    }
}

/// A lock on a folder that one process at a time has; it ends with the process, however that ends. The corresponding C function is `flock`.
struct FolderLock: ~Copyable {
    /// -1 where its file system, or its being read-only, allows no lock: who cannot lock it goes on without one.
    private let file: Descriptor

    /// Takes the lock; nil where another process has it, or something else of this one.
    static func take(_ folder: String) -> FolderLock? {
        let file = Descriptor(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        if file.raw >= 0, !file.lock(), errno == EWOULDBLOCK { return nil }
        return FolderLock(file: file)
    }
}
