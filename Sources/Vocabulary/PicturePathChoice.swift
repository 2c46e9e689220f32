/// `[display] picture-path`: the ways of a picture to the screen that may be taken, the named one and those below it.
package enum PicturePathChoice: String, Sendable, CaseIterable {
    /// All of them; on a driver whose planes the processor composes, conversion alone.
    case automatic = "auto"
    /// A hardware decoder's memory on a plane.
    case dmabuf
    /// Drawn by a software decoder into a plane's memory.
    case direct
    /// What a decoder has drawn, copied into a plane's memory.
    case copy
    /// Scaled in software, for a plane that cannot.
    case scale
    /// Scaled and converted in software.
    case convert
}
