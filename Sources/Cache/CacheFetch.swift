import Glibc
import KioskPlatform
import KioskVocabulary

/// Updates one source: asks the server, and fetches the file if the kept one is not current. Belongs to the cache's thread.
final class CacheFetch {
    enum Result {
        case done
        /// The cache retries; later, if the reason is lasting.
        case failed(isLasting: Bool)
        /// The cache is stopping.
        case stopped
    }

    private let cache: AssetCache
    private let source: Path
    private let settings: StreamSettings
    private let wanted: Set<Path>
    private let key: CacheKey
    private var plan = TransferPlan()
    private var verdict: TransferPlan.Verdict?
    private var writer: PartWriter?
    private var error: CacheError?
    /// Why the server's file is not fetched, apart from failed calls.
    private var obstacle: String?

    /// Parts that this process has written: all of their bytes are in the file, though perhaps not on the disk.
    private static let ownParts = Monitor<Set<Path>>([])

    /// - Parameter settings: the settings of the request.
    init(_ cache: AssetCache, _ source: Path, _ settings: StreamSettings, wanted: Set<Path>) {
        (self.cache, self.source, self.settings, self.wanted, key) = (cache, source, settings, wanted, CacheKey(source))
    }

    func run() -> Result {
        let path = cache.store.partPath(key)
        plan.kept = cache.state.withLock { $0.kept[source] }
        if let part = cache.store.part(key, isSure: Self.ownParts.withLock { $0.contains(Path(path)) }) {
            if part.entry.source == source { (plan.part, plan.partBytes) = (part.entry, part.bytes) } else { cache.store.removePart(key) }
        }
        // A head request that shows new content needs a second request, and a void part needs one for the whole file.
        for _ in 0..<3 {
            let outcome = request()
            if isStopping { return end(.stopped) }
            switch verdict {
            case .unchanged: return succeed()
            case .refused(let reason, let isLasting): return fail(reason, isLasting: isLasting)
            case .restart:
                writer = nil
                cache.store.removePart(key)
                (plan.part, plan.partBytes) = (nil, 0)
            case .begin where plan.isHead: plan.kept = nil
            case .begin, .resume:
                if let error { return fail(error) }
                if let obstacle { return fail(obstacle, isLasting: true) }
                return finish(outcome)
            case nil: return fail(outcome.problem ?? "the server gives no answer", isLasting: false, hasAnswer: false)
            }
        }
        return fail("the server gives another content each time", isLasting: false)
    }

    private var isStopping: Bool { cache.state.withLock { $0.isStopping } }

    /// Makes the request of the plan.
    private func request() -> Transfer.Outcome {
        (verdict, error, obstacle) = (nil, nil, nil)
        writer = nil
        let isHead = plan.isHead
        let transfer = Transfer(url: source.string, headers: plan.headers, settings: settings, isHead: isHead)
        let outcome = transfer.run { head, bytes in
            self.take(bytes, of: head)
        } goesOn: {
            !self.isStopping
        }
        if verdict == nil, outcome.head.status != 0, outcome.problem == nil || isHead { verdict = plan.verdict(outcome.head) }
        return outcome
    }

    /// Takes bytes of the body; false cancels the request.
    private func take(_ bytes: UnsafeRawBufferPointer, of head: ResponseHead) -> Bool {
        if verdict == nil {
            verdict = plan.verdict(head)
            if case .begin = verdict, ResponseHead.isStreamList(bytes) {
                verdict = .refused("it is the list of a stream, which the cache does not keep", isLasting: true)
            }
            guard begin(head) else { return false }
        }
        guard writer != nil else { return false }
        do throws(CacheError) { try writer!.write(bytes) } catch {
            // The server sends more than it announced: its data cannot be trusted.
            if error.errno == EFBIG { verdict = .restart } else { self.error = error }
            return false
        }
        let (source, done, size) = (source, writer?.bytes ?? 0, writer?.entry.size ?? 0)
        cache.state.withLock { $0.fetching = (source, done, size) }
        return true
    }

    /// Makes room and opens the part; false if there is nothing to write.
    private func begin(_ head: ResponseHead) -> Bool {
        let entry: CacheEntry
        let behind: Int64
        switch verdict {
        case .resume: (entry, behind) = (plan.part!, plan.partBytes)
        case .begin(let size):
            (entry, behind) = (CacheEntry(source: source, file: newName(), size: size, validators: head.validators), 0)
        default: return false
        }
        do throws(CacheError) {
            try cache.store.make()
            guard try makeRoom(for: entry.size, behind: behind) else { return false }
            writer = try cache.store.writer(entry, behind: behind)
            let path = cache.store.partPath(key)
            Self.ownParts.withLock { _ = $0.insert(Path(path)) }
            return true
        } catch {
            self.error = error
            return false
        }
    }

