import KioskPlatform

/// Notices that a card has come while another one is played to, so that the automatic choice is made again: USB speakers that were found
/// late, or were unplugged and plugged in again while HDMI was used instead. Where it is told of lines that the choice was made for, it notices
/// that one of these has gone, too: a plug that was pulled out. A pure value: the kernel's list of PCMs in (`/proc/asound/pcm`), a decision out.
struct CardWatch {
    private var known: Set<Substring>
    /// Those that have come since, and when.
    private var newcomers: [Substring: HostTime] = [:]
    private var lastReading: HostTime
    /// The lines that must stay, and since when one of them has not been there.
    private var held: Set<Substring>
    private var missingSince: HostTime?

    static let interval = MediaTime.milliseconds(500)
    /// How long a card must have been there. Choosing again makes a hole in the sound, which a plug with a loose contact must not cause
    /// each time.
    static let steadyTime = MediaTime.seconds(2)

    /// `list` was the list when the choice was made; of the lines of it in `held` none may go.
    init(list: String, holding held: [String] = [], at now: HostTime) {
        known = Self.playback(list)
        self.held = known.intersection(held.map { Substring($0) })
        lastReading = now
    }

    /// Whether a playback PCM that was not there before has come and stayed, or one that was held has gone and stayed away; true once. Calls `list` every ``interval``.
    mutating func hasNewCard(at now: HostTime, list: () -> String) -> Bool {
        guard now - lastReading >= Self.interval else { return false }
        lastReading = now
        let present = Self.playback(list())
        // A card that has gone counts as new when it comes back.
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
