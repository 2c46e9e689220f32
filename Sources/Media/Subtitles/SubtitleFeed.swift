import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Reads subtitles in a list of their own, as in HLS; libavformat leaves them out. A separate thread fetches the list and its parts by
/// libavio, like the source's own parts. The same servers and files are allowed (``SourceReach``), with the same settings.
///
/// On demand, it fetches parts 30 s ahead of the pictures. After a seek, it continues at their new place. It reloads a live list and
/// fetches each new part. A missing part does not delay the pictures. Only an export waits for parts.
package final class SubtitleFeed: Sendable {
    private struct State {
        var subtitles = ListedSubtitles()
        var place: ListedSubtitles.Place?
        /// The item time at which the thread last looked for parts, and whether it must look again.
        var looked = MediaTime(nanoseconds: .min)
        var isToLook = false
        /// The start of decoding, and the first picture from there: both may already be on the screen.
        var landing: MediaTime?
        var firstTime: MediaTime?
        var decoded = 0
        var problems: [String] = []
        var complaints = 0
        /// Whether the list cannot be read, for good.
        var hasFailed = false
        /// Whether a wait has timed out. The next waits return at once until something arrives.
        var isLate = false
        var isStopping = false
    }

    /// Cues that may arrive after their pictures were decoded.
    package struct News: Sendable {
        package var cues: [SubtitleCue]
        /// The player must repeat the cues seen at `at`, as seen from `from` on.
        package var again: (at: MediaTime, from: MediaTime)?
        /// The last decoded picture.
        package var newest: MediaTime?
    }

    private let subtitles: HLSVariants.Subtitles
    private let state = Monitor(State())
    private let interruption = Interruption()
    private let deliver: @Sendable (News) -> Void

    /// The most pictures decoded ahead of the screen.
    private static let mostAhead = 16
    private static let longestTitle = 60

    init(_ subtitles: HLSVariants.Subtitles, of format: FormatContext, deliver: @escaping @Sendable (News) -> Void) {
        (self.subtitles, self.deliver) = (subtitles, deliver)
        let fetcher = PartFetcher(format.input.another(interruption), interruption, timeout: format.settings.timeout)
        Thread("listed") { [self] in run(fetcher) }.detach()
    }

    /// Stops the feed. It delivers nothing after this returns.
    package func stop() {
        interruption.cancel()
        state.signal { $0.isStopping = true }
    }

    // MARK: Decoded pictures

    /// Reports a decoded picture at an item time, with the stream's clock in ticks of 90 kHz. Delivers the cues due there before it
    /// returns. Waits for them up to `limit`.
    package func decoded(_ time: MediaTime, ticks: Int64, atMost limit: MediaTime = .zero, whileWaiting: () -> Void = {}) {
        let place = ListedSubtitles.Place(time: time, ticks: StreamTicks(ticks))
        if limit > .zero {
            state.signal { $0.place = place }
            wait(for: time, atMost: limit, whileWaiting)
        }
        // This wakes the thread only once a second, not for each picture.
        state.signal({ $0.isToLook ? .all : [] }) { state in
            state.place = place
            state.decoded += 1
            state.isToLook = time < state.looked || time >= state.looked + .seconds(1)
            if state.isToLook { state.looked = time }
            if state.firstTime == nil { (state.firstTime, state.landing) = (time, state.landing ?? time) }
            let cues = state.subtitles.due(at: place)
            if !cues.isEmpty { deliver(News(cues: cues)) }
        }
    }

    /// Continues at another item time and forgets the deliveries. Delivers the cues that are due there and have arrived before it returns.
    package func restart(at time: MediaTime, ticks: Int64) {
        state.signal { state in
            state.subtitles.restart()
            (state.landing, state.firstTime, state.decoded) = (time, nil, 0)
            let place = ListedSubtitles.Place(time: time, ticks: StreamTicks(ticks))
            state.place = place
            let cues = state.subtitles.due(at: place)
            if !cues.isEmpty { deliver(News(cues: cues)) }
        }
    }

    /// Waits until everything for an item time has arrived, up to `limit`; calls `whileWaiting` every fifth of a second.
    package func wait(for time: MediaTime, atMost limit: MediaTime, _ whileWaiting: () -> Void = {}) {
        let deadline = HostTime.now + limit
        while HostTime.now < deadline {
            let isThere = state.wait(until: min(deadline, .now + .milliseconds(200))) { state in
                state.isStopping || state.hasFailed || state.isLate || state.subtitles.isComplete(at: time) ? true : nil
            }
            if isThere == true { return }
            whileWaiting()
        }
        state.withLock { $0.isLate = true }
    }

    /// Returns the problems since the last call, as texts.
    package func takeProblems() -> [String] {
        state.withLock { state in
            defer { state.problems = [] }
            return state.problems
        }
    }

    // MARK: The thread

    private enum Job {
        case list, part(HLSSubtitleList.Part), stop
    }

    private func run(_ fetcher: PartFetcher) {
        var due: HostTime? = .now
        var failures = 0
        var attempts: [Int: Int] = [:]
        while true {
            let job = state.wait(until: due) { state -> Job? in
                if state.isStopping || state.hasFailed { return .stop }
                if let due, due <= .now { return .list }
                return state.subtitles.next(at: state.place?.time ?? .zero).map { .part($0) }
            }
            switch job {
            case .stop: return
            // The list is due.
            case nil, .list: due = readList(fetcher, &failures)
            case .part(let part):
                let attempt = (attempts.removeValue(forKey: part.number) ?? 0) + 1
                if read(part, fetcher, isLast: attempt >= Self.mostAttempts) { continue }
                attempts[part.number] = attempt
                _ = state.wait(until: .now + .seconds(1)) { $0.isStopping ? true : nil }
            }
        }
    }

    private static let mostAttempts = 3, mostComplaints = 10, longestPause = 60.0

    /// Reads the list. Returns the time of the next reading; nil for never.
    private func readList(_ fetcher: PartFetcher, _ failures: inout Int) -> HostTime? {
        do throws(MediaError) {
            let bytes = try fetcher.bytes(of: subtitles.address, atMost: HLSVariants.longestList)
            guard let list = HLSSubtitleList(String(decoding: bytes, as: UTF8.self)),
                list.fault != nil || !list.parts.isEmpty || !list.hasEnded
            else { throw MediaError(subtitles.address, .damaged("its list names no parts")) }
            if let fault = list.fault {
                state.signal { state in
                    state.problems.append("plays without its subtitles “\(name)”: they \(fault.rawValue)")
                    state.hasFailed = true
                }
                return nil
            }
            failures = 0
            state.signal { $0.subtitles.take(list) }
            return list.hasEnded ? nil : .now + list.targetDuration
        } catch {
            failures += 1
            if failures == 3 { complain("cannot read the list of its subtitles “\(name)”: \(error.reason.text); kiosk goes on trying") }
            return .now + .seconds(min(Self.longestPause, Double(1 << min(failures, 10))))
        }
    }

    /// Reads a part. Returns false if the caller should retry it.
    private func read(_ part: HLSSubtitleList.Part, _ fetcher: PartFetcher, isLast: Bool) -> Bool {
        do throws(MediaError) {
            let address = SourceReach.resolve(part.address, against: subtitles.address)
            let bytes = try fetcher.bytes(of: address, range: part.range, atMost: SubtitleFile.largest)
            guard WebVTTMap.begins(bytes) else { throw MediaError(address, .damaged("it is not WebVTT")) }
            let map = WebVTTMap(bytes)
            var cues: [SubtitleCue] = []
            do throws(MediaError) {
                cues = try SubtitleFile.read(bytes, name: "part.vtt", language: subtitles.language, encoding: nil).cues
            } catch {
                // The part has no cues.
                if case .hasNoMedia = error.reason {} else { throw error }
            }
            take(part) { state in
                // Without a map, times are on the stream's clock (RFC 8216, 3.5). On demand, no writer means it so.
                let zero = map?.zero ?? (state.subtitles.isLive ? StreamTicks(0) : nil)
                state.subtitles.add(cues, from: zero, of: part)
            }
            return true
        } catch {
            if !isLast, !interruption.cancelled { return false }
            complain("a part of its subtitles “\(name)” is missing: \(error.reason.text)")
            take(part) { $0.subtitles.leaveOut(part) }
            return true
        }
    }

    /// Changes the state for a part, and delivers its due cues.
    private func take(_ part: HLSSubtitleList.Part, _ change: (inout State) -> Void) {
        state.signal { state in
            change(&state)
            state.isLate = false
            // The player may draw another track by now.
            guard !state.isStopping, let place = state.place else { return }
            let cues = state.subtitles.due(at: place)
            if cues.isEmpty { return }
            var news = News(cues: cues)
            if let landing = state.landing, state.decoded <= Self.mostAhead, cues.contains(where: { $0.isSeen(at: landing) }) {
                news.again = (landing, min(state.firstTime ?? .zero, landing))
                news.newest = place.time > landing ? place.time : nil
            }
            deliver(news)
        }
    }

    /// Adds a problem, up to ``mostComplaints``: a hostile list can cause any number.
    private func complain(_ problem: String) {
        state.withLock { state in
            state.complaints += 1
            if state.complaints <= Self.mostComplaints { state.problems.append(problem) }
        }
    }

    private var name: String {
        String((subtitles.name ?? subtitles.language?.description ?? subtitles.address).prefix(Self.longestTitle))
    }
}

