import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskConfiguration
@testable import KioskContent

/// Months of a shop's content, made up from a seed, on a disk and on a share.
///
/// A link moves from release to release. Files are copied, replaced by rename, written in place, deleted, and renamed from one Unicode form
/// to the other. Now and then the clock is set. Once a complete file has been there long enough to be found, the list is never empty. At
/// the end the list holds every file in its last version.
@Suite struct MonthOfContentTests {
    /// A folder that other programs write into, as the kernel and stat(2) show it.
    private struct Box {
        struct File {
            var version: FileVersion
            /// Whether a program is writing into it.
            var isOpen = false
            /// The time since when the file has been complete; nil while it is not.
            var whole: HostTime?
        }

        var random = Proof.Random()
        /// Whether it is on a share: the kernel reports no changes, and inode numbers mean nothing.
        var isShare: Bool
        var now = HostTime(nanoseconds: 1_000_000_000)
        /// The lead of the box's clock over the monotonic one. The clocks of the writing programs are always right.
        var offset = Self.begin
        var files: [Path: File] = [:]
        /// The target of the link: the release that plays.
        var link: Path = "r0"
        var inodes: UInt64 = 1
        var changes: [FolderWatch.Change] = []

        static let begin: Int64 = 1_790_000_000_000_000_000
        static let folder: Path = "/srv/current"
        static let names: [Path] = [
            "\u{FC}.mp4", "u\u{308}.mp4", "e\u{301}t\u{E9}.mp4", "\u{E9}te\u{301}.mp4", "a.mp4", "b.mp4", "\u{301}.mp4",
        ]

        mutating func version(_ inode: UInt64? = nil, age: Int64 = 0) -> FileVersion {
            inodes += 1
            let written = Self.begin + now.nanoseconds - age
            return FileVersion(device: 1, inode: inode ?? inodes, size: Int64.random(in: 1...1_000_000, using: &random), modified: written)
        }

        mutating func tell(_ kind: FolderWatch.Change.Kind, _ name: Path) {
            if !isShare { changes.append(.init(kind, folder: Self.folder, name: name)) }
        }

