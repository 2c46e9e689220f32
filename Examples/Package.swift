// swift-tools-version: 6.2
import PackageDescription

// Each example is one short file. `make examples` builds them, and the bed runs them.
let products = ["KioskPlayer", "KioskDisplay", "KioskAudio", "KioskInput"].map { Target.Dependency.product(name: $0, package: "kiosk") }

let package = Package(
    name: "Examples",
    products: [
        .executable(name: "example-loop", targets: ["Loop"]),
        .executable(name: "example-picture-in-picture", targets: ["PictureInPicture"]),
        .executable(name: "example-exhibit", targets: ["Exhibit"]),
        .executable(name: "example-overlay", targets: ["CustomOverlay"]),
    ],
    dependencies: [.package(name: "kiosk", path: "..")],
    targets: [
        .executableTarget(name: "Loop", dependencies: products),
        .executableTarget(name: "PictureInPicture", dependencies: products),
        .executableTarget(name: "Exhibit", dependencies: products),
        .executableTarget(name: "CustomOverlay", dependencies: products),
    ],
    swiftLanguageModes: [.v6]
)
