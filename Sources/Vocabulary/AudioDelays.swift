/// `[audio] delay` and `delays`: the milliseconds by which the sound comes after the picture. Negative is earlier.
package struct AudioDelays: Hashable, Sendable {
    /// The delay of a sound card.
    package struct Entry: Hashable, Sendable {
        /// A part of the name of the card, of its output or of the ALSA device. Case does not matter.
        package var device: String
        package var milliseconds: Int

        package init(device: String, milliseconds: Int) { (self.device, self.milliseconds) = (device, milliseconds) }
    }

    /// The delay of every card without an entry.
    package var usual = 0
    /// The first matching entry counts.
    package var entries: [Entry] = []

    package init(usual: Int = 0, entries: [Entry] = []) { (self.usual, self.entries) = (usual, entries) }

    /// The smallest delay. The engine delays the sound by it, whichever card plays.
    package var least: Int { entries.reduce(usual) { min($0, $1.milliseconds) } }

    /// Returns the further delay beyond ``least`` for a card with these names. Never negative.
    package func extra(of names: [String]) -> Int {
        let names = names.map { $0.lowercased() }
        let entry = entries.first { entry in
            let part = entry.device.lowercased()
            return names.contains { $0.contains(part) }
        }
        return (entry?.milliseconds ?? usual) - least
    }
}
