import Glibc
import KioskPlatform

/// Removes the owner's identity from a text: names, addresses, titles, paths, serial numbers. A pure value.
package struct Redaction: Sendable {
    /// The names, the longest first, as one may be part of another.
    private let names: [String]

    /// Makes a redaction of names. Names shorter than three characters stay, because they occur everywhere.
    package init(names: [String]) {
        self.names = Set(names.filter { $0.count > 2 && !Self.plain.contains($0.lowercased()) }).sorted { ($0.count, $0) > ($1.count, $1) }
    }

    /// Words that identify nobody.
    private static let plain: Set<String> = ["kiosk", "localhost", "video", "audio", "render", "input", "root", "raspberrypi", "debian"]
    /// The system's folders, whose paths stay.
    private static let systemFolders = ["/dev/", "/sys/", "/proc/", "/usr/", "/lib/", "/etc/", "/boot/", "/bin/", "/sbin/", "/run/"]

    /// Returns the redacted text.
    package func applied(to text: String) -> String {
        var text = text
        // A playlist may have thousands of names, and the text contains few of them.
        var searched = Self.searchable(text)
        for name in names where strstr(searched, name.lowercased()) != nil {
            text = Self.replacing(name, in: text)
            searched = Self.searchable(text)
        }
        text = text.replacing(/[A-Za-z][A-Za-z0-9+.\-]*:\/\/[^\s"'“”]+/, with: "URL")
        text = text.replacing(/[^\s@<>"]+@[^\s@<>"]+\.[A-Za-z]{2,}/, with: "MAIL")
        text = text.replacing(/\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b/, with: "UUID")
        text = text.replacing(/\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b/, with: "MAC")
        text = text.replacing(/\b(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}\b|\b[0-9A-Fa-f]{1,4}::[0-9A-Fa-f:]+\b/, with: "IP")
        text = text.replacing(/\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b/, with: "IP")
        text = text.replacing(/(?i)\b(serial ?(?:number)?|ssid)\b[ :=#]*[^\s,;]+/) { "\($0.output.1) REMOVED" }
        text = text.replacing(/\/[^\s"'“”:,;()]+/) { match in
            let path = String(match.output)
            if Self.systemFolders.contains(where: { path.hasPrefix($0) }) || !path.dropFirst().contains("/") { return path }
            let ending = path.split(separator: "/").last?.split(separator: ".").last.map(String.init) ?? ""
            return "PATH" + (ending.count < 6 && path.contains(".") ? ".\(ending)" : "")
        }
        return text.printableLines
    }

    /// Returns the text in lower case as a C string; spaces replace zero bytes.
    private static func searchable(_ text: String) -> [CChar] {
        text.lowercased().utf8.map { $0 == 0 ? CChar(UInt8(ascii: " ")) : CChar(bitPattern: $0) } + [0]
    }

    /// Replaces a name that is not part of a longer word, ignoring case.
    private static func replacing(_ name: String, in text: String) -> String {
        let (wanted, all) = (Array(name.lowercased()), Array(text))
        guard let first = wanted.first else { return text }
        var result = ""
        var index = 0
        func isWord(_ place: Int) -> Bool { all.indices.contains(place) && (all[place].isLetter || all[place].isNumber) }
        while index < all.count {
            let end = index + wanted.count
            let isHere =
                end <= all.count && all[index].lowercased().first == first && String(all[index..<end]).lowercased() == String(wanted)
                && !(isWord(index - 1) && (wanted[0].isLetter || wanted[0].isNumber)) && !(isWord(end) && isWord(end - 1))
            if isHere {
                result += "NAME"
                index = end
            } else {
                result.append(all[index])
                index += 1
            }
        }
        return result
    }
}
