import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Reads subtitles that have a list of their own, as those of HLS do: libavformat leaves them out. A thread of its own fetches the list and its parts, by
/// libavio, as the source's own parts are: the same servers and files may be named (``SourceReach``), with the same settings.
///
/// On demand, parts are fetched 30 s ahead of the pictures, which are at another place after a seek. A live list is read again and again, and each new part
/// of it. It is no fault of the picture if one of them is missing: nobody waits for it, unless a film is made.
package final class SubtitleFeed: Sendable {
    private struct State {
        var subtitles = ListedSubtitles()
        var place: ListedSubtitles.Place?
        /// The item time at which the thread last looked for parts to fetch, and whether it is to look again.
        var looked = MediaTime(nanoseconds: .min)
        var isToLook = false
        /// Where decoding began, and the first picture from there: both may be on the screen already.
        var landing: MediaTime?
        var firstTime: MediaTime?
        var decoded = 0
        var problems: [String] = []
        var complaints = 0
        /// Whether the list cannot be read, and will not be.
        var hasFailed = false
        /// Whether somebody has waited in vain: nobody does again before something has come.
        var isLate = false
        var isStopping = false
    }

    /// What has come for pictures that may have been decoded before it did.
    package struct News: Sendable {
        package var cues: [SubtitleCue]
        /// What is seen at `at` is to be told once more, as seen from `from` on.
        package var again: (at: MediaTime, from: MediaTime)?
        /// The picture that has been decoded last.
        package var newest: MediaTime?
    }

    private let subtitles: HLSVariants.Subtitles
    private let state = Monitor(State())
    private let interruption = Interruption()
    private let deliver: @Sendable (News) -> Void

    /// So many pictures are decoded before they are shown, at most.
    private static let mostAhead = 16
    private static let longestTitle = 60

    init(_ subtitles: HLSVariants.Subtitles, of format: FormatContext, deliver: @escaping @Sendable (News) -> Void) {
        (self.subtitles, self.deliver) = (subtitles, deliver)
        let fetcher = PartFetcher(format.input.another(interruption), interruption, timeout: format.settings.timeout)
        Thread("listed") { [self] in run(fetcher) }.detach()
    }

    /// Nothing is delivered any more once this returns.
    package func stop() {
        interruption.cancel()
        state.signal { $0.isStopping = true }
    }

    // MARK: What is decoded

    /// A picture of an item time has been decoded, at which the stream's clock shows so many ticks (of 90 kHz). Cues that are due then are delivered before this
    /// returns; it waits for them, so long at most.
    package func decoded(_ time: MediaTime, ticks: Int64, atMost limit: MediaTime = .zero, whileWaiting: () -> Void = {}) {
        let place = ListedSubtitles.Place(time: time, ticks: StreamTicks(ticks))
        if limit > .zero {
            state.signal { $0.place = place }
            wait(for: time, atMost: limit, whileWaiting)
        }
        // The thread is not woken for each picture.
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

    /// What comes next is of another item time; what has been delivered is forgotten. What is due there, and is there, has been delivered when this returns.
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

    /// Waits until all is there that belongs to an item time, so long at most; calls `whileWaiting` every fifth of a second.
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

    /// What has gone wrong since this was last asked, in words.
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
            // Its time has come.
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

    /// Reads the list; when it is to be read again, nil for never.
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

    /// Reads a part. Returns false where it is to be tried again.
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
                // Nobody speaks there.
                if case .hasNoMedia = error.reason {} else { throw error }
            }
            take(part) { state in
                // Without a map the times are those of the stream's clock (RFC 8216, 3.5), as nobody means it on demand.
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

    /// Takes what has become of a part, and delivers what is due of it.
    private func take(_ part: HLSSubtitleList.Part, _ change: (inout State) -> Void) {
        state.signal { state in
            change(&state)
            state.isLate = false
            // Another track may be drawn by now.
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

    /// A hostile list has as many reasons to complain as it likes.
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

/// Fetches files that a source names, each as a whole. One thread's.
private final class PartFetcher: @unchecked Sendable {
    // Sendable because it belongs to one thread once that has been started.
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let input: FileInput
    private let interruption: Interruption
    private let timeout: MediaTime

    init(_ input: FileInput, _ interruption: Interruption, timeout: MediaTime) {
        (self.input, self.interruption, self.timeout) = (input, interruption, timeout)
        context = avformat_alloc_context()
        context.pointee.interrupt_callback = interruption.callback
        context.pointee.protocol_whitelist = av_strdup(input.protocols)
        // libavformat compares it with what is opened.
        context.pointee.url = av_strdup("")
        input.attach(to: context)
        // A live list may have no parts yet.
        input.isOpening = false
    }

    deinit { avformat_free_context(context) }

    /// The bytes of a file, or some of them. Blocks, as long as a source may be read.
    ///
    /// - Throws: ``MediaError`` where it cannot be had, or is too long.
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
    /// The tracks of subtitles that have lists of their own.
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
    /// Numbers of tracks in lists of their own are higher than those of any in a container.
    static let firstListed = 1 << 18

    /// Reads the track of subtitles with this ``AssetTrack/id``, where that has a list of its own; nil of any other. Its cues are delivered in item time, on any
    /// thread.
    package func feed(_ id: Int, deliver: @escaping @Sendable (SubtitleFeed.News) -> Void) -> SubtitleFeed? {
        let format = demuxer.source.format
        guard id >= Self.firstListed, id - Self.firstListed < format.input.subtitles.count else { return nil }
        return SubtitleFeed(format.input.subtitles[id - Self.firstListed], of: format, deliver: deliver)
    }

    /// What the clock of a transport stream shows at an item time: in ticks of 90 kHz, before they begin anew.
    package func streamTicks(at time: MediaTime) -> Int64 { StreamTicks(origin + time - demuxer.pictureOffset).value }
}
