// swift-tools-version: 6.2
import PackageDescription

// Each example is one short file. `make library` builds them, and the bed runs the first four. A tutorial is a port of what is written about
// AVPlayer everywhere, with Apple's names; Tests/tutorials runs each in memory.
func products(_ names: [String]) -> [Target.Dependency] { names.map { .product(name: $0, package: "kiosk") } }
let player = products(["KioskPlayer", "KioskDisplay", "KioskAudio", "KioskInput"])
let examples: KeyValuePairs = ["Loop": "loop", "PictureInPicture": "picture-in-picture", "Exhibit": "exhibit", "CustomOverlay": "overlay"]
// The products that a tutorial needs besides Apple's names.
let tutorials: KeyValuePairs = [
    "Watch": ["KioskControls"], "Transport": ["KioskControls"], "Looper": ["KioskControls"], "Camera": [], "Merge": ["KioskAVExport"],
]

let package = Package(
    name: "Examples",
    products: examples.map { .executable(name: "example-\($0.value)", targets: [$0.key]) }
        + tutorials.map { .executable(name: "tutorial-\($0.key.lowercased())", targets: ["Tutorial\($0.key)"]) },
    dependencies: [.package(name: "kiosk", path: "..")],
    targets: examples.map { .executableTarget(name: $0.key, dependencies: player) }
        + tutorials.map { tutorial in
            .executableTarget(
                name: "Tutorial\(tutorial.key)",
                dependencies: ["Stage"] + products(["KioskAVFoundation", "KioskInput"] + tutorial.value))
        } + [.target(name: "Stage", dependencies: products(["KioskAVFoundation", "KioskInput"]))],
    swiftLanguageModes: [.v6]
)
