import Foundation
import TestSupport
import Testing

private let hasAnalysis = (try? Clips.run(["systemd-analyze", "--version"])) != nil

/// The parts of deploy/ that can be tested without systemd and without a package. docs/testing-machine.md has the rest.
@Suite(.blocking) struct PackagingTests {
    private static let deploy = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/deploy"

    /// The mounting unit may mount, visibly for other processes; the player has devices and the network.
    @Test(
        .needs("systemd-analyze", hasAnalysis),
        arguments: [("kiosk.service", 1.5), ("kiosk-web.service", 1.8), ("kiosk-usb@.service", 3.0)])
    func `the units have no right that they do not use`(unit: String, limit: Double) throws {
        let report = try Clips.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", "\(Self.deploy)/\(unit)"])
        let match = try #require(report.firstMatch(of: #/Overall exposure level for [^ ]+: ([0-9.]+)/#), "\(report)")
        #expect(try #require(Double(match.output.1)) <= limit, "\(report)")
    }

    /// Returns the words after this key, for each of its lines in kiosk.service.
    private static func words(_ key: String) throws -> [[Substring]] {
        try String(contentsOfFile: "\(deploy)/kiosk.service", encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix(key + "=") }
            .map { $0.dropFirst(key.count + 1).split(separator: " ") }
    }

    @Test func `a reader is started by the service, and can shut itself in`() throws {
        let program = try #require(try Self.words("ExecStart").first?.first)
        let programs = try Self.words("ExecPaths").joined()
        // The "-" lets the player start even if the program is missing.
        #expect(programs.contains(program) && programs.contains("-/usr/local/lib/kiosk/kiosk-reader"))
        let calls = try Self.words("SystemCallFilter").joined()
        #expect(Set(calls).isSuperset(of: ["seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"]))
        // The player and the reader talk over sockets of this family.
        #expect(try Self.words("RestrictAddressFamilies").joined().contains("AF_UNIX"))
    }

