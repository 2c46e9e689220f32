import Glibc
import KioskPlatform

// How a side sleeps until the other has something for it, without a system call while neither sleeps.
//
// A bell is a number that grows with every ring, and beside it stands what its owner sleeps for. Who rings publishes first, then adds to the
// bell, then looks whether somebody sleeps for that, and only then calls the kernel. The owner reads the bell first, then looks whether there is
// something, then says what it sleeps for, and sleeps only if the bell is still what it was (futex(2)). So whatever is published after the owner
// has looked either changes the bell before it sleeps, or is published while it says that it sleeps.
//
// The owner alone says what it sleeps for, and takes that back when it is awake. If whoever rings took it back, a ring for something else
// could take back what the owner has said since, and the next ring would not wake it.
//
// The other side can write all of this. The player's own threads ring its bell without looking (``ring(_:always:)``), it never sleeps long, and
// a reader that rings for nothing is slept against.

/// The bell of one side.
package struct Bell: Sendable {
    /// What one sleeps for.
    package struct Subjects: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Pictures have come, or are wanted.
        package static let pictures = Subjects(rawValue: 1)
        /// The same of sound.
        package static let sound = Subjects(rawValue: 2)
        /// A message has come, or everything is over.
        package static let messages = Subjects(rawValue: 4)
        /// Pictures have been given back.
        package static let returns = Subjects(rawValue: 8)
    }

    private let page: ControlPage
    private let word: ControlPage.Word, waits: ControlPage.Word

    fileprivate init(_ page: ControlPage, _ word: ControlPage.Word, _ waits: ControlPage.Word) {
        (self.page, self.word, self.waits) = (page, word, waits)
    }

    /// Wakes the owner if it sleeps for one of these; they are published already. Any thread of both sides.
    ///
    /// - Parameter always: whatever it sleeps for. For who does not believe what the other side can write.
    package func ring(_ subjects: Subjects, always: Bool = false) {
        add()
        if always || isAwaited(subjects) { wake() }
    }

    // The steps of it, and of Sleeper.

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

/// Who sleeps at a bell: one thread at a time.
package struct Sleeper: Sendable {
    private let bell: Bell
    /// The longest sleep; nil for one that believes the other side.
    private let slice: MediaTime?
    /// Rings in a row after which there was nothing.
    private var vainRings = 0

    /// Rings that are taken for a flood.
    private static let mostVainRings = 64

    /// The owner of a bell that sleeps for so long at most: the player looks by itself from time to time, as the reader can leave it asleep.
    package init(at bell: Bell, slice: MediaTime? = nil) { (self.bell, self.slice) = (bell, slice) }

    /// Sleeps until `look` finds something; nil once `deadline` has passed. `look` is called first, and after each ring for one of `subjects`.
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
