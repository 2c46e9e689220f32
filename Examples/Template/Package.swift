// swift-tools-version: 6.2
import PackageDescription

// A template for your own sign: copy this folder and read its README.md.
let products = ["KioskPlayer", "KioskDisplay", "KioskAudio", "KioskInput"].map { Target.Dependency.product(name: $0, package: "kiosk") }

let package = Package(
    name: "sign",
    dependencies: [.package(name: "kiosk", path: "../..")],
    targets: [.executableTarget(name: "sign", dependencies: products)],
    swiftLanguageModes: [.v6]
)
