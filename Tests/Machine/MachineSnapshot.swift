import Foundation
import Glibc

/// A machine that has the package installed and has been booted to a moving picture, saved at that moment: its disk, and the state of the
/// running machine as QEMU migrates it. A test starts from there in about a second, on a disk image of its own that lies over the saved
/// one.
///
/// Kept under the cache folder for as long as the package, the base image and what is in this folder stay as they are.
struct MachineSnapshot {
    let adapter: Machine.Adapter
    private let base: String
    private let folder: String
    private var disk: String { "\(folder)/\(adapter.rawValue).qcow2" }
    private var state: String { "\(folder)/\(adapter.rawValue).state" }

    private static let virtioGPU = Result { try find(.virtioGPU) }
    private static let bochs = Result { try find(.bochs) }

    /// The one of `adapter`, made when there is none yet. Once it could not be made, this process does not try again.
    static func of(_ adapter: Machine.Adapter) throws -> MachineSnapshot {
        switch adapter {
        case .virtioGPU: try virtioGPU.get()
        case .bochs: try bochs.get()
        }
    }

    private static func find(_ adapter: Machine.Adapter) throws -> MachineSnapshot {
        let base = try Sources.base.get().get()
        let snapshot = MachineSnapshot(adapter: adapter, base: base, folder: try Sources.snapshotFolder(base))
        // Another checkout's tests may be making the same.
        let lock = open(snapshot.folder + "/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        flock(lock, LOCK_EX)
        defer { close(lock) }
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
        let end = Date() + 120
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
            try machine.shell("systemctl is-system-running --wait", within: 240)
            // Its first minute, emulated: on a host that has much else to do the stick is not there for half of that.
            try machine.waitForMovingPicture(within: 120)
            // Both clips: all that is loaded when it is first used has been.
            for clip in [PlayOrder.stick, PlayOrder.disk] { try machine.wait(for: clip) }
            // A sound card that hangs at that moment, as one does whose emulation is starved, would hang in each test.
            let hangs = "journalctl -b -u kiosk -o cat | grep 'audio: ' | tail -n 1 | grep -q 'does not answer'"
            try machine.shell("for turn in $(seq 60); do \(hangs) || exit 0; sleep 2; done; exit 1", within: 240)
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
            try machine.shell("systemctl is-system-running --wait", within: 240)
            try machine.shell("mount -t 9p -o trans=virtio,ro share /mnt && sh /mnt/install", within: 480)
            try machine.shell("systemctl poweroff")
            try machine.waitForEnd(within: 120)
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
    fileprivate func waitForMigration() throws {
        let end = Date() + 120
        while Date() < end {
            let status = (try qmp.execute("query-migrate") as? [String: Any])?["status"] as? String
            if status == "completed" { return }
            if status == "failed" { break }
            usleep(50_000)
        }
        throw MachineError("save the state: \(try qmp.execute("query-migrate"))")
    }
}
