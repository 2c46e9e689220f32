// swift-tools-version: 6.2
import PackageDescription

// One target a module; imports only point down this list (docs/architecture.md).
// Modules whose decisions are pure values are compiled with strict memory safety; the wrappers around C cannot be.
let upcoming: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
]
let pure: [SwiftSetting] = upcoming + [.strictMemorySafety()]
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let system: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")

let package = Package(
    name: "kiosk",
    products: [
        .executable(name: "kiosk", targets: ["kiosk"]),
        .executable(name: "kiosk-bench", targets: ["Bench"]),
        .executable(name: "kiosk-fuzz", targets: ["Fuzz"]),
        // For LD_PRELOAD in tests.
        .library(name: "FaultyFiles", type: .dynamic, targets: ["FaultyFiles"]),
        // For LD_PRELOAD, too.
        .library(name: "VADriver", type: .dynamic, targets: ["VADriver"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "kiosk",
            dependencies: [
                "Remote", "Doctor", "Controls", "Input", "Display", "Audio", "Content", "Configuration", "Playback", "Media", "Vocabulary",
                "Platform",
                "CPlatform",
                log,
                system,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: upcoming),
        .target(
            name: "Remote", dependencies: ["CPlatform", "Configuration", "Playback", "Vocabulary", "Platform", log], swiftSettings: upcoming
        ),
        .target(
            name: "Doctor", dependencies: ["CPlatform", "Audio", "Display", "Media", "Playback", "Vocabulary", "Platform"],
            swiftSettings: upcoming),
        .target(
            name: "Controls", dependencies: ["CCairo", "Input", "Playback", "Media", "Vocabulary", "Platform", log], swiftSettings: pure),
        .target(name: "Export", dependencies: ["CFFmpeg", "Configuration", "Media", "Vocabulary", "Platform"], swiftSettings: upcoming),
        .target(name: "Input", dependencies: ["CEvdev", "CInput", "Vocabulary", "Platform", log], swiftSettings: upcoming),
        .target(
            name: "Display", dependencies: ["CDisplay", "CDRM", "CFFmpeg", "Playback", "Media", "Vocabulary", "Platform", log],
            swiftSettings: upcoming),
        .target(
            name: "Audio", dependencies: ["CALSA", "CAudio", "Playback", "Media", "Vocabulary", "Platform", log],
            swiftSettings: upcoming),
        .target(name: "Playback", dependencies: ["Media", "Vocabulary", "Platform", log, deque], swiftSettings: pure),
        .target(name: "Media", dependencies: ["CFFmpeg", "CMedia", "Vocabulary", "Platform", log, deque], swiftSettings: upcoming),
        .target(name: "Content", dependencies: ["Configuration", "Vocabulary", "Platform"], swiftSettings: pure),
        .target(name: "Configuration", dependencies: ["CTOML", "Vocabulary", "Platform", system], swiftSettings: pure),
        .target(name: "Vocabulary", dependencies: ["Platform"], swiftSettings: pure),
        .target(name: "Platform", dependencies: ["CPlatform", "CUdev", log, system, deque], swiftSettings: upcoming),

        .target(name: "CPlatform", cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CMedia", dependencies: ["CFFmpeg"], cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CAudio", dependencies: ["CALSA"], cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CInput", dependencies: ["CEvdev"], cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CDisplay"),
        .target(name: "CTOML", cxxSettings: [.treatAllWarnings(as: .error)]),
        .systemLibrary(
            name: "CFFmpeg", pkgConfig: "libavformat libavcodec libswscale libswresample libavutil libva",
            providers: [
                .apt([
                    "libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev", "libavutil-dev", "libva-dev",
                ])
            ]),
        .systemLibrary(name: "CCairo", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
        .systemLibrary(name: "CDRM", pkgConfig: "libdrm", providers: [.apt(["libdrm-dev"])]),
        .systemLibrary(name: "CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(name: "CEvdev", pkgConfig: "libevdev", providers: [.apt(["libevdev-dev"])]),
        .systemLibrary(name: "CUdev", pkgConfig: "libudev", providers: [.apt(["libudev-dev"])]),

        // Runs the built binary as a user would; what it must print stands in Expected.
        .target(name: "FaultyFiles", path: "Tests/FaultyFiles", cSettings: [.treatAllWarnings(as: .error)]),
        // Decodes H.264 for tests: a driver of libva without a device.
        .target(name: "VADriver", dependencies: ["CFFmpeg"], path: "Tests/VADriver", cSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "KioskTests", dependencies: ["kiosk", "Platform", "TestSupport"], exclude: ["Expected"], swiftSettings: upcoming),
        .testTarget(
            name: "ConfigurationTests", dependencies: ["Configuration", "Vocabulary", "Platform", system],
            swiftSettings: upcoming),
        .testTarget(
            name: "ContentTests", dependencies: ["Content", "Configuration", "Vocabulary", "Platform", system], swiftSettings: upcoming),
        .testTarget(
            name: "AudioTests", dependencies: ["Audio", "CALSA", "Media", "Playback", "Vocabulary", "Platform"], swiftSettings: upcoming),
        .testTarget(
            name: "ExportTests", dependencies: ["Export", "CFFmpeg", "Media", "Platform", "TestSupport", "Vocabulary"],
            swiftSettings: upcoming),
        .testTarget(
            name: "InputTests", dependencies: ["Input", "CEvdev", "Configuration", "Vocabulary", "Platform"], swiftSettings: upcoming),
        .testTarget(
            name: "ControlsTests",
            dependencies: [
                "Controls", "CCairo", "Audio", "Display", "Input", "Media", "Playback", "Vocabulary", "Platform", "TestSupport",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "RemoteTests",
            dependencies: ["Remote", "Audio", "Display", "Playback", "Platform", "TestSupport", "Vocabulary"], swiftSettings: upcoming),
        .testTarget(
            name: "DoctorTests", dependencies: ["Doctor", "Media", "Platform", "TestSupport"], swiftSettings: upcoming),
        .testTarget(name: "PlatformTests", dependencies: ["Platform", "CTestSupport"], swiftSettings: upcoming),
        .testTarget(
            name: "MediaTests", dependencies: ["Media", "Platform", "CFFmpeg", "TestSupport", "VADriver", "Vocabulary"],
            swiftSettings: upcoming),
        .testTarget(
            name: "PlaybackTests",
            dependencies: ["Playback", "Audio", "Media", "Platform", "CFFmpeg", "TestSupport", deque, "Vocabulary"], swiftSettings: upcoming
        ),
        // Damaged files by the thousand: docs/testing.md.
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "Audio", "CFFmpeg", "Display", "Media", "Platform", "Playback", "Remote", log,
                .product(name: "ArgumentParser", package: "swift-argument-parser"), "Vocabulary",
            ],
            path: "Tests/Fuzz", swiftSettings: upcoming),
        .testTarget(name: "FuzzTests", dependencies: ["Fuzz", "TestSupport"], swiftSettings: upcoming),
        // The package on an emulated Debian machine: docs/testing-machine.md.
        .testTarget(
            name: "MachineTests", path: "Tests/Machine", exclude: ["build", "guest-setup", "boot", "install", "kiosk.conf"],
            swiftSettings: upcoming),
        // What ThreadSanitizer must be told of the standard library.
        .target(name: "CTestSupport", path: "Tests/CTestSupport", cSettings: [.treatAllWarnings(as: .error)]),
        // Clips and other material that several test targets use.
        .target(name: "TestSupport", dependencies: ["CFFmpeg", "Media", "Vocabulary"], path: "Tests/TestSupport", swiftSettings: upcoming),
        // The User Mode Linux bed, and the player judged on it; docs/testing-runs.md.
        .target(name: "Bed", path: "Tests/Bed", exclude: ["build", "guest", "kernel", "run"], swiftSettings: upcoming),
        .testTarget(name: "BedAnalysisTests", dependencies: ["Bed"], swiftSettings: upcoming),
        // kiosk and mpv measured on it, in turn; docs/testing-bench.md.
        .executableTarget(
            name: "Bench", dependencies: ["Bed", .product(name: "ArgumentParser", package: "swift-argument-parser")], path: "Tests/Bench",
            swiftSettings: upcoming),
        .testTarget(name: "BenchTests", dependencies: ["Bench", "Bed"], swiftSettings: upcoming),
        .testTarget(name: "BedTests", dependencies: ["Bed", "Controls", "Playback"], swiftSettings: upcoming),
        .testTarget(
            name: "DisplayTests",
            dependencies: ["Display", "CDRM", "CFFmpeg", "CDisplay", "CTestSupport", "Playback", "Media", "Vocabulary", "Platform"],
            swiftSettings: upcoming),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
