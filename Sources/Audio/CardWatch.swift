import KioskPlatform

/// Notices that a card has come while another one plays, so that kiosk makes its automatic choice again. Examples are USB speakers that
/// were found late, or were unplugged and plugged in again while HDMI played. It also notices that a held line has gone: a plug was pulled
/// out. A pure value: the kernel's list of PCMs in (`/proc/asound/pcm`), a decision out.
struct CardWatch {
    private var known: Set<Substring>
    /// The cards that have come since, and the times of that.
    private var newcomers: [Substring: HostTime] = [:]
    private var lastReading: HostTime
    /// The lines that must stay, and the time since which one of them has been missing.
    private var held: Set<Substring>
    private var missingSince: HostTime?

    static let interval = MediaTime.milliseconds(500)
    /// How long a card must have been there. A new choice makes a gap in the sound, and a loose plug must not cause one each time.
    static let steadyTime = MediaTime.seconds(2)

    /// Starts a watch. `list` is the list at the time of the choice; its lines in `held` must stay.
    init(list: String, holding held: [String] = [], at now: HostTime) {
        known = Self.playback(list)
        self.held = known.intersection(held.map { Substring($0) })
        lastReading = now
    }

    /// Returns true once when a new playback PCM has come and stayed, or a held one has stayed away. Calls `list` every ``interval``.
    mutating func hasNewCard(at now: HostTime, list: () -> String) -> Bool {
        guard now - lastReading >= Self.interval else { return false }
        lastReading = now
        let present = Self.playback(list())
        // A card that has gone counts as new when it returns.
        known.formIntersection(present)
        newcomers = newcomers.filter { present.contains($0.key) }
        for card in present.subtracting(known) where newcomers[card] == nil { newcomers[card] = now }
        missingSince = held.isSubset(of: present) ? nil : missingSince ?? now
        let isPulled = missingSince.map { now - $0 >= Self.steadyTime } ?? false
        guard isPulled || newcomers.contains(where: { now - $0.value >= Self.steadyTime }) else { return false }
        if isPulled { (held, missingSince) = (held.intersection(present), nil) }
        (known, newcomers) = (present, [:])
        return true
    }

    private static func playback(_ list: String) -> Set<Substring> { Set(list.split(separator: "\n").filter { $0.contains(": playback") }) }
}
