import Glibc
import KioskAudioCore
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskReaders

extension BoxFacts {
    /// Facts that only the caller knows.
    package struct Question: Sendable {
        /// The first item, if it is a file, for a test of the read speed.
        package var file: String?
        package var wantsSound: Bool
        /// Whether processes of their own should read media.
        package var wantsReaders: Bool

        package init(file: String? = nil, wantsSound: Bool = true, wantsReaders: Bool = true) {
            (self.file, self.wantsSound, self.wantsReaders) = (file, wantsSound, wantsReaders)
        }
    }

    /// The time limit for calls that a driver, a disk or systemd may not answer.
    static let limit = MediaTime.seconds(3)

    /// Reads the facts of the machine below the folder `root`. Blocks for at most some seconds: everything that can hang has a time limit.
    package static func read(root: String = "/", question: Question = Question()) -> BoxFacts {
        let box = BoxFolder(root)
        var facts = BoxFacts()
        facts.wantsSound = question.wantsSound
        facts.units = Units(box)
        facts.groupNames = Accounts.groupNames(box)
        facts.player = Accounts.player(box, isInstalled: facts.units.isInstalled)
        facts.nodes = nodes(box, facts.player)
        facts.hasDisplayDevice = !(box.names("/dev/dri", "card") + box.names("/dev", "fb").filter { Int($0.dropFirst(2)) != nil }).isEmpty
        for connector in box.names("/sys/class/drm", "card") where !connector.contains("Writeback") {
            guard let dash = connector.firstIndex(of: "-"), let status = box.word("/sys/class/drm/\(connector)/status") else { continue }
            facts.connectors[String(connector[connector.index(after: dash)...])] = status
        }
        facts.holders = holders(box)
        facts.readBoot(box)
        facts.readLoad(box)
        facts.missingDecoders = DecoderInventory.missing(of: BoxCheck.codecs)
        if box.isMachine {
            facts.cards = answer(within: limit, soundCards)
            facts.reading = answer(within: limit) { reading(question) }
        }
        facts.storage = question.file.map { ReadSpeedTrial.run($0) }
        return facts
    }

    /// Returns the result of `body` on a thread of its own; nil after the limit. The thread then continues alone.
    static func answer<Answer: Sendable>(within limit: MediaTime, _ body: @escaping @Sendable () -> Answer) -> Answer? {
        let answer = Monitor<Answer?>(nil)
        let thread = Thread("doctor") {
            let result = body()
            answer.signal { $0 = result }
        }
        thread.detach()
        return answer.wait(until: .now + limit) { $0 }
    }

    private static func reading(_ question: Question) -> Reading {
        var reading = Reading()
        reading.isWanted = question.wantsReaders
        if !reading.isWanted { return reading }
        do throws(ReaderStartError) { reading.lack = try Readers.shared.trial() } catch { reading.failure = "\(error)" }
        return reading
    }

    private static func soundCards() -> [Card] {
        AudioCard.all().filter { !$0.devices.isEmpty }.map { Card(name: $0.name, isVirtual: $0.isVirtual, silencers: $0.silencers()) }
    }

    // MARK: Devices

    private static func nodes(_ box: BoxFolder, _ player: Player) -> [Node] {
        var paths: [(String, Node.Use)] = box.names("/dev/dri", "card").map { ("/dev/dri/\($0)", .display) }
        paths += box.names("/dev/snd").filter { $0.hasPrefix("controlC") || $0.hasPrefix("pcm") && $0.hasSuffix("p") }.map {
            ("/dev/snd/\($0)", .sound)
        }
        paths += box.names("/dev/input", "event").map { ("/dev/input/\($0)", .input) }
        paths += box.names("/dev/dri", "renderD").map { ("/dev/dri/\($0)", .decoder) }
        paths += box.names("/dev", "video").filter { isDecoder(box, $0) }.map { ("/dev/\($0)", .decoder) }
        return paths.compactMap { path, use in
            guard let status = box.status(path) else { return nil }
            // For the current user, the kernel knows best.
            let isCaller = box.isMachine && geteuid() == player.user
            return Node(
                path, use, owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o777,
                isAllowed: isCaller ? access(path, R_OK | W_OK) == 0 : nil)
        }
    }

    /// Returns whether a V4L2 device is a decoder, judged by its driver's name. Only a process that can open it could ask. Excludes cameras
    /// and tuners.
    private static func isDecoder(_ box: BoxFolder, _ device: String) -> Bool {
        guard let name = box.text("/sys/class/video4linux/\(device)/name")?.lowercased() else { return false }
        return ["dec", "vpu", "hantro", "cedrus", "venus"].contains { name.contains($0) }
    }

    private static func holders(_ box: BoxFolder) -> [Holder] {
        box.names("/dev/dri", "card").flatMap { card -> [Holder] in
            let masters = masters(box, card)
            return DeviceHolder.processes(thatHaveOpen: "/dev/dri/\(card)", proc: "\(box.root)/proc").compactMap { process in
                let program = DeviceHolder.name(ofProcess: Int(process), proc: "\(box.root)/proc")
                // logind has it open for sessions, whose programs have it open, too; and a running player is expected to.
                if ["systemd-logind ", "kiosk "].contains(where: program.hasPrefix) { return nil }
                return Holder(card: "/dev/dri/\(card)", program: program, isMaster: masters.map { $0.contains(Int(process)) })
            }
        }
    }

