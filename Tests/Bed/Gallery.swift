import Foundation

/// The clips that Tests/Clips/make draws, in the folder that all tests share. A clip is drawn when it is first asked for.
public enum Gallery {
    /// A numbered clip such as "a": its numbers begin at `first`.
    public static func clip(_ name: String, frames: Int, from first: Int = 1, frameRate: Double) throws -> NumberedClip {
        NumberedClip(try path("\(name).mp4"), frames: frames, from: first, frameRate: frameRate)
    }

    /// The file called `name`.
    public static func path(_ name: String) throws -> String {
        let folder = try folder.get()
        let path = folder + "/" + name
        if !FileManager.default.fileExists(atPath: path) { _ = try make([folder, name]) }
        return path
    }

    private static let folder = Result { try make(["--folder"]).trimmingCharacters(in: .whitespacesAndNewlines) }

    private static func make(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Bed.package + "/Tests/Clips/make")
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BedError.failed("Tests/Clips/make \(arguments.joined(separator: " ")): status \(process.terminationStatus)")
        }
        return text
    }
}
