import Platform

/// Notices that a card has come while another one is played to, so that an automatic choice can be made anew: USB speakers that were found late, or
/// were pulled and put back while HDMI stood in for them. A pure value: the kernel's list of PCMs in (`/proc/asound/pcm`), a decision out.
struct CardWatch {
    private var known: Set<Substring>
    /// Those that have come since, and when.
    private var newcomers: [Substring: HostTime] = [:]
    private var lastLook: HostTime

    static let interval = MediaTime.milliseconds(500)
    /// How long a card must have been there: to choose again makes a hole in the sound, which a loose plug is not worth each time it makes contact.
    static let steadyTime = MediaTime.seconds(2)

    /// Where `list` was the list when the choice was made.
    init(list: String, at now: HostTime) {
        known = Self.playback(list)
        lastLook = now
    }

    /// Whether a playback PCM that was not there before has come and stayed; true once. Asks for the list now and then.
    mutating func hasNewCard(at now: HostTime, list: () -> String) -> Bool {
        guard now - lastLook >= Self.interval else { return false }
        lastLook = now
        let present = Self.playback(list())
        // One that has gone is new when it is back.
        known.formIntersection(present)
        newcomers = newcomers.filter { present.contains($0.key) }
        for card in present.subtracting(known) where newcomers[card] == nil { newcomers[card] = now }
        guard newcomers.contains(where: { now - $0.value >= Self.steadyTime }) else { return false }
        (known, newcomers) = (present, [:])
        return true
    }

    private static func playback(_ list: String) -> Set<Substring> { Set(list.split(separator: "\n").filter { $0.contains(": playback") }) }
}
