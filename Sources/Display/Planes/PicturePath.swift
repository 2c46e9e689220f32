import KioskVocabulary

/// The ways of a decoded picture to the screen, that with the least work first. docs/picture-paths.md says what each costs.
enum PicturePath: String, CaseIterable {
    /// A hardware decoder's memory on a plane, as it is.
    case dmabuf
    /// Drawn by a software decoder into a plane's memory (``PlanePool``); the plane scales and rotates it.
    case direct
    /// Copied once into a plane's memory; the plane scales and rotates it.
    case copy
    /// Scaled in software into a plane's memory.
    case scale
    /// Scaled, rotated and converted in software, for the primary plane.
    case convert

    /// Those that may be taken, without the last, which always may. vkms has the processor compose its planes, at a greater cost than conversion.
    static func allowed(_ choice: PicturePathChoice, driver: String) -> [PicturePath] {
        let ways = allCases.dropLast()
        if choice == .automatic { return driver == "vkms" ? [] : Array(ways) }
        return Array(ways.drop { $0.rawValue != choice.rawValue })
    }

    /// Why ``allowed(_:driver:)`` has none, for messages.
    static func reasonForNone(_ choice: PicturePathChoice, driver: String) -> String {
        choice == .convert ? "picture-path is convert" : "\(driver) has the processor compose its planes"
    }

    /// What the processor does.
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
