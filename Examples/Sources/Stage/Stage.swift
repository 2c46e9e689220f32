public import Foundation
public import KioskAVFoundation
public import KioskInput

/// The place where a tutorial plays: the first display and its sound card. With `--offscreen` it is memory, without sound or devices, and the
/// tutorial itself makes the touches of a visitor.
public struct Stage: Sendable {
    /// The files of the command line.
    public let files: [URL]
    /// Whether the stage is memory.
    public let isOffscreen: Bool
    /// Touch screens, mice, and keyboards with these keys; nil offscreen.
    public let input: InputDevices?

    /// Sets the main outputs. Ends the program with 64 if there are fewer files than `count`.
    public init(usage: String, count: Int, keys: [String] = []) throws {
        var arguments = CommandLine.arguments.dropFirst()
        isOffscreen = arguments.first == "--offscreen"
        if isOffscreen {
            arguments.removeFirst()
            (VideoOutput.main, AudioOutput.main) = (.offscreen(width: 640, height: 360), .silent())
        }
        guard arguments.count >= count else {
            print("usage: \(usage)")
            exit(64)
        }
        files = arguments.map { URL(fileURLWithPath: $0) }
        input = isOffscreen ? nil : try InputDevices(keys: keys, display: .main)
    }

    /// Waits until a condition holds. After a minute, ends the program with 1.
    public func until(_ what: String, isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool) async {
        for _ in 0..<6000 {
            if condition() { return print(what) }
            try? await Task.sleep(for: .milliseconds(10))
        }
        print("not so after a minute: \(what)")
        exit(1)
    }

    /// Writes the screen to a PNG file, if the variable PICTURES names a folder.
    public func photograph(_ name: String) throws {
        guard let folder = ProcessInfo.processInfo.environment["PICTURES"] else { return }
        try Data(VideoOutput.main.png()).write(to: URL(fileURLWithPath: folder).appendingPathComponent(name + ".png"))
    }
}
