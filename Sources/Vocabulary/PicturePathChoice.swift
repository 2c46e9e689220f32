/// `[display] picture-path`: the allowed ways of a picture to the screen, the named one and those below it.
package enum PicturePathChoice: String, Sendable, CaseIterable {
    /// All of them; only conversion on a driver that composes planes with the processor.
    case automatic = "auto"
    /// A hardware decoder's memory on a plane.
    case dmabuf
    /// A software decoder draws into a plane's memory.
    case direct
    /// The decoded picture is copied into a plane's memory.
    case copy
    /// Scaled in software, for a plane that cannot scale.
    case scale
    /// Scaled and converted in software.
    case convert
}