    /// Returns the DRM masters of a card; nil if the kernel does not report them, as to users other than root.
    private static func masters(_ box: BoxFolder, _ card: String) -> Set<Int>? {
        let lines = box.lines("/sys/kernel/debug/dri/\(card.dropFirst(4))/clients").map { $0.split(separator: " ") }
        // command  tgid  dev  master  a  uid  magic: the command may consist of several words.
        guard let heading = lines.first, let place = heading.firstIndex(of: "master"), let process = heading.firstIndex(of: "tgid") else {
            return nil
        }
        return Set(
            lines.dropFirst().compactMap { words in
                let shift = words.count - heading.count
                guard shift >= 0, words[place + shift] == "y" else { return nil }
                return Int(words[process + shift])
            })
    }

    // MARK: Boot and load

    private mutating func readBoot(_ box: BoxFolder) {
        consoleBlank = box.number("/sys/module/kernel/parameters/consoleblank")
        commandLine = box.text("/proc/cmdline").map { $0.split { $0.isWhitespace }.map(String.init) }
        bootFile = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt", "/etc/default/grub"].first(where: box.exists)
        sysrq = box.number("/proc/sys/kernel/sysrq")
        let drop = box.names("/etc/systemd/logind.conf.d").filter { $0.hasSuffix(".conf") }.map { "/etc/systemd/logind.conf.d/\($0)" }
        if box.exists("/etc/systemd") {
            startsLogins = !(["/etc/systemd/logind.conf"] + drop).contains { box.lines($0).contains("NAutoVTs=0") }
        }
        var date = time_t()
        Glibc.time(&date)
        var parts = tm()
        gmtime_r(&date, &parts)
        time = TimeOfDay(
            year: Int(parts.tm_year) + 1900,
            isServed: box.exists("/etc/systemd/system/sysinit.target.wants/systemd-timesyncd.service"),
            isSynchronized: box.exists("/run/systemd/timesync/synchronized"))
    }

    private mutating func readLoad(_ box: BoxFolder) {
        if let system = statvfs(at: box.isMachine ? "/" : box.root) {
            (freeBytes, allBytes) = (Double(system.free), Double(system.size))
            isRootReadOnly = system.f_flag & UInt(ST_RDONLY) != 0
        }
        zones = box.names("/sys/class/thermal", "thermal_zone").compactMap { zone in
            let folder = "/sys/class/thermal/\(zone)"
            guard let temperature = box.number("\(folder)/temp") else { return nil }
            var result = Zone(name: box.word("\(folder)/type") ?? zone, temperature: Double(temperature) / 1000)
            for point in 0..<12 {
                guard let kind = box.word("\(folder)/trip_point_\(point)_type"),
                    let limit = box.number("\(folder)/trip_point_\(point)_temp")
                else { break }
                if kind == "passive" { result.passive = min(result.passive ?? .infinity, Double(limit) / 1000) }
                if kind == "critical" { result.critical = Double(limit) / 1000 }
            }
            return result
        }
        throttled = box.word("/sys/devices/platform/soc/soc:firmware/get_throttled").flatMap { UInt($0, radix: 16) }
    }
}

extension BoxFacts.Units {
    private static let folders = ["/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"]

    init(_ box: BoxFolder) {
        let own = "/etc/systemd/system"
        isInstalled = Self.text("kiosk.service", box) != nil
        isEnabled = box.exists("\(own)/multi-user.target.wants/kiosk.service")
        isPathEnabled = box.exists("\(own)/multi-user.target.wants/kiosk.path")
        displayManager = box.linkName("\(own)/display-manager.service")
        defaultTarget = Self.folders.lazy.compactMap { box.linkName("\($0)/default.target") }.first
        isGettyMasked = box.linkName("\(own)/getty@tty1.service") == "null"
        guard isInstalled, box.isMachine, box.exists("/run/systemd/system") else { return }
        let answer = BoundedCommand.run(["systemctl", "show", "-p", "ActiveState", "--value", "kiosk.service"], limit: BoxFacts.limit)
        if case .ended(0, let output) = answer { state = output.split { $0.isWhitespace }.first.map(String.init) }
    }

    /// Returns the text of a unit's file.
    static func text(_ unit: String, _ box: BoxFolder) -> String? { folders.lazy.compactMap { box.text("\($0)/\(unit)") }.first }
}

/// Users and groups, from the machine's own files.
enum Accounts {
    static func groupNames(_ box: BoxFolder) -> [UInt32: String] {
        Dictionary(groups(box).map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the user of the service, or the caller if there is none.
    static func player(_ box: BoxFolder, isInstalled: Bool) -> BoxFacts.Player {
        let unit = BoxFacts.Units.text("kiosk.service", box)?.split(separator: "\n") ?? []
        let name = unit.last { $0.hasPrefix("User=") }.map { String($0.dropFirst(5)) } ?? "kiosk"
        let users = box.lines("/etc/passwd").map { $0.split(separator: ":", omittingEmptySubsequences: false) }
        let caller = geteuid()
        let found = users.first { $0.first == name[...] } ?? users.first { $0.count > 2 && UInt32($0[2]) == caller }
        guard let found, found.count > 3, let user = UInt32(found[2]), let group = UInt32(found[3]) else {
            return BoxFacts.Player(name: "\(caller)", user: caller, groups: [getegid()])
        }
        let added = unit.filter { $0.hasPrefix("SupplementaryGroups=") }.flatMap { $0.dropFirst(20).split(separator: " ") }
        let all = groups(box).filter { $0.members.contains(found[0]) || (found[0] == name[...] && added.contains($0.name[...])) }
        return BoxFacts.Player(name: String(found[0]), user: user, groups: Set(all.map(\.number) + [group]))
    }

    private static func groups(_ box: BoxFolder) -> [(name: String, number: UInt32, members: [Substring])] {
        box.lines("/etc/group").compactMap { line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 3, let number = UInt32(fields[2]) else { return nil }
            return (String(fields[0]), number, fields[3].split(separator: ","))
        }
    }
}
