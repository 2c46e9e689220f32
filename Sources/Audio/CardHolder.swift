import CALSA
import Platform

/// Who has a hardware PCM open, from /proc.
enum CardHolder {
    static func find(_ device: String) -> String? {
        // hw:CARD=PCH,DEV=0 and hw:0,0; for anything else the card is not known.
        guard let colon = device.firstIndex(of: ":") else { return nil }
        let parts = device[device.index(after: colon)...].split(separator: ",").map { $0.split(separator: "=").last ?? $0 }
        guard let card = parts.first else { return nil }
        let index = Int(card) ?? Int(snd_card_get_index(String(card)))
        let path = "/proc/asound/card\(index)/pcm\(parts.dropFirst().first ?? "0")p/sub0/status"
        let owner = ProcFile.read(path)?.split(separator: "\n").first { $0.hasPrefix("owner_pid") }
        return owner?.split(separator: ":").last.flatMap { Int($0.drop { $0 == " " }) }.map(ProcFile.name(ofProcess:))
    }
}
