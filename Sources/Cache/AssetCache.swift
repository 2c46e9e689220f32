import Glibc
import KioskPlatform
import KioskVocabulary

/// Keeps files played over HTTP on the disk, and plays them from there, even without the network.
///
/// A thread of the lowest priority fetches the playlist's files one after the other. It asks the server now and then whether they have
/// changed (``CacheSchedule``, ``TransferPlan``). A file counts once it is complete and synced to the disk (``CacheStore``). New content
/// plays from the next opening on. To open an item, a reader calls ``file(for:)``, which waits only for the first look into the folder. If
/// kiosk cannot keep a file, it plays the file over the network, and reports that once. Reasons are a full or read-only disk, or a server
/// that does not send the length.
///
/// One process uses a folder at a time, by a lock (``FolderLock``). A second process plays over the network until the folder is free.
package final class AssetCache: Sendable {
    /// A line for the log.
    package enum News: Hashable, Sendable {
        case note(String)
        case problem(String)
    }

    /// The state of a source.
    package struct Item: Hashable, Sendable {
        package var source: String
        /// The length of the file in bytes; nil while it is unknown.
        package var size: Int64?
        /// The bytes on the disk.
        package var bytes: Int64
        /// Whether kiosk can play the source from the disk.
        package var isComplete: Bool
        /// Why the last fetch or check failed.
        package var problem: String?
    }

    struct State {
        var kept: [Path: CacheEntry] = [:]
        var isScanned = false
        /// The sources played since the thread last looked.
        var used: Set<Path> = []
        /// Entries that cannot be played.
        var rejected: [CacheEntry] = []
        var wanted: [Path] = []
        /// The progress of the current fetch.
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

    /// The interval of looks at the playlist.
    private static let interval = MediaTime.seconds(1)
    /// How long ``file(for:)`` waits for the first look into the folder.
    private static let scanLimit = MediaTime.seconds(2)
    /// How long to wait for another process's folder without a report: an ending process releases it.
    private static let lockLimit = MediaTime.milliseconds(1500)
    private static let lockInterval = MediaTime.milliseconds(100)

    /// A cache in `folder`, an absolute path, of at most `limit`; `tell` is called on the thread `cache`.
    package init(folder: String, limit: ByteCount, tell: @escaping @Sendable (News) -> Void) {
        (self.folder, self.limit, self.tell) = (folder, limit, tell)
        store = CacheStore(folder: folder)
    }

    /// The default folder: the service's own, else the user's (`XDG_CACHE_HOME` or `~/.cache`); nil if there is neither.
    package static var defaultFolder: String? {
        func folder(_ name: String) -> String? {
            environment(name).flatMap { $0.hasPrefix("/") ? String($0.prefix { $0 != ":" }) : nil }
        }
        if let state = folder("STATE_DIRECTORY") { return state + "/cache" }
        if let cache = folder("XDG_CACHE_HOME") { return cache + "/kiosk" }
        return folder("HOME").map { $0 + "/.cache/kiosk" }
    }

    /// Starts to fetch. `wanted` returns the items of the playlist, in order, on the thread `cache`. The first item of a source sets how it
    /// is fetched. Call once.
    package func start(wanted: @escaping @Sendable () -> [PlaylistItem]) {
        Thread("cache") { [self] in
            Thread.giveWay()
            run(wanted)
        }.detach()
    }

    /// Stops fetching. A running request ends within about a second, and resumes at the next start.
    package func stop() { state.signal { $0.isStopping = true } }

    /// Returns whether a source can be kept.
    package static func mayKeep(_ source: String) -> Bool {
        let lower = source.lowercased()
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else { return false }
        let path = lower.prefix { $0 != "?" && $0 != "#" }
        return ![".m3u8", ".m3u", ".mpd", ".ism", ".sdp"].contains { path.hasSuffix($0) }
    }

    // MARK: Opening items

    /// Returns the kept file of a source; nil if there is none. From any thread.
    package func file(for source: String) -> String? {
        guard Self.mayKeep(source) else { return nil }
        let source = Path(source)
        _ = state.wait(until: .now + Self.scanLimit) { $0.isScanned || $0.isStopping ? true : nil }
        // This does not touch the disk, which may hang.
        return state.withLock { state in
            guard let entry = state.kept[source] else { return nil }
            state.used.insert(source)
            return store.contentPath(entry)
        }
    }

    /// Deletes the file that ``file(for:)`` returned for a source, because it cannot be played, and has the source fetched again. Newer
    /// content of the source, which has another file name, stays. From any thread.
    package func reject(_ source: String, at file: String) {
        let source = Path(source)
        state.signal { state in
            guard let entry = state.kept[source], store.contentPath(entry) == file else { return }
            state.kept[source] = nil
            state.rejected.append(entry)
        }
    }

    /// The sources in the cache or on the playlist, and their bytes in all.
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
            tell(.problem("the cache keeps no new files: \(Transfer.absence)"))
            _ = state.wait { $0.isStopping ? true : nil }
        }
    }

    /// Waits until no other process uses the folder; nil at the end.
    private func takeFolder() -> FolderLock? {
        // If this fails, the first fetch reports the reason.
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
            // A server that refused the former headers may accept these.
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

    /// Reads the folder for the first time.
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

    /// Stores the wanted sources, notes those used, and deletes unplayable files; returns their sources.
    private func settle(_ sources: [Path]) -> [Path] {
        let used = state.withLock { state in
            defer { (state.used, state.wanted) = ([], sources) }
            return state.used.compactMap { state.kept[$0] }
        }
        for entry in used {
            store.touch(CacheKey(entry.source))
            // The file has been truncated.
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

/// A lock on a folder for one process at a time. It ends with the process, however that ends. The corresponding C function is `flock`.
struct FolderLock: ~Copyable {
    /// -1 if the folder cannot be locked, as on some or read-only file systems: kiosk then continues without a lock.
    private let file: Descriptor

    /// Takes the lock; nil if another process has it, or another user in this one.
    static func take(_ folder: String) -> FolderLock? {
        let file = Descriptor(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        if file.raw >= 0, !file.lock(), errno == EWOULDBLOCK { return nil }
        return FolderLock(file: file)
    }
}
