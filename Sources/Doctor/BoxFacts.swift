import KioskPlatform

/// The facts about a machine: ``read(root:question:)`` reads them, ``BoxCheck`` judges them. nil means that the machine does not say.
package struct BoxFacts: Hashable, Sendable {
    /// The user that plays.
    package struct Player: Hashable, Sendable {
        package var name: String
        package var user: UInt32
        /// Its groups, by the kernel's numbers, including those that the unit adds.
        package var groups: Set<UInt32>
    }

    /// A device that kiosk opens for reading and writing.
    package struct Node: Hashable, Sendable {
        /// The purpose of a device.
        package enum Use: String, Hashable, Sendable, CaseIterable { case display, sound, input, decoder }

        package var path: String
        package var use: Use
        package var owner: UInt32
        package var group: UInt32
        /// The permission bits, such as 0o660.
        package var mode: UInt32
        /// Whether the kernel lets the player open it, with access control lists; nil if the player could not be asked.
        package var isAllowed: Bool?

        package init(_ path: String, _ use: Use, owner: UInt32 = 0, group: UInt32, mode: UInt32, isAllowed: Bool? = nil) {
            (self.path, self.use, self.owner, self.group) = (path, use, owner, group)
            (self.mode, self.isAllowed) = (mode, isAllowed)
        }

        /// Returns whether `player` may open it for reading and writing.
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
        /// Whether the kernel reports it as the DRM master; nil if only root may know.
        package var isMaster: Bool?
    }

    /// The state of the units, by systemd's links.
    package struct Units: Hashable, Sendable {
        package var isInstalled = false
        package var isEnabled = false
        package var isPathEnabled = false
        /// The state by systemd itself: `active`, `failed`; nil if systemd does not run or does not answer.
        package var state: String?
        /// The display manager that the system starts: `gdm.service`.
        package var displayManager: String?
        /// The boot target: `graphical.target`.
        package var defaultTarget: String?
        package var isGettyMasked = false
    }

    /// The clock.
    package struct TimeOfDay: Hashable, Sendable {
        package var year: Int
        /// Whether systemd-timesyncd is enabled, and whether it has set the clock since the boot.
        package var isServed = false
        package var isSynchronized = false
    }

    /// A temperature sensor, in degrees Celsius.
    package struct Zone: Hashable, Sendable {
        package var name: String
        package var temperature: Double
        /// The temperatures at which the system throttles the processor, and at which it shuts down.
        package var passive: Double?, critical: Double?
    }

    /// The speed of a read that bypasses the page cache.
    package enum Storage: Hashable, Sendable {
        /// Bytes read in so many seconds; the clip needs `rate` bytes a second, if its length is known.
        case read(path: String, bytes: Int, seconds: Double, rate: Double?)
        /// The read did not end in time.
        case overdue(path: String, seconds: Double)
        case failed(path: String, reason: String)
    }

    /// A sound card with playback.
    package struct Card: Hashable, Sendable {
        package var name: String
        /// Whether it has no loudspeaker: a driver for tests.
        package var isVirtual = false
        /// Reasons for silence, with the fix: `Master of PCH is muted, so nothing is heard: amixer …`.
        package var silencers: [String] = []
    }

    /// How kiosk reads media.
    package struct Reading: Hashable, Sendable {
        /// Whether processes of their own should read them.
        package var isWanted = true
        /// Why no such process can start; nil if one can.
        package var failure: String?
        /// The kernel's missing features for restricting those processes; empty if it has all.
        package var lack = ""

        package init() {}
    }

    package var reading: Reading?
    package var player = Player(name: "root", user: 0, groups: [])
    package var nodes: [Node] = []
    /// The names of groups, by number.
    package var groupNames: [UInt32: String] = [:]
    /// Whether there is a display device, KMS or fbdev.
    package var hasDisplayDevice = false
    /// `connected`, `disconnected` or `unknown`, by connector.
    package var connectors: [String: String] = [:]
    package var holders: [Holder] = []
    /// Seconds until the console blanks the screen; 0 for never.
    package var consoleBlank: Int?
    /// The kernel's parameters; nil if /proc has none.
    package var commandLine: [String]?
    /// The file for editing these parameters, if it is a known one.
    package var bootFile: String?
    package var units = Units()
    /// The allowed functions of the SysRq key (0: none).
    package var sysrq: Int?
    /// Whether logind starts a login on each terminal that a user switches to.
    package var startsLogins: Bool?
    package var time: TimeOfDay?
    package var missingDecoders: [String]?
    /// Whether kiosk.conf wants sound.
    package var wantsSound = true
    package var cards: [Card]?
    package var storage: Storage?
    /// The free bytes and all bytes of the root file system.
    package var freeBytes: Double?, allBytes: Double?
    package var isRootReadOnly = false
    package var zones: [Zone] = []
    /// A Raspberry Pi's `get_throttled`: bit 0 under-voltage now, 1 and 2 throttled now, 16 under-voltage since the boot.
    package var throttled: UInt?
}
