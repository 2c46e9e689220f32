import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

// Small pictures by a reader: the results of Thumbnail.make and PreviewReader, for files whose bytes this process never reads.

/// How long a reader may take to open a file and make one small picture. Each step has its own limit in the reader; this one is for all.
private let openingLimit = openingTimeLimit * 3
/// The same for a further picture of an open file.
private let pictureLimit = MediaTime.seconds(10)

extension Thumbnail {
    /// Has a reader make the thumbnail of a file, only when the processor is idle; waiting for the processor does not count. The facts
    /// include the fault of a file. nil if `interruption` was cancelled. Blocks until then.
    package static func read(
        of source: String, fitting width: Int, _ height: Int, by readers: Readers = .shared, interruption: Interruption = Interruption()
    ) -> Thumbnail? {
        read(of: source, fitting: width, height, by: readers, within: openingLimit, interruption: interruption)
    }

    /// The same with another time limit in all.
    static func read(
        of source: String, fitting width: Int, _ height: Int, by readers: Readers, within limit: MediaTime,
        interruption: Interruption = Interruption()
    ) -> Thumbnail? {
        let most = PixelSize(width: width, height: height)
        do throws(MediaError) {
            let session = try ReaderSession(OpenOrder(.thumbnail(most), source), priority: .runsWhenIdle, by: readers, interruption)
            guard case (.thumbnail(let facts, let size), _) = try session.answer(within: limit) else { return nil }
            var picture: SmallPicture?
            if let size { picture = try session.picture(size, fitting: most) }
            return Thumbnail(picture: picture, facts: facts)
        } catch {
            if interruption.cancelled { return nil }
            var facts = ClipFacts()
            facts.problem = error.reason.text
            return Thumbnail(picture: nil, facts: facts)
        }
    }
}

/// A file from which a reader makes small pictures, like ``PreviewReader``. One thread at a time has it.
package struct PreviewSession: ~Copyable, Sendable {
    private let session: ReaderSession
    private let most: PixelSize

    /// Has a reader open a file for pictures that fit into `width` x `height` pixels, at low priority. Blocks until then.
    ///
    /// - Returns: nil if there are no previews.
    /// - Throws: ``MediaError`` with the fault of the file.
    package static func open(
        _ source: String, fitting width: Int, _ height: Int, by readers: Readers = .shared, interruption: Interruption = Interruption()
    ) throws(MediaError) -> PreviewSession? {
        if isURL(source) { return nil }
        let most = PixelSize(width: width, height: height)
        let session = try ReaderSession(OpenOrder(.previews(most), source), priority: .givesWay, by: readers, interruption)
        guard case (.previews(true), _) = try session.answer(within: openingLimit) else { return nil }
        return PreviewSession(session: session, most: most)
    }

    /// Returns the key frame nearest to item time `time`; nil if none is found.
    ///
    /// - Throws: ``MediaError/Reason/cancelled``, or the reason why there are no more.
    package mutating func preview(at time: MediaTime) throws(MediaError) -> PreviewReader.Preview? {
        session.send(.preview(time))
        guard case (.preview(let found?), _) = try session.answer(within: pictureLimit) else { return nil }
        return PreviewReader.Preview(picture: try session.picture(found.size, fitting: most), time: found.time, span: found.span)
    }
}

extension MediaTime {
    /// Has a reader list the time of each picture of a source, in order; nil if the times are unknown
    /// (``MediaReader/pictureTimes(isCancelled:)``). Blocks, perhaps for reading the whole file; `isCancelled` ends it.
    ///
    /// - Throws: ``MediaError`` with the fault of the source.
    package static func pictures(
        of source: String, deinterlacing: MediaReader.Deinterlacing, by readers: Readers, isCancelled: () -> Bool
    ) throws(MediaError) -> [MediaTime]? {
        var order = OpenOrder(.times, source)
        order.deinterlacing = deinterlacing
        let session = try ReaderSession(order, by: readers, Interruption())
        let limit = max(openingLimit, order.stepLimit)
        guard case (.times(let count?), _) = try session.answer(within: limit, anewWithProgress: true, isCancelled: isCancelled) else {
            return nil
        }
        return try session.times(count)
    }
}

extension AssetCover {
    /// Has a reader read the cover of a source, at low priority; nil if it has none. Blocks until then.
    ///
    /// - Throws: ``MediaError`` with the fault of the source.
    package static func read(
        of source: String, isKept: Bool, settings: StreamSettings, by readers: Readers, interruption: Interruption
    ) throws(MediaError) -> AssetCover? {
        let order = OpenOrder(.cover, source, settings, isKept: isKept)
        let session = try ReaderSession(order, priority: .givesWay, by: readers, interruption)
        guard case (.cover(let codec, let byteCount), _) = try session.answer(within: max(openingLimit, order.stepLimit)) else {
            return nil
        }
        return try session.cover(codec: codec, byteCount: byteCount)
    }
}

extension OpenOrder {
    /// Creates an order for a source, with the reach for a source of its kind.
    ///
    /// - Parameters:
    /// - settings: how to fetch it, and the other sources that it may name.
    /// - isKept: whether it is a file with a server's bytes, which may not be a list.
    package init(_ role: Role, _ source: String, _ settings: StreamSettings = StreamSettings(), isKept: Bool = false) {
        let source = withoutFileScheme(source)
        self.init(role, source, reach: SourceReach(source, settings, isKept: isKept), pictureMemory: MemoryLimit.ofItem)
        (self.settings, self.isKept) = (settings, isKept)
        // Headers and certificate authorities are only for readers with the network.
        if !needsNetwork { (self.settings.headers, self.settings.certificateAuthorities) = ([], nil) }
    }
}
