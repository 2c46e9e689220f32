import KioskVocabulary

/// The paths of a decoded picture to the screen, the cheapest first. docs/picture-paths.md has their costs.
enum PicturePath: String, CaseIterable {
    /// A hardware decoder's memory on a plane, as it is.
    case dmabuf
    /// A software decoder draws into a plane's memory (``PlanePool``); the plane scales and rotates.
    case direct
    /// Copied once into a plane's memory; the plane scales and rotates it.
    case copy
    /// Scaled in software into a plane's memory.
    case scale
    /// Scaled, rotated and converted in software, for the primary plane.
    case convert

    /// Returns the allowed paths, except `convert`, which always is. On vkms the processor composes the planes, which costs more than
    /// conversion.
    static func allowed(_ choice: PicturePathChoice, driver: String) -> [PicturePath] {
        let ways = allCases.dropLast()
        if choice == .automatic { return driver == "vkms" ? [] : Array(ways) }
        return Array(ways.drop { $0.rawValue != choice.rawValue })
    }

    /// Returns why ``allowed(_:driver:)`` is empty, for messages.
    static func reasonForNone(_ choice: PicturePathChoice, driver: String) -> String {
        choice == .convert ? "picture-path is convert" : "\(driver) has the processor compose its planes"
    }

    /// The processor's work.
    var work: String {
        switch self {
        case .dmabuf: "no pass in software"
        case .direct: "decoded into the plane's buffer"
        case .copy: "copied once"
        case .scale: "scaled in software"
        case .convert: "converted in software"
        }
    }
}
