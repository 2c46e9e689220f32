import Glibc
import KioskPlatform

// How a side sleeps until the other has something for it, without a system call while neither sleeps.
//
// A bell is a number that grows with every ring; beside it stands a mask of its owner's subjects. A ringer publishes first, then adds to
// the bell, then checks the mask, and only then calls the kernel. The owner reads the bell first, looks for something new, sets the mask,
// and sleeps only if the bell is unchanged (futex(2)). So a publication after that look either changes the bell before the owner sleeps, or
// finds the mask set.
//
// Only the owner sets the mask, and clears it when it is awake. If a ringer cleared the mask, a ring for another subject could clear a mask
// that the owner has set since. The next ring would not wake the owner.
//
// The other side can write all of this. So the player's own threads ring its bell without looking (``ring(_:always:)``), and it never
// sleeps long. If a reader rings in vain too often, the player pauses briefly.

/// The bell of one side.
package struct Bell: Sendable {
    /// The subjects that a side sleeps for.
    package struct Subjects: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Pictures have come, or are wanted.
        package static let pictures = Subjects(rawValue: 1)
        /// The same for sound.
        package static let sound = Subjects(rawValue: 2)
        /// A message has come, or everything is over.
        package static let messages = Subjects(rawValue: 4)
        /// The player has given pictures back.
        package static let returns = Subjects(rawValue: 8)
    }

    private let page: ControlPage
    private let word: ControlPage.Word, waits: ControlPage.Word

    fileprivate init(_ page: ControlPage, _ word: ControlPage.Word, _ waits: ControlPage.Word) {
        (self.page, self.word, self.waits) = (page, word, waits)
    }

    /// Wakes the owner if it sleeps for one of these; publish them first. Any thread of both sides.
    ///
    /// - Parameter always: wakes it whatever it sleeps for: for callers that do not trust memory that the other side can write.
    package func ring(_ subjects: Subjects, always: Bool = false) {
        add()
        if always || isAwaited(subjects) { wake() }
    }

    // The steps of ``ring(_:always:)`` and of Sleeper.

    var value: UInt32 { page.loadInOrder(word) }
    func add() { page.advanceInOrder(word) }
    func isAwaited(_ subjects: Subjects) -> Bool { page.loadInOrder(waits) & subjects.rawValue != 0 }
    func wake() { page.wake(word) }
    func say(_ subjects: Subjects) { page.storeInOrder(waits, subjects.rawValue) }
    func sleep(_ seen: UInt32, until deadline: HostTime?) -> Int32 { page.sleep(word, seen, until: deadline) }
}

extension ControlPage {
    /// The bell at which the player sleeps.
    package var playerBell: Bell { Bell(self, .playerBell, .playerWaits) }
    /// The bell at which the reader sleeps.
    package var readerBell: Bell { Bell(self, .readerBell, .readerWaits) }
}

/// The owner that sleeps at a bell: one thread at a time.
package struct Sleeper: Sendable {
    private let bell: Bell
    /// The longest sleep; nil if it trusts the other side.
    private let slice: MediaTime?
    /// Consecutive rings without news.
    private var vainRings = 0

    /// The number of such rings that counts as a flood.
    private static let mostVainRings = 64

    /// Creates the owner of a bell. It sleeps for at most `slice`: the player looks by itself from time to time, as the reader can leave it
    /// asleep.
    package init(at bell: Bell, slice: MediaTime? = nil) { (self.bell, self.slice) = (bell, slice) }

    /// Sleeps until `look` finds something; nil once `deadline` has passed. Calls `look` first, and after each ring for one of `subjects`.
    package mutating func sleep<Found, Failure: Error>(
        for subjects: Bell.Subjects, until deadline: HostTime? = nil, _ look: () throws(Failure) -> Found?
    ) throws(Failure) -> Found? {
        while true {
            let seen = bell.value
            if let found = try look() {
                vainRings = 0
                return found
            }
            if let deadline, deadline <= .now { return nil }
            let end = [deadline, slice.map { .now + $0 }].compactMap { $0 }.min()
            bell.say(subjects)
            let status = bell.sleep(seen, until: end)
            bell.say([])
            vainRings = status == ETIMEDOUT ? 0 : vainRings + 1
            // The reader floods the bell, or has made the kernel refuse to wait at it.
            if slice != nil, vainRings >= Self.mostVainRings || ![0, ETIMEDOUT].contains(status) { usleep(1000) }
        }
    }
}
