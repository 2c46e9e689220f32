import Foundation
import Glibc
import TestSupport

/// A machine with the package installed, booted to a moving picture and saved at that moment: its disk, and its running state as QEMU
/// migrates it. A test resumes from it in about a second, with a disk image of its own over the saved one.
///
/// The cache folder keeps it until the package, the base image, `boot`, `install`, `kiosk.conf` or this file changes.
struct MachineSnapshot {
    let adapter: Machine.Adapter
    private let base: String
    private let folder: String
    private var disk: String { "\(folder)/\(adapter.rawValue).qcow2" }
    private var state: String { "\(folder)/\(adapter.rawValue).state" }

    private static let virtioGPU = Result { try find(.virtioGPU) }
    private static let bochs = Result { try find(.bochs) }

    /// Returns the snapshot of `adapter`, and makes it if there is none. After a failure, this process does not retry.
    static func of(_ adapter: Machine.Adapter) throws -> MachineSnapshot {
        switch adapter {
        case .virtioGPU: try virtioGPU.get()
        case .bochs: try bochs.get()
        }
    }

    private static func find(_ adapter: Machine.Adapter) throws -> MachineSnapshot {
        let base = try Sources.base.get().get()
        let snapshot = MachineSnapshot(adapter: adapter, base: base, folder: try Sources.snapshotFolder(base))
        // Tests of another checkout may be making the same snapshot.
        let lock = open(snapshot.folder + "/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        flock(lock, LOCK_EX)
        defer { close(lock) }
        if !FileManager.default.fileExists(atPath: snapshot.state) { try snapshot.make() }
        try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: snapshot.folder)
        return snapshot
    }

    /// Resumes a machine from this snapshot, with `folder` as its own.
    func resume(in folder: String) throws -> Machine {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let own = folder + "/disk.qcow2"
        try run("qemu-img", ["create", "-q", "-f", "qcow2", "-b", disk, "-F", "qcow2", own])
        let machine = try Machine(adapter, base: base, disk: own, folder: folder, options: ["-incoming", "exec:cat '\(state)'"])
        let end = Date.steady + 120
        while try machine.status() != "paused" {
            guard Date.steady < end else {
                machine.keepsFolder = true
                throw MachineError("resume \(state): QEMU is \(try machine.status())")
            }
            usleep(20_000)
        }
        try machine.qmp.execute("cont")
        return machine
    }

    /// Boots the machine with the package, waits until everything plays, and saves it.
    private func make() throws {
        let installed = folder + "/installed.qcow2"
        if !FileManager.default.fileExists(atPath: installed) { try install(installed) }
        let scratch = Sources.scratch("boot")
        let machine = try makeMachine(over: installed, "qcow2", in: scratch)
        do {
            try machine.waitForShell()
            try machine.shell("systemctl is-system-running --wait", within: 240)
            // The first minute of an emulated machine: on a busy host the stick is missing for half of that.
            try machine.waitForMovingPicture(within: 120)
            // Both clips: this loads everything that is loaded on first use.
            for clip in [PlayOrder.stick, PlayOrder.disk] { try machine.wait(for: clip) }
            // A sound card can hang at this moment if its emulation is starved. It would then hang in each test.
            let hangs = "journalctl -b -u kiosk -o cat | grep 'audio: ' | tail -n 1 | grep -q 'does not answer'"
            try machine.shell("for turn in $(seq 60); do \(hangs) || exit 0; sleep 2; done; exit 1", within: 240)
            // On a starved host a unit of the stick may have run into its time limit. All tests would begin with that; a fault comes again.
            let failed = "$(systemctl --failed --plain --no-legend | cut -d ' ' -f 1)"
            try machine.shell("systemctl is-system-running || { systemctl restart \(failed); systemctl is-system-running; }", within: 240)
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

    /// Installs the package in the booted machine as docs/install.md says, then switches it off.
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
        let end = Date.steady + 120
        while Date.steady < end {
            let status = (try qmp.execute("query-migrate") as? [String: Any])?["status"] as? String
            if status == "completed" { return }
            if status == "failed" { break }
            usleep(50_000)
        }
        throw MachineError("save the state: \(try qmp.execute("query-migrate"))")
    }
}