    /// systemd's own groups lack some calls; the unit has to name those.
    @Test(.needs("systemd-analyze", hasAnalysis)) func `the service has the calls that start and watch a reader`() throws {
        let report = try Clips.run(["systemd-analyze", "syscall-filter", "--no-pager"])
        var groups: [Substring: [Substring]] = [:], group = Substring()
        for line in report.split(separator: "\n") {
            if line.hasPrefix("@") { group = line } else { groups[group, default: []].append(line.drop { $0 == " " }) }
        }
        func calls(_ words: some Sequence<Substring>) -> Set<Substring> {
            words.reduce(into: []) { $0.formUnion($1.hasPrefix("@") ? calls(groups[$1] ?? []) : [$1]) }
        }
        let lines = try Self.words("SystemCallFilter")
        let (taken, given) = (lines.filter { $0[0].hasPrefix("~") }, lines.filter { !$0[0].hasPrefix("~") })
        let allowed = calls(given.joined()).subtracting(calls(taken.joined().map { $0.drop { $0 == "~" } }))
        let needed: [Substring] = [
            "clone", "clone3", "execve", "memfd_create", "pidfd_open", "pidfd_send_signal", "close_range", "prctl", "setsid", "socketpair",
            "recvmsg", "sendmsg", "signalfd4", "epoll_create1", "wait4", "waitid", "prlimit64", "dup2", "dup3", "kill",
            "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
        ]
        for call in needed { #expect(allowed.contains(call), "\(call)") }
    }

    @Test func `a stick is mounted by what kiosk says, with no rights, and with file systems that sticks have`() throws {
        let lines = try String(contentsOfFile: "\(Self.deploy)/kiosk-usb@.service", encoding: .utf8).split(separator: "\n")
        #expect(lines.contains("ExecCondition=/usr/local/bin/kiosk wants-sticks --config /etc/kiosk/kiosk.conf"))
        let mount = try #require(lines.first { $0.hasPrefix("ExecStart=/bin/mount ") }).split(separator: " ")
        func option(_ name: String) -> Set<Substring> {
            mount.firstIndex(of: name[...]).map { Set(mount[$0 + 1].split(separator: ",")) } ?? []
        }
        #expect(option("-o") == ["ro", "nosuid", "nodev", "noexec", "nosymfollow"])
        #expect(option("-t") == ["vfat", "exfat", "ntfs3", "ext4", "iso9660", "udf"])
    }

    /// The test is not root, so stubs replace the programs that would change the owner.
    @Test(
        arguments: [
            ("640 root root", "", true), ("640 root root", "0.2.0", true), ("644 root root", "0.1.0~git20261126.abc", true),
            ("644 root root", "0.1.0", false), ("640 root kiosk", "0.1.0~git20261126.abc", false),
            ("600 root root", "0.1.0~git20261126.abc", false), ("644 kiosk kiosk", "0.1.0~git20261126.abc", false),
            ("777 root root", "", false),
        ])
    func `kiosk.conf is closed to others unless an administrator has said otherwise`(mode: String, before: String, isClosed: Bool) throws {
        for isOverridden in [false, true] {
            let root = try TestFolder()
            try FileManager.default.createDirectory(atPath: root.path + "/etc/kiosk", withIntermediateDirectories: true)
            let file = try root.file("etc/kiosk/kiosk.conf", "")
            try FileManager.default.createDirectory(atPath: root.path + "/stubs", withIntermediateDirectories: true)
            let stubs = [
                "stat": "echo '\(mode)'", "chgrp": "echo chgrp \"$@\"", "chmod": "echo chmod \"$@\"", "systemd-sysusers": ":",
                "dpkg-statoverride": isOverridden ? "echo 'root root 644 /etc/kiosk/kiosk.conf'" : "exit 1",
            ]
            for (name, line) in stubs {
                let path = try root.file("stubs/\(name)", "#!/bin/sh\n\(line)\n")
                try #require(chmod(path, 0o755) == 0)
            }
            let said = try Clips.run([
                "PATH=\(root.path)/stubs:/usr/sbin:/usr/bin:/sbin:/bin", "DPKG_ROOT=\(root.path)", "sh", "\(Self.deploy)/deb.postinst",
                "configure", before,
            ])
            #expect(said == (isClosed && !isOverridden ? "chgrp kiosk \(file)\nchmod 640 \(file)\n" : ""))
        }
    }

    /// kiosk.conf may name any folder for the films of visitors.
    @Test(arguments: ["films", "usb", "cache/deeper"]) func `to purge the package deletes no film`(folder: String) throws {
        let root = try TestFolder()
        let state = root.path + "/var/lib/kiosk"
        for name in ["usb", "usb.new", "cache", folder] {
            try FileManager.default.createDirectory(atPath: "\(state)/\(name)", withIntermediateDirectories: true)
        }
        let film = "\(state)/\(folder)/film-2026-11-24-181530.mp4"
        for path in [film, "\(state)/usb/copy.mp4", "\(state)/usb.new/copy.mp4", "\(state)/cache/a.mp4", "\(state)/proof.jsonl"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        }
        func purge() throws -> String { try Clips.run(["DPKG_ROOT=\(root.path)", "sh", "\(Self.deploy)/deb.postrm", "purge"]) }
        #expect(try purge().contains("rm -r \(state)"))
        let files = FileManager.default
        #expect(files.fileExists(atPath: film) && files.fileExists(atPath: "\(state)/proof.jsonl"))
        #expect(!files.fileExists(atPath: "\(state)/usb.new") && files.fileExists(atPath: "\(state)/cache") == folder.hasPrefix("cache"))
        // If no file of a user's is left, the purge removes the whole folder.
        try files.removeItem(atPath: film)
        try files.removeItem(atPath: "\(state)/proof.jsonl")
        if folder == "films" { try files.removeItem(atPath: "\(state)/films") }
        #expect(try purge() == "" && !files.fileExists(atPath: state))
    }
}
