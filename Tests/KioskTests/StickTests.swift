import Foundation
import TestSupport
import Testing

private let canMount = geteuid() == 0 && (try? Clips.run(["unshare", "-m", "true"])) != nil

/// Sticks mounted as kiosk-usb@.service mounts them, for a player in a mount namespace of its own.
@Suite(.blocking, .needs("root, and mounts of its own", canMount)) struct StickTests {
    /// A player in a folder of its own, and its sticks.
    private final class Stage {
        let folder: TestFolder
        let kiosk: KioskProcess
        let socket: String
        var state: String { folder.path + "/state" }

        init(_ use: String, before: String = "") throws {
            folder = try TestFolder()
            socket = folder.path + "/control.sock"
            try FileManager.default.createDirectory(atPath: folder.path + "/state", withIntermediateDirectories: true)
            let configuration = try folder.file(
                "kiosk.conf",
                """
                [control]
                socket = "\(socket)"
                [playback]
                usb = "\(use)"
                [[playlist]]
                source = "\(Clips.named("still.png"))"
                """)
            // The box has a disk of 100 MB.
            let prepare = """
                mount --make-rprivate / && mkdir -p /run/kiosk-usb && mount -t tmpfs none /run/kiosk-usb \
                    && mount -t tmpfs -o size=100m none "$STATE_DIRECTORY" && exec "$@"
                """
            kiosk = try KioskProcess(
                ["--config", configuration, "--display", "offscreen", "--mode", "320x180", "--audio", "off"],
                wrapper: ["STATE_DIRECTORY=\(folder.path)/state", "unshare", "-m", "sh", "-c", prepare, "sh"])
        }

        /// Waits up to 120 s for the control socket, and returns whether it exists.
        var isPlaying: Bool { eventually(120) { FileManager.default.fileExists(atPath: self.socket) } }

        /// Runs a shell script in the player's mount namespace.
        @discardableResult
        func shell(_ script: String, _ arguments: [String] = []) throws -> String {
            try Clips.run(["nsenter", "--mount=/proc/\(kiosk.pid)/ns/mnt", "sh", "-ec", script, "sh"] + arguments)
        }

        /// Plugs in a stick; `script` fills the folder $1.
        @discardableResult
        func plug(_ name: String, _ script: String, _ arguments: [String] = []) throws -> String {
            // As with a real stick, the player sees it only when it is complete.
            try shell(
                """
                mkdir -p /tmp/stick.$$ "/run/kiosk-usb/\(name)" && mount -t tmpfs -o size=50m none /tmp/stick.$$
                set -- /tmp/stick.$$ "$@"
                \(script)
                mount -o remount,ro,nosuid,noexec /tmp/stick.$$
                mount --move /tmp/stick.$$ "/run/kiosk-usb/\(name)" && rmdir /tmp/stick.$$
                """, arguments)
        }

        /// Returns the files of the copy, without hidden ones.
        func copies() throws -> Set<String> {
            let names = try shell(
                "cd \"$1/usb\" 2>/dev/null || exit 0; find . -type f ! -name '.*' -print0; find . ! -type f ! -type d -print0", [state])
            return Set(names.split(separator: "\0").map { String($0.dropFirst(2)) })
        }
    }

    private static let program = #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Sticks/hostile-stick"

    /// The player copies only clips that lie on the stick. The stick neither holds up the next one nor fills the disk.
    @Test func `a hostile stick is copied for its clips alone`() throws {
        let stage = try Stage("copy")
        #expect(stage.isPlaying)
        let (clip, secret) = (try Clips.numbered("stick.mp4", frames: 15), try Clips.numbered("secret.mp4", frames: 15, from: 101))
        let answer = try stage.plug("sda1", "\"$4\" \"$1\" \"$2\" \"$3\"", [clip, secret, Self.program])
        let good = try JSONDecoder().decode([String].self, from: Data(answer.utf8))
        #expect(stage.kiosk.waits(for: "you can pull it out"), "\(stage.kiosk.errors)")
        #expect(try stage.copies() == Set(good))
        for name in good {
            let copy = try stage.shell("base64 -w0 \"$1/usb/$2\"", [stage.state, name])
            #expect(try Data(base64Encoded: copy) == Data(contentsOf: URL(fileURLWithPath: clip)), "\(name)")
        }
        #expect(stage.kiosk.errors.contains("hls.mp4 is left out: it is a list"), "\(stage.kiosk.errors)")
        #expect(!stage.kiosk.errors.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" })
        // The player recognises it when it is plugged in again, also with files left out.
        let again = "mkdir /run/kiosk-usb/sdb1 && mount --bind /run/kiosk-usb/sda1 /run/kiosk-usb/sdb1 && umount -l /run/kiosk-usb/sda1"
        try stage.shell(again)
        #expect(stage.kiosk.waits(for: "is on this box already"), "\(stage.kiosk.errors)")
        #expect(stage.kiosk.end() == 0)
    }

    /// The copied clips play on if another stick has nothing playable.
    @Test func `a stick without a clip that opens takes nobody's place`() throws {
        let stage = try Stage("copy")
        let clip = try Clips.numbered("stick.mp4", frames: 15)
        #expect(stage.isPlaying)
        try stage.plug("sda1", "cp \"$2\" \"$1/good.mp4\"", [clip])
        #expect(stage.kiosk.waits(for: "you can pull it out"), "\(stage.kiosk.errors)")
        try stage.shell("umount -l /run/kiosk-usb/sda1")
        try stage.plug("sdb1", "head -c 20000 /dev/urandom >\"$1/broken.mp4\"")
        #expect(stage.kiosk.waits(for: "none of its 1 files can be played: broken.mp4"), "\(stage.kiosk.errors)")
        #expect(try stage.copies() == ["good.mp4"])
        // A stick with a clip that opens replaces the copy, without the broken file.
        try stage.shell("umount -l /run/kiosk-usb/sdb1")
        try stage.plug("sdc1", "cp \"$2\" \"$1/other.mp4\"; head -c 20000 /dev/urandom >\"$1/broken.mp4\"", [clip])
        #expect(stage.kiosk.waits(for: "broken.mp4 is left out"), "\(stage.kiosk.errors)")
        #expect(eventually(120) { (try? stage.copies()) == ["other.mp4"] })
        #expect(stage.kiosk.end() == 0)
    }

    /// The playlist, if the player plays sticks in place.
    @Test func `a hostile stick that is played has no links on the playlist`() throws {
        let stage = try Stage("play")
        #expect(stage.isPlaying)
        let (clip, secret) = (try Clips.numbered("stick.mp4", frames: 15), try Clips.numbered("secret.mp4", frames: 15, from: 101))
        try stage.plug("sda1", "\"$4\" \"$1\" \"$2\" \"$3\"", [clip, secret, Self.program])
        var list = ""
        #expect(
            eventually(120) {
                list = (try? stage.shell("\"$1\" ctl --socket \"$2\" --json playlist", [KioskProcess.binary, stage.socket])) ?? ""
                return list.contains("/run/kiosk-usb/sda1/good.mp4")
            }, "\(list)")
        for name in ["link.mp4", "linked", "zero", "memory", "input", "circle", "up.mp4", "dangling", "fifo", "socket", "null-device"] {
            #expect(!list.contains("/sda1/\(name)") && !list.contains("/b/\(name)"), "\(name)")
        }
        #expect(stage.kiosk.end() == 0)
    }
}

