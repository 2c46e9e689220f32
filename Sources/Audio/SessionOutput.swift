import KioskPlatform
import KioskPlayback
import KioskVocabulary

// Which card an output opens, and when it chooses again, by the session.

extension ALSAOutput {
    /// Begins to open `device`, and returns. `display` is called on any thread and names the active connector; where the choice is automatic
    /// it may take as long as a display needs, and the card is opened then.
    package convenience init(
        device: AudioDevice, session: AudioSession = AudioSession(), display: @escaping @Sendable () -> String? = { nil }
    ) {
        guard device == .automatic else {
            self.init { rate, buffer throws(AudioError) in
                try device.open(rate: rate, buffer: buffer, display: nil, session: session)
            }
            return
        }
        let followsPlugs = session.route == .port
        let isFixed = session.route == .fixed
        // An empty list is one in which nothing ever comes.
        let list: ListPCMs = { isFixed ? "" : AudioCard.listing(display(), followsPlugs: followsPlugs) }
        self.init(listPCMs: list, followsPlugs: followsPlugs, awaitDisplay: { _ = display() }) { rate, buffer throws(AudioError) in
            try device.open(rate: rate, buffer: buffer, display: display(), session: session)
        }
    }
}
