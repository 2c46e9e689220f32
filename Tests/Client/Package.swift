// swift-tools-version: 6.2
import PackageDescription

// A sample application. It uses only the products, and has its own modules with names of its own choice.
let own = [
    "Media", "Display", "Audio", "Input", "Platform", "Playback", "Vocabulary", "Export", "Configuration", "Controls", "Capture", "Content",
]
let products = [
    "KioskPlayer", "KioskDisplay", "KioskAudio", "KioskInput", "KioskAVFoundation", "KioskExport", "KioskAVExport", "KioskCapture",
    "KioskShelf", "KioskControls",
].map {
    Target.Dependency.product(name: $0, package: "kiosk")
}

let package = Package(
    name: "Client",
    dependencies: [.package(name: "kiosk", path: "../..")],
    targets: [
        .executableTarget(name: "Client", dependencies: products + own.map { .target(name: $0) }),
        // For the bed, which has two displays.
        .executableTarget(name: "TwoDisplays", dependencies: Array(products.prefix(3))),
    ] + own.map { .target(name: $0) },
    swiftLanguageModes: [.v6]
)