/// Fetches files that a source names, each as a whole. One thread owns it.
private final class PartFetcher: @unchecked Sendable {
    // Sendable because it belongs to one thread once that has started.
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let input: FileInput
    private let interruption: Interruption
    private let timeout: MediaTime

    init(_ input: FileInput, _ interruption: Interruption, timeout: MediaTime) {
        (self.input, self.interruption, self.timeout) = (input, interruption, timeout)
        context = avformat_alloc_context()
        context.pointee.interrupt_callback = interruption.callback
        context.pointee.protocol_whitelist = av_strdup(input.protocols)
        // libavformat compares it with the address that it opens.
        context.pointee.url = av_strdup("")
        input.attach(to: context)
        // A live list may have no parts yet.
        input.isOpening = false
    }

    deinit { avformat_free_context(context) }

    /// Returns the bytes of a file, or a range of them. Blocks for at most the time limit of the source.
    ///
    /// - Throws: ``MediaError`` if the file cannot be read, or is too long.
    func bytes(of address: String, range: Range<Int64>? = nil, atMost most: Int) throws(MediaError) -> [UInt8] {
        interruption.allow(timeout)
        let isFile = !isURL(address)
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        if let range, !isFile {
            av_dict_set(&options, "offset", "\(range.lowerBound)", 0)
            av_dict_set(&options, "end_offset", "\(range.upperBound)", 0)
        }
        var io: UnsafeMutablePointer<AVIOContext>?
        let status = context.pointee.io_open(
            context, &io, isFile && !address.hasPrefix("file:") ? "file:" + address : address, AVIO_FLAG_READ, &options)
        guard status >= 0, let io else {
            if status == shim_averror(EACCES), let refusal = input.refusal { throw MediaError(address, refusal) }
            throw MediaError(address, .failed("cannot be opened: " + averrorText(status)))
        }
        defer { _ = context.pointee.io_close2(context, io) }
        let count = range?.count ?? most
        if count > most { throw MediaError(address, .failed("is larger than \(most >> 20) MB")) }
        if isFile, let range { avio_seek(io, range.lowerBound, SEEK_SET) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        while bytes.count <= count, !interruption.isOver {
            let more = avio_read_partial(io, &buffer, Int32(buffer.count))
            if more <= 0 { break }
            bytes += buffer.prefix(Int(more))
        }
        if interruption.isOver { throw MediaError(address, .timedOut(seconds: timeout.seconds)) }
        if bytes.count > count {
            guard range != nil else { throw MediaError(address, .failed("is larger than \(most >> 20) MB")) }
            bytes.removeLast(bytes.count - count)
        }
        return bytes
    }
}

// MARK: As tracks

extension FormatContext {
    /// The subtitle tracks with lists of their own.
    func listedTracks(after count: Int) -> [AssetTrack] {
        input.subtitles.enumerated().map { index, subtitles in
            var track = AssetTrack(id: MediaReader.firstListed + index, kind: .subtitle, number: count + index + 1, codec: "webvtt")
            (track.language, track.title, track.isDefault) = (subtitles.language, subtitles.name, subtitles.isDefault)
            (track.isForced, track.isForHardOfHearing) = (subtitles.isForced, subtitles.isForHardOfHearing)
            return track
        }
    }
}

extension MediaReader {
    /// The first number of tracks with lists of their own; higher than any in a container.
    static let firstListed = 1 << 18

    /// Reads the subtitle track with this ``AssetTrack/id`` if it has a list of its own; returns nil otherwise. Delivers cues in item time,
    /// on any thread.
    package func feed(_ id: Int, deliver: @escaping @Sendable (SubtitleFeed.News) -> Void) -> SubtitleFeed? {
        let format = demuxer.source.format
        guard id >= Self.firstListed, id - Self.firstListed < format.input.subtitles.count else { return nil }
        return SubtitleFeed(format.input.subtitles[id - Self.firstListed], of: format, deliver: deliver)
    }

    /// Returns the clock of a transport stream at an item time, in ticks of 90 kHz modulo 2³³.
    package func streamTicks(at time: MediaTime) -> Int64 { StreamTicks(origin + time - demuxer.pictureOffset).value }
}
