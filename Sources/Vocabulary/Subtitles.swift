/// How subtitles look that are text, and how the text of files is read.
package struct SubtitleStyle: Hashable, Sendable {
    /// Families in the order in which they are wanted, with commas between them.
    package var font: String
    /// Height of a line, in per cent of the screen's.
    package var size: Double
    /// How far they stay from the edges of the screen, in per cent of it.
    package var safeArea: Int
    /// The character set of files beside the clip that are not in Unicode, as iconv(3) names it; nil is the one that goes with the language in their name.
    package var encoding: String?

    package init(font: String = "Inter, sans-serif", size: Double = 5.5, safeArea: Int = 5, encoding: String? = nil) {
        (self.font, self.size, self.safeArea, self.encoding) = (font, size, safeArea, encoding)
    }

    package static let sizes = 2.0...20.0
}

/// The screen as a viewer sees it, and where on it the picture is: what subtitles are drawn for.
package struct SubtitleScreen: Hashable, Sendable {
    package var size: PixelSize
    /// The part that the picture has.
    package var region: Region
    package var gravity: VideoGravity

    package init(size: PixelSize, region: Region = .full, gravity: VideoGravity = .resizeAspect) {
        (self.size, self.region, self.gravity) = (size, region, gravity)
    }
}
