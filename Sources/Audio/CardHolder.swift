import CKioskALSA
import KioskPlatform

/// The card in the name of a PCM, and its device: `hw:CARD=PCH,DEV=3`, `hw:0,3`, `front:PCH`.
struct PCMName: Equatable {
    /// As in the name: an id or a number; nil for a name without a card.
    var card: String?
    /// 0 where the name has none. With `hdmi:` and the like it is the index among those, not the kernel's number.
    var device: Int

    init(_ name: String) {
        device = 0
        // A slave in quotes has a name of its own.
        guard let colon = name.firstIndex(of: ":"), !name.contains(where: { "'\"{".contains($0) }) else { return }
        for (place, argument) in name[name.index(after: colon)...].split(separator: ",").enumerated() {
            let parts = argument.split(separator: "=", maxSplits: 1)
            let value = parts.last.map(String.init) ?? ""
            switch parts.count == 2 ? parts[0] : place == 0 ? "CARD" : place == 1 ? "DEV" : "" {
            case "CARD": card = value
            case "DEV": device = Int(value) ?? 0
            default: break
            }
        }
    }

    /// The kernel's number of the card, negative when there is none of that name; nil for a name without a card.
    var cardIndex: Int? { card.map { Int(snd_card_get_index($0)) } }
}

/// Finds the process that has a hardware PCM open, in /proc.
package enum CardHolder {
    /// `arecord (pid 212)`, who plays to the device of this ALSA name, or records from it; nil where nobody can be seen.
    package static func find(_ device: String, records: Bool = false) -> String? {
        let name = PCMName(device)
        guard let index = name.cardIndex else { return nil }
        let path = "/proc/asound/card\(index)/pcm\(name.device)\(records ? "c" : "p")/sub0/status"
        let owner = SmallFile.text(path)?.split(separator: "\n").first { $0.hasPrefix("owner_pid") }
        return owner?.split(separator: ":").last.flatMap { Int($0.drop { $0 == " " }) }.map { DeviceHolder.name(ofProcess: $0) }
    }
}
