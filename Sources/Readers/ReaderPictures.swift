import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

// Small pictures by a reader: the same as Thumbnail.make and PreviewReader make, of files that nobody here looks at.

/// How long a reader may take to open a file and make one small picture of it: each step has its own limit there, this is one for all.
private let openingLimit = openingTimeLimit * 3
/// The same for a further picture of an open file.
private let pictureLimit = MediaTime.seconds(10)

extension Thumbnail {
    /// Has a reader make the thumbnail of a file, only when nothing else wants the processor: what it waits for that is not counted. What is wrong
    /// with the file is in the facts. nil where `interruption` was cancelled. Blocks for as long as that takes.
    package static func read(
        of source: String, fitting width: Int, _ height: Int, by readers: Readers = .shared, interruption: Interruption = Interruption()
    ) -> Thumbnail? {
        read(of: source, fitting: width, height, by: readers, within: openingLimit, interruption: interruption)
    }

    /// The same, with another time limit for all of it.
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

/// A file of which a reader makes small pictures, as ``PreviewReader`` does. One thread at a time has it.
package struct PreviewSession: ~Copyable, Sendable {
    private let session: ReaderSession
    private let most: PixelSize

    /// Has a reader open a file for pictures that fit into `width` x `height` pixels; it gives way to everything else. Blocks for as long as that takes.
    ///
    /// - Returns: nil where there are no previews.
    /// - Throws: ``MediaError`` with what is wrong with the file.
    package static func open(
        _ source: String, fitting width: Int, _ height: Int, by readers: Readers = .shared, interruption: Interruption = Interruption()
    ) throws(MediaError) -> PreviewSession? {
        if isURL(source) { return nil }
        let most = PixelSize(width: width, height: height)
        let session = try ReaderSession(OpenOrder(.previews(most), source), priority: .givesWay, by: readers, interruption)
        guard case (.previews(true), _) = try session.answer(within: openingLimit) else { return nil }
        return PreviewSession(session: session, most: most)
    }

    /// The key frame that is nearest to item time `time`; nil where none is found.
    ///
    /// - Throws: ``MediaError/Reason/cancelled``, or why there are no more.
    package mutating func preview(at time: MediaTime) throws(MediaError) -> PreviewReader.Preview? {
        session.send(.preview(time))
        guard case (.preview(let found?), _) = try session.answer(within: pictureLimit) else { return nil }
        return PreviewReader.Preview(picture: try session.picture(found.size, fitting: most), time: found.time, span: found.span)
    }
}

extension MediaTime {
    /// Has a reader tell when each picture of a source is shown, from the first one on; nil where that cannot be told (``MediaReader/pictureTimes(isCancelled:)``).
    /// Blocks for as long as that takes, which may be that of reading the whole file; `isCancelled` ends it.
    ///
    /// - Throws: ``MediaError`` with what is wrong with the source.
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
    /// Has a reader read the cover of a source, giving way to everything else; nil where it has none. Blocks for as long as that takes.
    ///
    /// - Throws: ``MediaError`` with what is wrong with the source.
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
    /// For a source, which may name what one of its kind may.
    ///
    /// - Parameters:
    ///   - settings: how it is fetched, and what else it may name.
    ///   - isKept: whether it is a file with somebody else's bytes, which may be no list.
    package init(_ role: Role, _ source: String, _ settings: StreamSettings = StreamSettings(), isKept: Bool = false) {
        let source = withoutFileScheme(source)
        self.init(role, source, reach: SourceReach(source, settings, isKept: isKept), pictureMemory: MemoryLimit.ofItem)
        (self.settings, self.isKept) = (settings, isKept)
        // Nobody else is told what a server is told.
        if !needsNetwork { (self.settings.headers, self.settings.certificateAuthorities) = ([], nil) }
    }
}
