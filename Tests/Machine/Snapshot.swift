import Foundation

/// A machine that has the package installed and has been booted to a moving picture, saved at that moment: its disk, and the state of the
/// running machine as QEMU migrates it. A test starts from there in about a second, on a disk image of its own that lies over the saved one.
///
/// Kept under the cache folder for as long as the package, the base image and what is in this folder stay as they are.
struct Snapshot {
    let adapter: Machine.Adapter
    private let base: String
    private let folder: String
    private var disk: String { "\(folder)/\(adapter.rawValue).qcow2" }
    private var state: String { "\(folder)/\(adapter.rawValue).state" }

    private static let virtioGPU = Result { try find(.virtioGPU) }
    private static let bochs = Result { try find(.bochs) }

    /// The one of `adapter`, made when there is none yet. Once it could not be made, this process does not try again.
    static func of(_ adapter: Machine.Adapter) throws -> Snapshot {
        switch adapter {
        case .virtioGPU: try virtioGPU.get()
        case .bochs: try bochs.get()
        }
    }

    private static func find(_ adapter: Machine.Adapter) throws -> Snapshot {
        let base = try Sources.base.get().get()
        let snapshot = Snapshot(adapter: adapter, base: base, folder: try Sources.snapshotFolder(base))
        if !FileManager.default.fileExists(atPath: snapshot.state) { try snapshot.make() }
        try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: snapshot.folder)
        return snapshot
    }

    /// A machine that goes on from here, with `folder` for its own.
    func resume(in folder: String) throws -> Machine {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let own = folder + "/disk.qcow2"
        try run("qemu-img", ["create", "-q", "-f", "qcow2", "-b", disk, "-F", "qcow2", own])
        let machine = try Machine(adapter, base: base, disk: own, folder: folder, options: ["-incoming", "exec:cat '\(state)'"])
        let end = Date() + 60
        while try machine.status() != "paused" {
            guard Date() < end else {
                machine.keepsFolder = true
                throw MachineError("resume \(state): QEMU is \(try machine.status())")
            }
            usleep(20_000)
        }
        try machine.qmp.execute("cont")
        return machine
    }

    /// Boots the machine that has the package, waits until all is well, and saves it.
    private func make() throws {
        let installed = folder + "/installed.qcow2"
        if !FileManager.default.fileExists(atPath: installed) { try install(installed) }
        let scratch = Sources.scratch("boot")
        let machine = try makeMachine(over: installed, "qcow2", in: scratch)
        do {
            try machine.waitForShell()
            try machine.waitForMovingPicture(within: 90)
            try machine.shell("systemctl is-system-running --wait", within: 90)
            // Both clips: all that is loaded when it is first used has been.
            for clip in [PlayOrder.stick, PlayOrder.disk] { try machine.wait(for: clip) }
            try machine.qmp.execute("stop")
            try machine.qmp.execute("migrate-set-parameters", ["max-bandwidth": 10_000_000_000])
            try machine.qmp.execute("migrate", ["uri": "exec:cat > '\(scratch)/state'"])
            try machine.waitForMigration()
        } catch {
            machine.gatherEvidence()
            throw MachineError("boot to a moving picture: \(error); see \(scratch)")
        }
        machine.cutPower()
        try FileManager.default.moveItem(atPath: scratch + "/disk.qcow2", toPath: disk)
        try FileManager.default.moveItem(atPath: scratch + "/state", toPath: state)
    }

    /// Installs the package in the booted machine as docs/install.md says, and switches it off.
    private func install(_ installed: String) throws {
        let scratch = Sources.scratch("install")
        let share = scratch + "/share"
        try FileManager.default.createDirectory(atPath: share, withIntermediateDirectories: true)
        for (file, name) in [
            (try Sources.package(), "kiosk.deb"), (base + "/one.mp4", "one.mp4"), (Sources.folder + "/install", "install"),
            (Sources.folder + "/kiosk.conf", "kiosk.conf"),
        ] { try FileManager.default.copyItem(atPath: file, toPath: share + "/" + name) }
        let machine = try makeMachine(
            over: base + "/root.ext4", "raw", in: scratch,
            ["-virtfs", "local,path=\(share),mount_tag=share,security_model=none,readonly=on"])
        do {
            try machine.waitForShell()
            try machine.shell("systemctl is-system-running --wait", within: 90)
            try machine.shell("mount -t 9p -o trans=virtio,ro share /mnt && sh /mnt/install", within: 180)
            try machine.shell("systemctl poweroff")
            try machine.waitForEnd()
        } catch {
            machine.gatherEvidence()
            throw MachineError("install the package: \(error); see \(scratch)")
        }
        try FileManager.default.moveItem(atPath: scratch + "/disk.qcow2", toPath: installed)
    }

    private func makeMachine(over image: String, _ format: String, in scratch: String, _ options: [String] = []) throws -> Machine {
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        try run("qemu-img", ["create", "-q", "-f", "qcow2", "-b", image, "-F", format, scratch + "/disk.qcow2"])
        return try Machine(adapter, base: base, disk: scratch + "/disk.qcow2", folder: scratch, options: options)
    }
}

extension Machine {
    /// `running`, `paused`, `inmigrate` …
    fileprivate func status() throws -> String {
        (try qmp.execute("query-status") as? [String: Any])?["status"] as? String ?? "unknown"
    }

    fileprivate func waitForMigration() throws {
        let end = Date() + 60
        while Date() < end {
            let status = (try qmp.execute("query-migrate") as? [String: Any])?["status"] as? String
            if status == "completed" { return }
            if status == "failed" { break }
            usleep(50_000)
        }
        throw MachineError("save the state: \(try qmp.execute("query-migrate"))")
    }
}

/// What the machine is made of: the scripts of this folder, the package, and the base image that a script makes.
enum Sources {
    /// `Tests/Machine`.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path

    /// Why there is no machine here, in a line.
    struct Unavailable: Error { let reason: String }

    /// The base image's folder, or why it cannot be on this machine; or the error of making it. Made at first use.
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

    /// Where the machine `name` of this process keeps what is its own. Sockets are among it, whose paths must be short.
    static func scratch(_ name: String) -> String { NSTemporaryDirectory() + "kiosk-machine-\(getpid())-\(name)" }

    /// `.build/kiosk_VERSION_amd64.deb`. Throws when there is none, or one that is older than what it is made of.
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
            guard try modified(root.path + "/Sources/" + file) <= made else { throw MachineError("\(packages[0]) is older than Sources/\(file): make deb") }
        }
        return package
    }

    private static func modified(_ path: String) throws -> Date {
        try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date ?? .distantPast
    }

    /// Where the snapshots of this package over this base lie.
    fileprivate static func snapshotFolder(_ base: String) throws -> String {
        let inputs = [try package()] + ["boot", "install", "kiosk.conf", "Snapshot.swift"].map { folder + "/" + $0 }
        let sums = try run("sha256sum", inputs).split(separator: "\n").map { $0.prefix(64) }.joined(separator: "\n") + base
        let key = base + "-" + String(try run("sh", ["-c", "printf %s \"$1\" | sha256sum", "sh", sums]).prefix(16))
        let path = key.replacingOccurrences(of: "/base-", with: "/snapshot-")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}

/// How a program ended that should have ended with 0.
struct ExitStatus: Error, CustomStringConvertible {
    let command: String
    let status: Int32
    let errors: String
    var description: String { "\(command): status \(status)\n\(errors)" }
}

/// Runs a program to its end; what it wrote to standard output. Its standard error goes to the file `errors`, and is kept when it fails.
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