/// `kiosk wants-sticks`, which kiosk-usb@.service runs before it mounts a stick.
@Suite(.blocking) struct WantsSticksTests {
    /// All spellings of a key mean the same, as for the player.
    @Test(
        arguments: [
            ("[playback]\nusb = \"play\"", 0), ("[playback]\n\"usb\" = 'copy'", 0), ("playback.usb = \"play\"", 0),
            ("playback = { usb = \"copy\" }", 0), ("\u{FEFF}[playback]\nusb=\"play\"", 0), ("[ playback ]\n\tusb\t=\t\"\"\"play\"\"\"", 0),
            ("[shelf]\nfolders = [\n  \"/srv\",\n  \"usb\",\n]", 0), ("shelf.folders = ['usb']", 0),
            ("[[playlist]]\nsource = \"/run/kiosk-usb/sda1/a.mp4\"", 0),
            ("", 1), ("[playback]\nusb = \"off\"", 1), ("[playback]\n#usb = \"play\"", 1),
            ("[shelf]\nfolders = [\"/srv\"] # or \"usb\"", 1),
            ("[[playlist]]\nsource = \"usb\"", 1), ("[theme]\nusb = \"play\"", 78),
        ] as [(String, Int32)])
    func `the unit asks kiosk whether sticks are wanted`(text: String, status: Int32) throws {
        let folder = try TestFolder()
        let kiosk = try KioskProcess(["wants-sticks", "--config", folder.file("kiosk.conf", text + "\n")])
        #expect(kiosk.status() == status && kiosk.output.isEmpty, "\(text): \(kiosk.errors)")
    }
}
