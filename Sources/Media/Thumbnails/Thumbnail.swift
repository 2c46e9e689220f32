import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// The facts that help a person choose a file.
package struct ClipFacts: Hashable, Sendable {
    /// The file's own title; nil if it has none.
    package var title: String?
    /// The length; nil for stills, or if the container has none.
    package var duration: MediaTime?
    /// Whether the upright picture is higher than wide.
    package var isPortrait = false
    package var hasSound = false
    /// The reason that the file cannot be played; nil if it can.
    package var problem: String?

    /// Creates empty facts.
    package init() {}
}

/// A file on a card of the shelf: a small picture, and its facts.
package struct Thumbnail: Hashable, Sendable {
    /// The picture, upright and in its own shape; nil for sound without a cover, and for unplayable files.
    package var picture: SmallPicture?
    package var facts: ClipFacts

    /// Creates a thumbnail from a picture and facts.
    package init(picture: SmallPicture?, facts: ClipFacts) { (self.picture, self.facts) = (picture, facts) }

    /// Makes the thumbnail of a file. Opens it and decodes a key frame a tenth into it, on the calling thread, as cheaply as
    /// ``PreviewReader``. The facts hold the file's fault. Returns nil if `interruption` was cancelled.
    package static func make(
        of source: String, fitting width: Int, _ height: Int, reach: SourceReach? = nil, interruption: Interruption = Interruption()
    ) -> Thumbnail? {
        var facts = ClipFacts()
        do throws(MediaError) {
            return try PreviewReader.thumbnail(of: source, fitting: width, height, reach, interruption)
        } catch {
            if interruption.cancelled { return nil }
            facts.problem = error.explained(interruption).reason.text
            return Thumbnail(picture: nil, facts: facts)
        }
    }
}

extension PreviewReader {
    /// The latest position of a thumbnail in a file.
    private static let latest = MediaTime.seconds(20)

    fileprivate static func thumbnail(
        of source: String, fitting width: Int, _ height: Int, _ reach: SourceReach?, _ interruption: Interruption
    ) throws(MediaError) -> Thumbnail {
        MemoryLimit.boundAllocations()
        let format = try FormatContext.open(source, reach: reach, interruption: interruption)
        let video = av_find_best_stream(format.raw, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        let audio = av_find_best_stream(format.raw, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)
        if video < 0, audio < 0 { throw MediaError(source, .nothingToPlay) }
        let description = AssetDescription(format, video: video, audio: audio)
        var facts = ClipFacts()
        (facts.title, facts.duration, facts.hasSound) = (description.title, description.duration, audio >= 0)
        guard video >= 0, let stream = format.raw.pointee.streams[Int(video)] else { return Thumbnail(picture: nil, facts: facts) }
        let isCover = shim_stream_is_attached_picture(stream) != 0
        if !isCover, let size = description.video?.presentationSize { facts.isPortrait = size.height > size.width }
        var reader: PreviewReader
        do throws(MediaError) {
            reader = try Self.reader(of: stream, in: format, named: source, width: width, height: height, interruption)
        } catch {
            // Sound plays even if its cover cannot be shown.
            if isCover { return Thumbnail(picture: nil, facts: facts) }
            throw error
        }
        guard let first = reader.decodeKeyFrame(within: openingTimeLimit) else {
            if interruption.cancelled { throw MediaError(source, .cancelled) }
            if isCover { return Thumbnail(picture: nil, facts: facts) }
            throw MediaError(source, .nothingDecodes)
        }
        var picture = first.frame.fitted(into: width, height)
        // The first picture is often black.
        if !isCover, !description.isStill, description.isSeekable, let duration = description.duration {
            reader.begin(at: first.time)
            if let later = try? reader.preview(at: min(duration.scaled(by: 0.1), Self.latest)) { picture = later.picture }
            if interruption.cancelled { throw MediaError(source, .cancelled) }
        }
        return Thumbnail(picture: picture, facts: facts)
    }
}