        /// Makes one random change.
        mutating func step() {
            let name = Self.names.randomElement(using: &random)!
            switch Int.random(in: 0..<9, using: &random) {
            case 0:  // a copy begins
                guard files[name] == nil else { return }
                files[name] = File(version: version(), isOpen: true)
                tell(.appeared, name)
                tell(.written, name)
            case 1, 2:  // and goes on, or ends
                guard let open = files.filter({ $0.value.isOpen }).keys.sorted().randomElement(using: &random) else { return }
                files[open]!.version = version(files[open]!.version.inode)
                tell(.written, open)
                guard Bool.random(using: &random) else { return }
                (files[open]!.isOpen, files[open]!.whole) = (false, now)
                tell(.completed, open)
            case 3:  // replaced by rename, with an old date perhaps
                let age = Bool.random(using: &random) ? 0 : Int64(7_200_000_000_000)
                files[name] = File(version: version(age: age), whole: now)
                tell(.completed, name)
            case 4:  // written in place
                guard files[name] != nil else { return }
                (files[name]!.isOpen, files[name]!.whole) = (true, nil)
                files[name]!.version = version(files[name]!.version.inode)
                tell(.written, name)
            case 5:  // renamed
                guard let old = files.filter({ !$0.value.isOpen }).keys.sorted().randomElement(using: &random), old != name else { return }
                files[name] = files.removeValue(forKey: old)
                files[name]!.whole = now
                tell(.gone, old)
                tell(.completed, name)
            case 6:
                guard files.removeValue(forKey: name) != nil else { return }
                tell(.gone, name)
            case 7:  // another release
                link = Path("r\(inodes)")
                files = [:]
                for name in Self.names.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)) {
                    files[name] = File(version: version(age: Int64.random(in: 3...7200, using: &random) * 1_000_000_000), whole: now)
                }
                if !isShare { changes.append(.init(.completed, folder: "/srv", name: "current")) }
            default:  // a box without a battery, a time server, or a misguided change for summer time
                offset =
                    [0, Self.begin, Self.begin, Self.begin + 3_600_000_000_000, Self.begin - 3_600_000_000_000]
                    .randomElement(using: &random)!
            }
        }

        /// Returns the result of a look at the folder.
        func expand() -> SourceExpansion {
            var found = SourceExpansion()
            found.watch("current", in: "/srv")
            found.folders[Self.folder] = .all
            found.links["/srv/current"] = link
            found.sources = files.sorted { $0.key < $1.key }.map {
                SourceExpansion.Found(Self.folder.appending($0.key).string, $0.value.version)
            }
            if found.sources.isEmpty { found.problems = ["nothing there"] }
            return found
        }
    }

    /// The expansion's state, driven by the box's clock as the real threads drive it.
    private struct Player {
        var state: ExpansionState
        var listed: [PlaylistItem] = []

        init() {
            let plan = PlaylistExpansion.Plan(
                names: ["/srv/current"], assume: { _ in nil }, expand: { _ in SourceExpansion() },
                item: { PlaylistItem(source: $1.source, version: $1.version) })
            state = ExpansionState(plan, limit: .seconds(5))
            state.schedule = ExpansionSchedule(now: HostTime(nanoseconds: 0))
        }

        /// Does all work that is due now. A probe fails on a file that a program is writing into.
        mutating func run(_ box: Box) {
            for _ in 0..<100 {
                if let work = state.work(at: box.now, date: box.offset + box.now.nanoseconds) {
                    for case .items(let items, _) in work.news { listed = items }
                    while let entry = state.takeEntry(at: box.now, mostHung: 8) {
                        state.found(
                            box.expand(), in: entry, epoch: state.epoch, begun: box.now, isPartial: box.isShare, by: state.worker)
                    }
                } else if case .file(let probe, _)? = state.takeProbe(at: box.now) {
                    let name = probe.path.parts?.name ?? ""
                    let isOpen = box.files[name]?.isOpen ?? true
                    state.probed(probe, problem: isOpen ? "it is cut off" : nil, at: box.now)
                } else {
                    return
                }
            }
            Issue.record("it never comes to rest")
        }
    }

    @Test(arguments: [false, true]) func neverDarkAndNeverAFileLost(isShare: Bool) {
        var box = Box(isShare: isShare)
        var player = Player()
        // kiosk scans a share every five seconds, waits two seconds for a file to settle, and retries a failed one after a minute.
        let patience = MediaTime.seconds(isShare ? 75 : 70)
        // The scans every five seconds make a share slow to test, so it gets fewer days.
        let days = Proof.isThorough ? (isShare ? 3.0 : 30) : (isShare ? 0.25 : 2)
        let end = box.now + .seconds(days * 24 * 3600)
        while box.now < end {
            let isLong = Int.random(in: 0..<20, using: &box.random) == 0
            let next = box.now + .milliseconds(Int64.random(in: 1...30, using: &box.random) * (isLong ? 60_000 : 100))
            // Does the work that comes due until then at its own time.
            while let due = player.state.deadline, due < next {
                box.now = max(box.now, due)
                player.run(box)
            }
            box.now = next
            if Int.random(in: 0..<4, using: &box.random) == 0 { box.step() }
            player.state.note(box.changes, at: box.now)
            box.changes = []
            player.run(box)
            let isThere = box.files.values.contains { $0.whole.map { box.now - $0 > patience } ?? false }
            if isThere, player.listed.isEmpty {
                Issue.record("dark at \(box.now.nanoseconds): \(box.files)")
                return
            }
        }
        for name in box.files.filter({ $0.value.isOpen }).keys { (box.files[name]!.isOpen, box.files[name]!.whole) = (false, box.now) }
        for _ in 0..<200 {
            box.now += .seconds(1)
            player.run(box)
        }
        let expected = Dictionary(uniqueKeysWithValues: box.files.map { (Box.folder.appending($0.key), $0.value.version.modified) })
        let listed = Dictionary(uniqueKeysWithValues: player.listed.map { ($0.path, $0.version?.modified ?? 0) })
        #expect(listed == expected)
    }
}
