import Foundation
import TestSupport
import Testing

private let hasGit = (try? Clips.run(["git", "--version"])) != nil

/// The refusals of `deploy/release --check`, in a checkout of the files that it reads.
@Suite(.blocking, .needs("git", hasGit)) struct ReleaseTests {
    private static let checkout = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        for name in ["deploy", "Tools", "Sources/RemoteClient"] {
            try FileManager.default.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
        }
        for name in ["deploy/release", "Tools/minimal-debian"] {
            try FileManager.default.copyItem(atPath: "\(Self.checkout)/\(name)", toPath: "\(folder.path)/\(name)")
        }
        _ = try folder.file("deploy/changelog", "kiosk (1.2.0) unstable; urgency=medium\n\n  * First version.\n")
        _ = try folder.file("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-11-29\n\n### Added\n\n- Loops.\n\n## 1.1.0\n")
        _ = try folder.file("Sources/RemoteClient/Version.swift", "package let kioskVersion = \"1.2.0\"\n")
        _ = try shell("git init -q && git add -A && \(Self.commit) && git tag v1.2.0")
    }

    private static let commit = "git -c user.name=A -c user.email=a@example.org -c commit.gpgsign=false commit -qm One"

    /// Returns the output of a command, with a line for its status.
    private func shell(_ command: String) throws -> String {
        try Clips.run(["sh", "-c", "cd '\(folder.path)' && { \(command); } 2>&1; echo status $?"])
    }

    @Test func `a clean checkout of the tag can be released`() throws {
        #expect(try shell("deploy/release --check 1.2.0") == "release: 1.2.0 can be released\nstatus 0\n")
    }

    @Test(
        arguments: [
            ("touch stray", "1.2.0", "the checkout has changes"),
            ("git tag -d v1.2.0", "1.2.0", "there is no tag v1.2.0; when all is committed, git tag -s v1.2.0"),
            ("git tag v1.2.1", "1.2.0", "the commit has other tags of versions, too (v1.2.1)"),
            ("echo >>CHANGELOG.md && git add -A && \(commit)", "1.2.0", "git checkout v1.2.0"),
            ("sed -i s/unstable/UNRELEASED/ deploy/changelog", "1.2.0", "the first entry of deploy/changelog is UNRELEASED"),
            ("sed -i s/1.2.0/1.3.0/ deploy/changelog", "1.2.0", "deploy/changelog begins with version 1.3.0"),
            ("sed -i s/1.2.0/1.3.0/ Sources/RemoteClient/*", "1.2.0", "kiosk --version would say 1.3.0"),
            ("sed -i '/Loops/d; /Added/d' CHANGELOG.md", "1.2.0", "CHANGELOG.md has no section \"## 1.2.0 - "),
            (":", "1.2", "VERSION is to be MAJOR.MINOR.PATCH"), (":", "1.2.0+a", "VERSION is to be MAJOR.MINOR.PATCH"),
            (":", "1.2.0-rc.1", "begin it with an entry kiosk (1.2.0~rc.1) unstable"), ("rm -rf .git", "1.2.0", "is no git checkout"),
        ])
    func `what cannot be released is refused with what to do`(change: String, version: String, words: String) throws {
        let said = try shell("{ \(change); } >/dev/null && deploy/release --check \(version)")
        #expect(said.contains(words) && said.hasSuffix("status 1\n"), "\(said)")
    }

    /// Otherwise the first `make deb` of a new version fails, and its release is refused.
    @Test func `kiosk says the version that the package begins with`() throws {
        let entry = try String(contentsOfFile: "\(Self.checkout)/deploy/changelog", encoding: .utf8)
        let version = try #require(entry.firstMatch(of: #/^kiosk \(([^)]+)\)/#)).output.1.replacing("~", with: "-")
        #expect(try Clips.run([KioskProcess.binary, "--version"]) == version + "\n")
    }
}
