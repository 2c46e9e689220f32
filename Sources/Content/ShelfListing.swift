import KioskConfiguration
import KioskPlatform
import KioskVocabulary

/// Keeps the entries of the shelf in step with its folders. Lists the folders with their subfolders, and again when the kernel reports
/// changes (``FolderWatch``).
///
/// Each folder of the configuration has a thread of its own (`shelf-folder`), so a disk or a server that hangs delays no other folder. On
/// file systems without complete reports, it lists the folder every ten seconds. A mount triggers a look for missing folders.
package final class ShelfListing: Sendable {
    private struct State {
        var folders: [Path] = []
        /// The files in each folder; nil before the first answer.
        var found: [Path: [ShelfEntry]] = [:]
        /// The watched folders of each folder.
        var watched: [Path: Set<Path>] = [:]
        /// The folders with changes.
        var changed: Set<Path> = []
        var running: Set<Path> = []
        var told: [ShelfEntry]?
        var isStopping = false
    }

    /// How long to wait after each listing, so that several changes need only one.
    private static let pause = MediaTime.milliseconds(500)
    private static let interval = MediaTime.seconds(10)
    /// The number of listings while new subfolders keep appearing; the next ``interval`` does the rest.
    private static let mostLooks = 10

    private let state = Monitor(State())
    private let watch = FolderWatch()
    private let tell: @Sendable ([ShelfEntry]) -> Void

    /// Calls `tell` with all entries, in the order of the folders and of the names in them, whenever they have changed. The calls come from
    /// any of its threads, one at a time.
    package init(_ tell: @escaping @Sendable ([ShelfEntry]) -> Void) {
        self.tell = tell
        watch.start { [state] changes in
            state.signal { state in
                for change in changes where change.kind != .written && change.kind != .touched {
                    let isAll = change.kind == .anything || change.kind == .mounts
                    for (folder, watched) in state.watched where isAll || watched.contains(change.folder) { state.changed.insert(folder) }
                }
            }
        }
    }

    /// Sets the folders to list (absolute paths).
    package func setFolders(_ folders: [String]) {
        let new = state.signal { state -> [Path] in
            state.folders = folders.map { Path($0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            for folder in state.found.keys where !state.folders.contains(folder) {
                (state.found[folder], state.watched[folder]) = (nil, nil)
            }
            let new = state.folders.filter { state.running.insert($0).inserted }
            return new
        }
        for folder in new { Thread("shelf-folder") { [self] in keep(folder) }.detach() }
        tellChange()
    }

    /// Stops. Does not wait for the threads: one of them may be blocked.
    package func stop() {
        state.signal { $0.isStopping = true }
        watch.stop()
    }

    private func isWanted(_ folder: Path) -> Bool { state.withLock { !$0.isStopping && $0.folders.contains(folder) } }

    private func keep(_ folder: Path) {
        while isWanted(folder) {
            state.withLock { _ = $0.changed.remove(folder) }
            let isPartial = list(folder)
            _ = state.wait(until: isPartial ? .now + Self.interval : nil) { state in
                state.isStopping || !state.folders.contains(folder) || state.changed.contains(folder) ? true : nil
            }
            _ = state.wait(until: .now + Self.pause) { $0.isStopping ? true : nil }
        }
        state.withLock { state in
            state.running.remove(folder)
            (state.found[folder], state.watched[folder]) = (nil, nil)
        }
    }

    /// Lists a folder. Returns whether the kernel reports only some of its changes.
    private func list(_ folder: Path) -> Bool {
        let source = PlaylistSource(folder.string + "/", relativeTo: "/")
        for _ in 0..<Self.mostLooks {
            let expansion = source.expand(isRecursive: true)
            let (watched, isPartial, isNew) = watch(expansion.folders.keys, of: folder)
            tell(expansion, of: folder, watched)
            // The kernel does not report changes from before the watch: only a look that adds no watch has seen everything.
            if !isNew { return isPartial }
        }
        return true
    }

    /// Watches the folders that an expansion of `folder` depends on, or the nearest existing folder above a missing one, where it will
    /// appear.
    ///
    /// - Returns: the watched folders, whether the kernel reports only some of the changes there, and whether a watch is new.
    private func watch(_ paths: some Sequence<Path>, of folder: Path) -> (watched: Set<Path>, isPartial: Bool, isNew: Bool) {
        var (watched, isPartial, isNew) = (Set<Path>(), false, false)
        func note(_ path: Path) {
            // Note the path before the watch, so that no change is lost and no other thread's `tell` drops the watch.
            state.withLock { state in if state.folders.contains(folder) { state.watched[folder, default: []].insert(path) } }
            watched.insert(path)
        }
        for path in paths {
            note(path)
            let answer = watch.watchNearest(path) { above, _ in note(above) }
            (isPartial, isNew) = (isPartial || answer.isPartial, isNew || answer.isNew)
        }
        return (watched, isPartial, isNew)
    }

    private func tell(_ expansion: SourceExpansion, of folder: Path, _ watched: Set<Path>) {
        let entries = expansion.sources.filter { $0.version != nil }.map { ShelfEntry(source: $0.source, version: $0.version) }
        state.withLock { state in
            guard state.folders.contains(folder) else { return }
            (state.found[folder], state.watched[folder]) = (entries, watched)
            watch.keep(state.watched.values.reduce(into: []) { $0.formUnion($1) })
        }
        tellChange()
    }

    /// Held from a look at what is new until it is told, so that news come in order. It counts the looks: ThreadSanitizer takes a state without
    /// a byte for the object's own.
    private let telling = Monitor(UInt(0))

    private func tellChange() {
        telling.withLock { count in
            count &+= 1
            let news = state.withLock { state -> [ShelfEntry]? in
                var seen: Set<Path> = []
                let all = state.folders.flatMap { state.found[$0] ?? [] }.filter { seen.insert($0.path).inserted }
                if all == state.told { return nil }
                state.told = all
                return all
            }
            if let news { tell(news) }
        }
    }
}
