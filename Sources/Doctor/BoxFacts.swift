import KioskPlatform

/// What is known about a box: read by ``read(root:question:)``, judged by ``BoxCheck``. An optional is nil where the box does not tell.
package struct BoxFacts: Hashable, Sendable {
    /// Who plays.
    package struct Player: Hashable, Sendable {
        package var name: String
        package var user: UInt32
        /// The groups that it has, by the kernel's numbers, those that the unit adds among them.
        package var groups: Set<UInt32>
    }

    /// A device that kiosk opens for reading and writing.
    package struct Node: Hashable, Sendable {
        /// What it is opened for.
        package enum Use: String, Hashable, Sendable, CaseIterable { case display, sound, input, decoder }

        package var path: String
        package var use: Use
        package var owner: UInt32
        package var group: UInt32
        /// The permission bits, such as 0o660.
        package var mode: UInt32
        /// Whether the kernel lets the player open it, where the player could be asked: access control lists count then, too.
        package var isAllowed: Bool?

        package init(_ path: String, _ use: Use, owner: UInt32 = 0, group: UInt32, mode: UInt32, isAllowed: Bool? = nil) {
            (self.path, self.use, self.owner, self.group) = (path, use, owner, group)
            (self.mode, self.isAllowed) = (mode, isAllowed)
        }

        /// Whether `player` may open it for reading and writing.
        package func opens(for player: Player) -> Bool {
            if let isAllowed { return isAllowed }
            if player.user == 0 { return true }
            if player.user == owner { return mode & 0o600 == 0o600 }
            return player.groups.contains(group) ? mode & 0o060 == 0o060 : mode & 0o006 == 0o006
        }
    }

    /// Another program that has the display's device open.
    package struct Holder: Hashable, Sendable {
        package var card: String
        /// `Xorg (pid 212)`.
        package var program: String
        /// Whether the kernel says that it is the master; nil where only root is told.
        package var isMaster: Bool?
    }

    /// The units, as the links of systemd say.
    package struct Units: Hashable, Sendable {
        package var isInstalled = false
        package var isEnabled = false
        package var isPathEnabled = false
        /// What systemd itself says: `active`, `failed`; nil where it does not run or does not answer.
        package var state: String?
        /// The display manager that the system starts: `gdm.service`.
        package var displayManager: String?
        /// What the system boots to: `graphical.target`.
        package var defaultTarget: String?
        package var isGettyMasked = false
    }

    /// The clock.
    package struct TimeOfDay: Hashable, Sendable {
        package var year: Int
        /// Whether systemd-timesyncd is to set it, and whether it has since the boot.
        package var isServed = false
        package var isSynchronized = false
    }

    /// A temperature sensor, in degrees Celsius.
    package struct Zone: Hashable, Sendable {
        package var name: String
        package var temperature: Double
        /// Where the system slows the processor down, and where it turns itself off.
        package var passive: Double?, critical: Double?
    }

    /// How fast a file was read past the page cache.
    package enum Storage: Hashable, Sendable {
        /// Bytes read in so many seconds; the clip needs `rate` bytes a second, where its length is known.
        case read(path: String, bytes: Int, seconds: Double, rate: Double?)
        /// The read did not end in time.
        case overdue(path: String, seconds: Double)
        case failed(path: String, reason: String)
    }

    /// A sound card that plays.
    package struct Card: Hashable, Sendable {
        package var name: String
        /// Whether it has no loudspeaker: a driver for tests.
        package var isVirtual = false
        /// What keeps it silent, and what to type: `Master of PCH is muted, so nothing is heard: amixer …`.
        package var silencers: [String] = []
    }

    /// How media are read.
    package struct Reading: Hashable, Sendable {
        /// Whether processes of their own are to read them.
        package var isWanted = true
        /// Why none can be started; nil where one can.
        package var failure: String?
        /// What the kernel lacks to keep their rights from them; empty where it lacks nothing.
        package var lack = ""

        package init() {}
    }

    package var reading: Reading?
    package var player = Player(name: "root", user: 0, groups: [])
    package var nodes: [Node] = []
    /// The names of groups, by number.
    package var groupNames: [UInt32: String] = [:]
    /// Whether there is a display's device, KMS or fbdev.
    package var hasDisplayDevice = false
    /// `connected`, `disconnected` or `unknown`, by connector.
    package var connectors: [String: String] = [:]
    package var holders: [Holder] = []
    /// Seconds until the console blanks the screen; 0 is never.
    package var consoleBlank: Int?
    /// The kernel's parameters; nil where /proc has none.
    package var commandLine: [String]?
    /// The file in which its operator writes them, where it is a known one.
    package var bootFile: String?
    package var units = Units()
    /// What the SysRq key may do (0: nothing).
    package var sysrq: Int?
    /// Whether logind starts a login on each terminal that somebody switches to.
    package var startsLogins: Bool?
    package var time: TimeOfDay?
    package var missingDecoders: [String]?
    /// Whether kiosk.conf wants sound.
    package var wantsSound = true
    package var cards: [Card]?
    package var storage: Storage?
    /// Of the root's file system: bytes that are free, and all.
    package var freeBytes: Double?, allBytes: Double?
    package var isRootReadOnly = false
    package var zones: [Zone] = []
    /// A Raspberry Pi's `get_throttled`: bit 0 under-voltage now, 1 and 2 slowed down now, 16 under-voltage since the boot.
    package var throttled: UInt?
}
