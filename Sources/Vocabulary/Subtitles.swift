/// The style of subtitles that are text, and the encoding of their files.
package struct SubtitleStyle: Hashable, Sendable {
    /// Font families in order of preference, separated by commas.
    package var font: String
    /// Height of a line, in per cent of the screen's.
    package var size: Double
    /// Distance from the edges of the screen, in per cent of the screen.
    package var safeArea: Int
    /// The character set of files beside the clip that are not in Unicode, by iconv(3)'s name; nil is the usual one for the language in
    /// their name.
    package var encoding: String?

    package init(font: String = "Inter, sans-serif", size: Double = 5.5, safeArea: Int = 5, encoding: String? = nil) {
        (self.font, self.size, self.safeArea, self.encoding) = (font, size, safeArea, encoding)
    }

    package static let sizes = 2.0...20.0
}

/// The screen to draw subtitles for, as a viewer sees it, and the place of the picture.
package struct SubtitleScreen: Hashable, Sendable {
    package var size: PixelSize
    /// The part of the screen with the picture.
    package var region: Region
    package var gravity: VideoGravity

    package init(size: PixelSize, region: Region = .full, gravity: VideoGravity = .resizeAspect) {
        (self.size, self.region, self.gravity) = (size, region, gravity)
    }
}
