import CALSA
import Glibc

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
        guard let process = owner?.split(separator: ":").last.flatMap({ Int($0.drop { $0 == " " }) }) else { return nil }
        let name = ProcFile.read("/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        return "\(name ?? "a process") (pid \(process))"
    }
}

private enum ProcFile {
    /// The beginning of a small text file; nil when it cannot be read.
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