    /// Returns a new name for content of this source, with the URL's extension, because some demuxers need it.
    private func newName() -> String {
        let path = source.string.prefix { $0 != "?" && $0 != "#" }
        let ending = path.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? ""
        let isPlain = 1...5 ~= ending.utf8.count && ending.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        let number = String(UInt32.random(in: 0 ... .max), radix: 16)
        return "\(key)-\(number)" + (isPlain ? ".\(ending.lowercased())" : "")
    }

    /// Evicts files for a file of `size` bytes; false if that makes too little room.
    private func makeRoom(for size: Int64, behind: Int64) throws(CacheError) -> Bool {
        let kept = cache.state.withLock { $0.kept }
        let store = cache.store
        var candidates = kept.values.filter { $0.source != source }.map {
            Eviction.Candidate(
                key: CacheKey($0.source), size: $0.size, used: store.used(CacheKey($0.source)), isWanted: wanted.contains($0.source))
        }
        let parts = store.parts().filter { $0.entry.source != source }
        candidates += parts.map {
            Eviction.Candidate(
                key: CacheKey($0.entry.source), size: $0.bytes, used: store.used(CacheKey($0.entry.source)),
                isWanted: wanted.contains($0.entry.source))
        }
        guard let leaving = Eviction.choose(among: candidates, need: size, limit: cache.limit.bytes) else {
            obstacle =
                "its \(ByteCount(size)) do not fit into the cache beside the others of the playlist: [playback] cache is \(cache.limit)"
            return false
        }
        evict(Set(leaving))
        let rest = candidates.filter { !leaving.contains($0.key) && !$0.isWanted }.sorted { ($0.used, $0.key) < ($1.used, $1.key) }
        for candidate in rest where store.room < size - behind { evict([candidate.key]) }
        guard store.room >= size - behind else { throw CacheError(action: "keep \(ByteCount(size)) in", path: store.folder, errno: ENOSPC) }
        return true
    }

    private func evict(_ keys: Set<CacheKey>) {
        if keys.isEmpty { return }
        let leaving = cache.state.withLock { state in
            let leaving = state.kept.values.filter { keys.contains(CacheKey($0.source)) }
            for entry in leaving { state.kept[entry.source] = nil }
            for source in state.parts.keys where keys.contains(CacheKey(source)) { state.parts[source] = nil }
            return leaving
        }
        for entry in leaving { cache.store.remove(entry) }
        for key in keys { cache.store.removePart(key) }
    }

    // MARK: The end

    /// Handles the end of the body, or its interruption.
    private func finish(_ outcome: Transfer.Outcome) -> Result {
        guard writer != nil else { return fail(outcome.problem ?? "the server sent nothing", isLasting: false) }
        do throws(CacheError) { try writer!.sync() } catch { return fail(error) }
        guard let part = writer?.entry, let bytes = writer?.bytes else { return end(.failed(isLasting: false)) }
        guard bytes == part.size else {
            let reason = "broke off after \(ByteCount(bytes)) of \(ByteCount(part.size)): \(outcome.problem ?? "the connection was closed")"
            return fail(reason, isLasting: false)
        }
        writer = nil
        do throws(CacheError) {
            let entry = try cache.store.commit(part)
            let former = cache.state.withLock { state in
                defer { (state.kept[source], state.parts[source]) = (entry, nil) }
                // Only the contents of rejected files are deleted, below: AssetCache.settle would delete the new entry as well.
                let rejected = state.rejected.filter { $0.source == source }
                state.rejected.removeAll { $0.source == source }
                return [state.kept[source]].compactMap { $0 } + rejected
            }
            // A player of the former file has it open, and continues.
            for former in former where former.file != entry.file { cache.store.removeContent(former) }
            let what = plan.kept == nil ? "is kept now" : "has changed, and is kept anew"
            cache.tell(.note("cache: \(source.string.withoutCredentials) (\(ByteCount(entry.size))) \(what)"))
        } catch { return fail(error) }
        return succeed()
    }

    private func succeed() -> Result {
        cache.state.withLock { $0.problems[source] = nil }
        return end(.done)
    }

    private func fail(_ error: CacheError) -> Result {
        // Frees the space of a part that cannot be completed.
        if error.isFull {
            writer = nil
            cache.store.removePart(key)
        }
        return fail(error.description, isLasting: true)
    }

    private func fail(_ reason: String, isLasting: Bool, hasAnswer: Bool = true) -> Result {
        let isNews = cache.state.withLock { state in
            defer { state.problems[source] = reason }
            return state.problems[source] == nil || isLasting && state.problems[source] != reason
        }
        let consequence =
            plan.kept != nil ? "kiosk plays the kept copy" : hasAnswer ? "kiosk plays it over the network" : "the cache does not keep it"
        if isNews { cache.tell(.problem("cache: \(source.string.withoutCredentials): \(reason); \(consequence)")) }
        return end(.failed(isLasting: isLasting))
    }

    private func end(_ result: Result) -> Result {
        if writer != nil { try? writer!.sync() }
        writer = nil
        let part = cache.store.part(key, isSure: true)
        cache.state.withLock { state in
            state.fetching = nil
            state.parts[source] = part.map { ($0.bytes, $0.entry.size) }
        }
        return result
    }
}
