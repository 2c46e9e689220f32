import Foundation

/// The machine's sources: the scripts of this folder, the package, and the base image that a script makes.
enum Sources {
    /// The path of `Tests/Machine`.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path

    /// The reason why this host cannot run the machine, in a line.
    struct Unavailable: Error { let reason: String }

    /// The base image's folder, or the reason why this host cannot have it, or the error of making it. Made on first use.
    static let base: Result<Result<String, Unavailable>, any Error> = Result {
        let errors = NSTemporaryDirectory() + "kiosk-machine-build-\(getpid()).log"
        do {
            let output = try run(folder + "/build", [try package()], errors: errors)
            try? FileManager.default.removeItem(atPath: errors)
            return .success(output.split(separator: "\n").last.map(String.init) ?? "")
        } catch let error as ExitStatus where error.status == 69 {
            return .failure(Unavailable(reason: error.errors.split(separator: "\n").last.map(String.init) ?? "no reason given"))
        }
    }

    /// Returns the folder of this process for the machine `name`. Its path is short, since it contains sockets.
    static func scratch(_ name: String) -> String { NSTemporaryDirectory() + "kiosk-machine-\(getpid())-\(name)" }

    /// Returns the path of `.build/kiosk_VERSION_amd64.deb`. Throws if there is none, or if it is older than a file of `Sources`.
    static func package() throws -> String {
        let root = URL(fileURLWithPath: folder).deletingLastPathComponent().deletingLastPathComponent()
        let packages = try FileManager.default.contentsOfDirectory(atPath: root.path + "/.build").filter {
            $0.hasPrefix("kiosk_") && $0.hasSuffix(".deb")
        }
        guard packages.count == 1 else { throw MachineError("\(packages.count) packages in .build: make deb") }
        let package = root.path + "/.build/" + packages[0]
        let made = try modified(package)
        let enumerator = FileManager.default.enumerator(atPath: root.path + "/Sources")
        while let file = enumerator?.nextObject() as? String {
            guard try modified(root.path + "/Sources/" + file) <= made else {
                throw MachineError("\(packages[0]) is older than Sources/\(file): make deb")
            }
        }
        return package
    }

    private static func modified(_ path: String) throws -> Date {
        try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date ?? .distantPast
    }

    /// Returns the folder for snapshots of this package over this base.
    static func snapshotFolder(_ base: String) throws -> String {
        let inputs = [try package()] + ["boot", "install", "kiosk.conf", "MachineSnapshot.swift"].map { folder + "/" + $0 }
        let sums = try run("sha256sum", inputs).split(separator: "\n").map { $0.prefix(64) }.joined(separator: "\n") + base
        let key = base + "-" + String(try run("sh", ["-c", "printf %s \"$1\" | sha256sum", "sh", sums]).prefix(16))
        let path = key.replacingOccurrences(of: "/base-", with: "/snapshot-")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// The failure of a program that should have exited with 0.
struct ExitStatus: Error, CustomStringConvertible {
    let command: String
    let status: Int32
    let errors: String
    var description: String { "\(command): status \(status)\n\(errors)" }
}

/// Runs a program to its end and returns its standard output. Its standard error goes to the file `errors`, and into the thrown error.
@discardableResult
func run(_ program: String, _ arguments: [String], errors: String? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let log = errors ?? NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    defer { if errors == nil { try? FileManager.default.removeItem(atPath: log) } }
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle(forWritingAtPath: log)
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw ExitStatus(command: ([program] + arguments).joined(separator: " "), status: process.terminationStatus, errors: text)
    }
    return String(decoding: bytes, as: UTF8.self)
}
