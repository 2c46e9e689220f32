import Media
import Platform

/// Notices that a card has come while another one is played to, so that an automatic choice can be made anew: USB speakers that were found late, or
/// were pulled and put back while HDMI stood in for them. A pure value: the kernel's list of PCMs in (`/proc/asound/pcm`), a decision out.
struct CardWatch {
    private var known: Set<Substring>
    private var cameAt: HostTime?
    private var lastLook: HostTime

    static let interval = MediaTime.milliseconds(500)

    /// Where `list` was the list when the choice was made.
    init(list: String, at now: HostTime) {
        known = Self.playback(list)
        lastLook = now
    }

    /// Whether a playback PCM that was not there before has come, and ``CardState/settlingTime`` has passed since. Asks for the list now and then.
    mutating func hasNewCard(at now: HostTime, list: () -> String) -> Bool {
        guard now - lastLook >= Self.interval else { return false }
        lastLook = now
        let present = Self.playback(list())
        if !present.subtracting(known).isEmpty { cameAt = now }
        known = present
        guard let came = cameAt, now - came >= CardState.settlingTime else { return false }
        cameAt = nil
        return true
    }

    private static func playback(_ list: String) -> Set<Substring> { Set(list.split(separator: "\n").filter { $0.contains(": playback") }) }
}
