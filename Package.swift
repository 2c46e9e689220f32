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
        .executable(name: "kiosk-reader", targets: ["kiosk-reader"]),
        .executable(name: "kiosk-web", targets: ["kiosk-web"]),
        .library(name: "KioskPlayer", targets: ["KioskPlayer", "KioskPlayerErrors"]),
        .library(name: "KioskDisplay", targets: ["KioskDisplay"]),
        .library(name: "KioskAudio", targets: ["KioskAudio"]),
        .library(name: "KioskInput", targets: ["KioskInput", "KioskInputErrors"]),
        .library(name: "KioskExport", targets: ["KioskExport", "KioskExportErrors"]),
        .library(name: "KioskCapture", targets: ["KioskCapture", "KioskCaptureErrors"]),
        .library(name: "KioskShelf", targets: ["KioskShelf", "KioskShelfErrors"]),
        .library(name: "KioskControls", targets: ["KioskControls"]),
        .library(name: "KioskAVFoundation", targets: ["KioskAVFoundation"]),
        .library(name: "KioskAVExport", targets: ["KioskAVExport", "KioskExportErrors"]),
        .executable(name: "kiosk-bench", targets: ["Bench"]),
        .executable(name: "kiosk-fuzz", targets: ["Fuzz"]),
        .executable(name: "kiosk-tests", targets: ["TestRunner"]),
        // For LD_PRELOAD in tests.
        .library(name: "FaultyFiles", type: .dynamic, targets: ["FaultyFiles"]),
        // For LD_PRELOAD, too.
        .library(name: "HostileDecoder", type: .dynamic, targets: ["HostileDecoder"]),
        .library(name: "VADriver", type: .dynamic, targets: ["VADriver"]),
        .library(name: "V4L2Driver", type: .dynamic, targets: ["V4L2Driver"]),
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
                "RemoteClient", "Remote", "Doctor", "KioskCaptureCore", "KioskExportCore", "KioskControlsCore", "KioskInputCore",
                "KioskDisplayCore",
                "KioskAudioCore", "Cache",
                "KioskContent",
                "KioskCommands", "KioskConfiguration", "KioskSchedule",
                "KioskPlayback", "KioskReaderProtocol", "KioskReaders",
                "KioskMedia", "KioskVocabulary",
                "KioskPlatform",
                "CKioskPlatform",
                log,
                system,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: upcoming),
        // Reads media where there is nothing to lose: docs/architecture.md.
        .executableTarget(
            name: "kiosk-reader",
            dependencies: ["CReader", "CReaderMemory", "CSandbox", "KioskReaderServer", "CFFmpegLibraries", "CKioskPlatform"],
            swiftSettings: upcoming),
        // Page and API of a player, behind its control socket.
        .executableTarget(
            name: "kiosk-web",
            dependencies: [
                "KioskWeb", "Cache", "RemoteClient", "KioskConfiguration", "KioskCommands", "KioskVocabulary", "KioskPlatform",
                "CKioskPlatform", log,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: upcoming),
        .target(
            name: "KioskWeb",
            dependencies: [
                "CKioskCrypt", "CKioskTLS", "CKioskWebPage", "CKioskPlatform", "RemoteClient", "KioskConfiguration", "KioskSchedule",
                "KioskCommands",
                "KioskVocabulary", "KioskPlatform", log,
            ],
            path: "Sources/Web", exclude: ["Page"], swiftSettings: upcoming),
        // What applications have of the engine: docs are Sources/Library/Player/KioskPlayer.docc.
        .target(
            name: "KioskPlayer",
            dependencies: ["KioskPlayback", "KioskReaders", "KioskReaderProtocol", "KioskMedia", "KioskVocabulary", "KioskPlatform"],
            path: "Sources/Library/Player", swiftSettings: pure),
        .target(
            name: "KioskDisplay", dependencies: ["KioskPlayer", "KioskDisplayCore", "KioskVocabulary", "KioskPlatform"],
            path: "Sources/Library/Display", swiftSettings: pure),
        .target(
            name: "KioskAudio", dependencies: ["KioskPlayer", "KioskAudioCore", "KioskVocabulary"], path: "Sources/Library/Audio",
            swiftSettings: pure),
        .target(
            name: "KioskInput", dependencies: ["KioskPlayer", "KioskInputCore", "KioskPlayback", "KioskVocabulary", "KioskPlatform"],
            path: "Sources/Library/Input", swiftSettings: pure),
        .target(
            name: "KioskExport",
            dependencies: [
                "KioskPlayer", "KioskExportCore", "KioskConfiguration", "KioskReaders", "KioskMedia", "KioskVocabulary", "KioskPlatform",
            ],
            path: "Sources/Library/Export", swiftSettings: upcoming),
        .target(name: "KioskExportErrors", dependencies: ["KioskExport"], path: "Sources/Library/ExportErrors", swiftSettings: upcoming),
        .target(
            name: "KioskCapture",
            dependencies: [
                "KioskPlayer", "KioskCaptureCore", "KioskDisplayCore", "KioskPlayback", "KioskReaders", "KioskMedia", "KioskVocabulary",
                "KioskPlatform",
            ],
            path: "Sources/Library/Capture", swiftSettings: upcoming),
        .target(name: "KioskCaptureErrors", dependencies: ["KioskCapture"], path: "Sources/Library/CaptureErrors", swiftSettings: upcoming),
        .target(
            name: "KioskShelf",
            dependencies: [
                "KioskPlayer", "KioskInput", "KioskControlsCore", "KioskContent", "KioskInputCore", "KioskDisplayCore", "KioskPlayback",
                "KioskReaders", "KioskMedia", "KioskVocabulary", "KioskPlatform", log,
            ],
            path: "Sources/Library/Shelf", swiftSettings: upcoming),
        .target(name: "KioskShelfErrors", dependencies: ["KioskShelf"], path: "Sources/Library/ShelfErrors", swiftSettings: upcoming),
        .target(
            name: "KioskControls",
            dependencies: [
                "KioskPlayer", "KioskInput", "KioskControlsCore", "KioskInputCore", "KioskConfiguration", "KioskPlayback",
                "KioskVocabulary",
                "KioskPlatform",
            ],
            path: "Sources/Library/Controls", swiftSettings: pure),
        // Apple's names and forms for the libraries.
        .target(
            name: "KioskAVFoundation",
            dependencies: ["KioskPlayer", "KioskPlayerErrors", "KioskDisplay", "KioskAudio", "KioskCapture", "KioskCaptureErrors"],
            path: "Sources/Library/AVFoundation", swiftSettings: upcoming),
        // The same for films; not in the one above, because titles need cairo and pango.
        .target(
            name: "KioskAVExport", dependencies: ["KioskAVFoundation", "KioskExport", "KioskPlayer"], path: "Sources/Library/AVExport",
            swiftSettings: upcoming),
        // What the libraries' errors say to Foundation: in the products, and not in the command.
        .target(name: "KioskPlayerErrors", dependencies: ["KioskPlayer"], path: "Sources/Library/PlayerErrors", swiftSettings: upcoming),
        .target(name: "KioskInputErrors", dependencies: ["KioskInput"], path: "Sources/Library/InputErrors", swiftSettings: upcoming),
        .target(
            name: "Remote",
            dependencies: [
                "CKioskPlatform", "Cache", "RemoteClient", "KioskCommands", "KioskConfiguration", "KioskMedia", "KioskPlayback",
                "KioskReaders",
                "KioskVocabulary",
                "KioskPlatform", log,
            ],
            swiftSettings: upcoming
        ),
        // The client of the control socket, without the engine.
        .target(
            name: "RemoteClient", dependencies: ["CKioskPlatform", "KioskCommands", "KioskVocabulary", "KioskPlatform"],
            swiftSettings: upcoming),
        .target(
            name: "Doctor",
            dependencies: [
                "CKioskPlatform", "KioskAudioCore", "KioskDisplayCore", "KioskMedia", "KioskPlayback", "KioskReaders",
                "KioskReaderProtocol", "KioskVocabulary",
                "KioskPlatform",
            ],
            swiftSettings: upcoming),
        .target(
            name: "KioskControlsCore",
            dependencies: [
                "CKioskCairo", "CKioskQRCode", "KioskConfiguration", "KioskSchedule", "KioskCaptureCore", "KioskReaders", "KioskInputCore",
                "KioskDisplayCore",
                "KioskPlayback",
                "KioskMedia",
                "KioskVocabulary", "KioskPlatform", log,
            ],
            path: "Sources/Controls", swiftSettings: pure),
        .target(
            name: "KioskExportCore",
            dependencies: [
                "CKioskFFmpeg", "CKioskPlatform", "KioskControlsCore", "KioskDisplayCore", "KioskPlayback", "KioskReaders",
                "KioskReaderProtocol",
                "KioskConfiguration",
                "KioskMedia",
                "KioskVocabulary", "KioskPlatform",
            ],
            path: "Sources/Export", swiftSettings: upcoming),
        .target(
            name: "KioskCaptureCore",
            dependencies: [
                "CKioskCapture", "CKioskALSA", "CKioskFFmpeg", "CKioskPlatform", "KioskAudioCore", "KioskPlayback", "KioskReaders",
                "KioskMedia",
                "KioskVocabulary", "KioskPlatform", log,
            ],
            path: "Sources/Capture", swiftSettings: upcoming),
        .target(
            name: "KioskInputCore", dependencies: ["CKioskEvdev", "CKioskInput", "KioskVocabulary", "KioskPlatform", log],
            path: "Sources/Input", swiftSettings: upcoming),
        .target(
            name: "KioskDisplayCore",
            dependencies: [
                "CKioskDisplay", "CKioskDRM", "CKioskFFmpeg", "CKioskPlatform", "KioskPlayback", "KioskReaders", "KioskReaderProtocol",
                "KioskMedia", "KioskVocabulary",
                "KioskPlatform", log,
            ], path: "Sources/Display",
            swiftSettings: upcoming),
        .target(
            name: "KioskAudioCore",
            dependencies: ["CKioskALSA", "CKioskAudio", "KioskPlayback", "KioskMedia", "KioskVocabulary", "KioskPlatform", log],
            path: "Sources/Audio", swiftSettings: upcoming),
        .target(
            name: "KioskPlayback",
            dependencies: ["KioskReaders", "KioskReaderProtocol", "KioskMedia", "KioskVocabulary", "KioskPlatform", log, deque],
            path: "Sources/Playback", swiftSettings: pure),
        // The player's side of the processes that read, and theirs.
        .target(
            name: "KioskReaders",
            dependencies: [
                "CKioskFFmpeg", "CReader", "CSandbox", "CSubtitles", "CKioskPlatform", "KioskReaderServer", "KioskReaderProtocol",
                "KioskMedia",
                "KioskVocabulary", "KioskPlatform", log,
            ], path: "Sources/Readers", swiftSettings: upcoming),
        .target(
            name: "KioskReaderServer",
            dependencies: [
                "CKioskFFmpeg", "CSandbox", "CSubtitles", "CKioskPlatform", "KioskReaderProtocol", "KioskMedia", "KioskVocabulary",
                "KioskPlatform", log,
            ], path: "Sources/ReaderServer", swiftSettings: upcoming),
        // What a player and its reader say to each other.
        .target(
            name: "KioskReaderProtocol", dependencies: ["CKioskPlatform", "KioskMedia", "KioskVocabulary", "KioskPlatform"],
            path: "Sources/ReaderProtocol", swiftSettings: pure),
        .target(
            name: "KioskMedia",
            dependencies: ["CKioskFFmpeg", "CFFmpegStubs", "CKioskMedia", "KioskVocabulary", "KioskPlatform", log, deque],
            path: "Sources/Media", swiftSettings: upcoming),
        .target(name: "Cache", dependencies: ["CTransfer", "KioskVocabulary", "KioskPlatform"], swiftSettings: upcoming),
        .target(
            name: "KioskContent",
            dependencies: ["CKioskPlatform", "KioskConfiguration", "KioskSchedule", "KioskVocabulary", "KioskPlatform", log, system],
            path: "Sources/Content", swiftSettings: pure),
        .target(
            name: "KioskConfiguration",
            dependencies: ["CKioskTOML", "KioskCommands", "KioskSchedule", "KioskVocabulary", "KioskPlatform", system],
            path: "Sources/Configuration", swiftSettings: pure),
        // When: rules of days and hours, time zones, the sun.
        .target(name: "KioskSchedule", dependencies: ["KioskPlatform"], path: "Sources/Schedule", swiftSettings: pure),
        // The table of commands.
        .target(
            name: "KioskCommands", dependencies: ["KioskVocabulary", "KioskPlatform", log], path: "Sources/Commands", swiftSettings: pure),
        .target(name: "KioskVocabulary", dependencies: ["KioskPlatform"], path: "Sources/Vocabulary", swiftSettings: pure),
        .target(
            name: "KioskPlatform", dependencies: ["CKioskPlatform", "CKioskUdev", log, system, deque], path: "Sources/Platform",
            swiftSettings: upcoming),

        .target(name: "CKioskPlatform", path: "Sources/CPlatform", cSettings: [.treatAllWarnings(as: .error)]),
        // What stands in for functions of the C library in kiosk-reader only.
        .target(name: "CReaderMemory", dependencies: ["CKioskPlatform"], cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CReader", dependencies: ["CKioskPlatform", "CSandbox"], cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CKioskMedia", dependencies: ["CKioskFFmpeg"], path: "Sources/CMedia", cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CKioskAudio", dependencies: ["CKioskALSA"], path: "Sources/CAudio", cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CKioskInput", dependencies: ["CKioskEvdev"], path: "Sources/CInput", cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CKioskDisplay", path: "Sources/CDisplay"),
        .target(name: "CKioskCapture", path: "Sources/CCapture", cSettings: [.treatAllWarnings(as: .error)]),
        // What a process that reads media may do.
        .target(name: "CSandbox", cSettings: [.treatAllWarnings(as: .error)]),
        // libass and fontconfig, loaded when subtitles are wanted.
        .target(name: "CSubtitles", cSettings: [.treatAllWarnings(as: .error)]),
        // libqrencode, loaded when a QR code is wanted.
        .target(name: "CKioskQRCode", path: "Sources/CQRCode", cSettings: [.treatAllWarnings(as: .error)]),
        // The page of kiosk-web: files of Sources/Web/Page.
        .target(name: "CKioskWebPage", path: "Sources/CWebPage", cSettings: [.treatAllWarnings(as: .error)]),
        // OpenSSL, loaded when kiosk-web speaks HTTPS.
        .target(name: "CKioskTLS", path: "Sources/CTLS", cSettings: [.treatAllWarnings(as: .error)]),
        // crypt(3), for the password of kiosk-web.
        .target(
            name: "CKioskCrypt", path: "Sources/CCrypt", cSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("crypt")]),
        .target(name: "CTransfer", cSettings: [.treatAllWarnings(as: .error)]),
        .target(name: "CKioskTOML", path: "Sources/CTOML", cxxSettings: [.treatAllWarnings(as: .error)]),
        // libavformat and libavcodec, which are loaded when they are first called.
        .target(name: "CFFmpegStubs", dependencies: ["CKioskFFmpeg"], cSettings: [.treatAllWarnings(as: .error)]),
        .systemLibrary(
            name: "CFFmpegLibraries", pkgConfig: "libavformat libavcodec", providers: [.apt(["libavformat-dev", "libavcodec-dev"])]),
        .systemLibrary(
            name: "CKioskFFmpeg", path: "Sources/CFFmpeg", pkgConfig: "libswscale libswresample libavutil libva",
            providers: [
                .apt([
                    "libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev", "libavutil-dev", "libva-dev",
                ])
            ]),
        .systemLibrary(name: "CKioskCairo", path: "Sources/CCairo", pkgConfig: "cairo", providers: [.apt(["libpango1.0-dev"])]),
        .systemLibrary(name: "CKioskDRM", path: "Sources/CDRM", pkgConfig: "libdrm", providers: [.apt(["libdrm-dev"])]),
        .systemLibrary(name: "CKioskALSA", path: "Sources/CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(name: "CKioskEvdev", path: "Sources/CEvdev", pkgConfig: "libevdev", providers: [.apt(["libevdev-dev"])]),
        .systemLibrary(name: "CKioskUdev", path: "Sources/CUdev", pkgConfig: "libudev", providers: [.apt(["libudev-dev"])]),

        // Runs the built binary as a user would; what it must print stands in Expected.
        .target(name: "FaultyFiles", path: "Tests/FaultyFiles", cSettings: [.treatAllWarnings(as: .error)]),
        // A decoder that does what bugs let others do.
        .target(
            name: "HostileDecoder", dependencies: ["CKioskFFmpeg"], path: "Tests/HostileDecoder", cSettings: [.treatAllWarnings(as: .error)]
        ),
        // Decodes H.264 for tests: a driver of libva without a device.
        .target(
            name: "VADriver", dependencies: ["CKioskFFmpeg", "CFFmpegLibraries"], path: "Tests/VADriver",
            cSettings: [.treatAllWarnings(as: .error)]),
        // The same behind the system calls of V4L2.
        .target(
            name: "V4L2Driver", dependencies: ["CKioskFFmpeg", "CFFmpegLibraries"], path: "Tests/V4L2Driver",
            cSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "KioskTests", dependencies: ["kiosk", "KioskPlatform", "TestSupport", "CTestSupport"], exclude: ["Expected"],
            swiftSettings: upcoming),
        .testTarget(
            name: "ConfigurationTests",
            dependencies: [
                "KioskCommands", "KioskConfiguration", "KioskSchedule", "TestSupport", "KioskVocabulary", "KioskPlatform", system,
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "ScheduleTests", dependencies: ["KioskSchedule", "TestSupport", "KioskPlatform"], exclude: ["year.py"],
            swiftSettings: upcoming
        ),
        .testTarget(
            name: "CacheTests", dependencies: ["Cache", "TestSupport", "KioskVocabulary", "KioskPlatform"], swiftSettings: upcoming),
        .testTarget(
            name: "ContentTests",
            dependencies: [
                "KioskContent", "KioskConfiguration", "KioskSchedule", "TestSupport", "KioskVocabulary", "KioskPlatform", system,
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "AudioTests",
            dependencies: ["KioskAudioCore", "CKioskALSA", "KioskMedia", "KioskPlayback", "KioskVocabulary", "KioskPlatform"],
            swiftSettings: upcoming),
        .testTarget(
            name: "ExportTests",
            dependencies: [
                "KioskReaders",
                "KioskExportCore", "CKioskFFmpeg", "KioskConfiguration", "KioskControlsCore", "KioskAudioCore", "KioskDisplayCore",
                "KioskPlayback", "KioskMedia",
                "KioskPlatform", "TestSupport", "KioskVocabulary", "VADriver",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "CaptureTests",
            dependencies: [
                "KioskCaptureCore", "KioskReaders", "CKioskFFmpeg", "KioskConfiguration", "KioskMedia", "KioskPlayback", "KioskVocabulary",
                "KioskPlatform",
                "TestSupport", "VADriver",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "InputTests", dependencies: ["KioskInputCore", "CKioskEvdev", "KioskConfiguration", "KioskVocabulary", "KioskPlatform"],
            swiftSettings: upcoming),
        .testTarget(
            name: "ControlsTests",
            dependencies: [
                "KioskReaders",
                "KioskControlsCore", "CKioskCairo", "CKioskQRCode", "KioskConfiguration", "KioskSchedule", "KioskAudioCore",
                "KioskDisplayCore", "KioskInputCore",
                "KioskMedia", "KioskPlayback",
                "KioskVocabulary",
                "KioskPlatform", "TestSupport",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "RemoteTests",
            dependencies: [
                "KioskReaders",
                "RemoteClient", "Remote", "Cache", "KioskCommands", "KioskAudioCore", "KioskDisplayCore", "KioskPlayback", "KioskPlatform",
                "TestSupport", "KioskVocabulary",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "WebTests",
            dependencies: [
                "KioskWeb", "RemoteClient", "Remote", "KioskConfiguration", "KioskCommands", "KioskVocabulary", "KioskPlatform",
                "CKioskPlatform",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "DoctorTests", dependencies: ["Doctor", "KioskMedia", "KioskPlatform", "TestSupport"], swiftSettings: upcoming),
        .testTarget(name: "PlatformTests", dependencies: ["KioskPlatform", "CTestSupport"], swiftSettings: upcoming),
        .testTarget(name: "SandboxTests", dependencies: ["CSandbox", "CTestSupport", "TestSupport"], swiftSettings: upcoming),
        .testTarget(
            name: "MediaTests",
            dependencies: [
                "KioskMedia", "KioskReaders", "KioskPlatform", "CKioskFFmpeg", "TestSupport", "V4L2Driver", "VADriver", "KioskVocabulary",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "ReadersTests",
            dependencies: [
                "KioskReaders", "CSandbox", "KioskMedia", "KioskVocabulary", "KioskPlatform", "TestSupport", "CTestSupport", "kiosk-reader",
                "HostileDecoder", "VADriver",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "ReaderProtocolTests",
            dependencies: [
                "KioskReaderProtocol", "CKioskFFmpeg", "KioskMedia", "KioskVocabulary", "KioskPlatform", "TestSupport",
            ],
            swiftSettings: upcoming),
        .testTarget(
            name: "PlaybackTests",
            dependencies: [
                "KioskPlayback", "KioskAudioCore", "KioskReaders", "KioskMedia", "KioskPlatform", "CKioskFFmpeg", "TestSupport",
                "CTestSupport",
                deque, "KioskVocabulary", "kiosk-reader", "HostileDecoder",
            ], swiftSettings: upcoming
        ),
        // What applications see of the libraries; Tests/Client is one.
        .testTarget(
            name: "LibraryTests",
            dependencies: [
                "KioskAVFoundation", "KioskAVExport", "KioskCapture", "KioskCaptureCore", "KioskCaptureErrors", "KioskConfiguration",
                "KioskControls", "KioskControlsCore", "KioskDisplay", "KioskExport", "KioskExportErrors", "KioskInput", "KioskInputErrors",
                "KioskMedia", "KioskPlatform", "KioskPlayback", "KioskPlayer", "KioskPlayerErrors", "KioskReaders", "KioskShelf",
                "KioskShelfErrors", "KioskVocabulary", "CKioskCairo", "CKioskFFmpeg", "TestSupport",
            ],
            exclude: ["Expected"], swiftSettings: upcoming),
        // Damaged files by the thousand: docs/testing.md.
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "KioskAudioCore", "CKioskFFmpeg", "KioskDisplayCore", "KioskMedia", "KioskPlatform", "KioskPlayback", "KioskReaders",
                "KioskReaderProtocol", "KioskCommands", "Remote",
                log,
                .product(name: "ArgumentParser", package: "swift-argument-parser"), "KioskVocabulary",
            ],
            path: "Tests/Fuzz", swiftSettings: upcoming),
        .testTarget(name: "FuzzTests", dependencies: ["Fuzz", "TestSupport"], swiftSettings: upcoming),
        // What make test runs the tests with: docs/testing.md.
        .executableTarget(
            name: "TestRunner", dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")], path: "Tests/Runner",
            swiftSettings: upcoming),
        .testTarget(name: "RunnerTests", dependencies: ["TestRunner", "TestSupport"], swiftSettings: upcoming),
        // The package on an emulated Debian machine: docs/testing-machine.md.
        .testTarget(
            name: "MachineTests", dependencies: ["TestSupport"], path: "Tests/Machine",
            exclude: ["build", "guest-setup", "boot", "install", "kiosk.conf"],
            swiftSettings: upcoming),
        // What ThreadSanitizer must be told of the standard library, and children that try the sandbox.
        .target(
            name: "CTestSupport", dependencies: ["CSandbox"], path: "Tests/CTestSupport", cSettings: [.treatAllWarnings(as: .error)]),
        // Clips and other material that several test targets use.
        .target(
            name: "TestSupport",
            dependencies: ["CKioskFFmpeg", "CFFmpegLibraries", "KioskReaders", "KioskMedia", "KioskPlatform", "KioskVocabulary"],
            path: "Tests/TestSupport",
            swiftSettings: upcoming + [.unsafeFlags(["-O"])]),
        // The User Mode Linux bed, and the player judged on it; docs/testing-runs.md. Optimized in debug builds, too: half a run's time was its analysis.
        .target(
            name: "Bed", path: "Tests/Bed", exclude: ["build", "guest", "kernel", "run"], swiftSettings: upcoming + [.unsafeFlags(["-O"])]),
        .testTarget(name: "BedAnalysisTests", dependencies: ["Bed"], swiftSettings: upcoming),
        // kiosk and mpv measured on it, in turn; docs/testing-bench.md.
        .executableTarget(
            name: "Bench", dependencies: ["Bed", .product(name: "ArgumentParser", package: "swift-argument-parser")], path: "Tests/Bench",
            swiftSettings: upcoming),
        .testTarget(name: "BenchTests", dependencies: ["Bench", "Bed"], swiftSettings: upcoming),
        .testTarget(
            name: "BedTests", dependencies: ["Bed", "KioskControlsCore", "KioskPlayback", "KioskVocabulary", "TestSupport"],
            swiftSettings: upcoming),
        .testTarget(
            name: "DisplayTests",
            dependencies: [
                "KioskDisplayCore", "CKioskDRM", "CKioskFFmpeg", "CKioskDisplay", "CTestSupport", "KioskPlayback", "KioskMedia",
                "TestSupport",
                "KioskVocabulary", "KioskPlatform",
            ],
            swiftSettings: upcoming),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
