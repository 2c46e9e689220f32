import KioskPlatform

extension MediaTime {
    /// The longest time in kiosk.conf: 1000 hours.
    package static let longest = MediaTime(nanoseconds: 3_600_000 * 1_000_000_000)

    /// Parses `mm:ss` or `h:mm:ss`, with up to nine decimals of a second; nil for anything else.
    package init?(clock text: String) {
        let shape = /(?:([0-9]{1,4}):([0-5][0-9])|([0-9]{1,6})):([0-5][0-9])(?:\.([0-9]{1,9}))?/
        guard let match = text.wholeMatch(of: shape) else { return nil }
        let hours = match.1.flatMap { Int64($0) } ?? 0
        let minutes = (match.2 ?? match.3).flatMap { Int64($0) } ?? 0
        let seconds = Int64(match.4) ?? 0
        let decimals = match.5.map(String.init) ?? ""
        let fraction = Int64(decimals + String(repeating: "0", count: 9 - decimals.count)) ?? 0
        self.init(nanoseconds: ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + fraction)
    }
}
