import Glibc
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskSchedule
import KioskVocabulary
import Logging

/// The content and the places of overlays at one instant. Pure values, from the configuration, the clock, the item on the screen and
/// programs' requests.
struct OverlayEntry: Sendable {
    /// A program's text for an overlay, and the time until which it stays.
    struct Order: Hashable, Sendable {
        var text: String
        var until: HostTime?
    }

    var settings: Configuration.Overlay
    /// The content of its file; nil while there is none.
    var fileText: String?
    var picture: LoadedPicture?
    var order: Order?
    /// Whether a program created it and the configuration does not know it.
    private(set) var isMessage = false

    init(_ settings: Configuration.Overlay) { self.settings = settings }

    /// Creates an overlay for a program's message, unknown to the configuration: a line that is legible on any picture.
    init(message name: String) {
        settings = Configuration.Overlay()
        settings.name = name
        settings.look.anchor = .bottom
        settings.look.size = .percent(6)
        (settings.look.background, settings.look.backgroundOpacity) = (.black, 80)
        settings.order = 1000
        isMessage = true
    }

    /// A picture, compared by identity.
    final class LoadedPicture: Sendable {
        let picture: SmallPicture
        init(_ picture: SmallPicture) { self.picture = picture }
    }

    /// The content to draw.
    enum Content: Hashable {
        case text(String)
        case code(String)
        case picture(LoadedPicture)

        static func == (a: Content, b: Content) -> Bool {
            switch (a, b) {
            case (.text(let a), .text(let b)), (.code(let a), .code(let b)): a == b
            case (.picture(let a), .picture(let b)): a === b
            default: false
            }
        }

        func hash(into hasher: inout Hasher) {
            switch self {
            case .text(let text): hasher.combine(text)
            case .code(let text): hasher.combine("qr" + text)
            case .picture(let picture): hasher.combine(ObjectIdentifier(picture))
            }
        }
    }

    /// Returns its content; nil for none. `isRight`: whether the clock is right, so that it may be shown and may decide.
    func content(
        at second: Int64, _ now: HostTime, isRight: Bool, over item: PlaylistItem?, _ clock: LocalClock, _ formats: ClockFormats
    ) -> Content? {
        if let order, order.until.map({ now < $0 }) ?? true {
            return settings.kind == .qr ? .code(order.text) : .text(order.text)
        }
        guard settings.time.isAlways || isRight && clock.isOn(settings.time, at: second), lies(over: item) else { return nil }
        switch settings.kind {
        case .ticker: return (fileText ?? settings.text).map { .text($0) }
        case .text:
            let lines = (fileText ?? settings.text)?.split(separator: "\n", maxSplits: Self.mostLines, omittingEmptySubsequences: false)
            return lines.map { .text($0.prefix(Self.mostLines).joined(separator: "\n")) }
        case .clock: return isRight ? .text(formats.text(settings, at: second, clock.zone)) : nil
        case .image: return picture.map { .picture($0) }
        case .qr: return settings.text.map { .code($0) }
        }
    }

    /// Returns whether it applies to an item.
    func lies(over item: PlaylistItem?) -> Bool {
        if settings.items.isEmpty { return true }
        guard let item else { return false }
        let name = item.source.split(separator: "/").last.map(String.init) ?? item.source
        return settings.items.contains { pattern in
            if pattern == item.title || pattern == item.source { return true }
            if pattern.contains("/") {
                let folder = pattern.hasSuffix("/") ? pattern : pattern + "/"
                return unsafe item.source.hasPrefix(folder) || fnmatch(pattern, item.source, 0) == 0
            }
            return unsafe fnmatch(pattern, name, 0) == 0
        }
    }

    /// Returns the texts of a ticker: its lines that are not blank.
    static func runs(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).prefix(mostRuns).map { String($0.prefix(longestRun)) }.filter {
            !$0.allSatisfy(\.isWhitespace)
        }
    }

    /// The most lines of a text.
    private static let mostLines = 20
    /// The most texts of a ticker, and the greatest length of each.
    private static let mostRuns = 500, longestRun = 2000

    /// The seconds between its changes by the clock, 1 or 60; nil if no clock changes it.
    var tick: Int64? { settings.kind == .clock && order == nil ? ClockFormats.tick(settings.format) : nil }
}

/// Formats the texts of clocks: strftime(3) in a configured time zone and a language installed on the machine.
@safe final class ClockFormats {
    private var locales: [String: locale_t?] = unsafe [:]

    deinit {
        unsafe locales.values.forEach { locale in
            if let locale = unsafe locale { unsafe freelocale(locale) }
        }
    }

    /// Returns how often a format's text changes, in seconds: 1 or 60.
    static func tick(_ format: String) -> Int64 {
        var rest = format[...]
        while let sign = rest.firstIndex(of: "%") {
            rest = rest[rest.index(after: sign)...].drop { "_-0^#EO123456789".contains($0) }
            guard let letter = rest.first else { break }
            if "ScrsTX+".contains(letter) { return 1 }
            rest = rest.dropFirst()
        }
        return 60
    }

    /// Formats an instant, in seconds since 1970.
    func text(_ settings: Configuration.Overlay, at instant: Int64, _ zone: TimeZoneRules) -> String {
        let local = zone.local(at: instant)
        let (year, month, day) = local.date.numbers
        var time = unsafe tm()
        unsafe time.tm_year = Int32(year - 1900)
        unsafe time.tm_mon = Int32(month - 1)
        unsafe time.tm_mday = Int32(day)
        unsafe time.tm_hour = Int32(local.second / 3600)
        unsafe time.tm_min = Int32(local.second / 60 % 60)
        unsafe time.tm_sec = Int32(local.second % 60)
        unsafe time.tm_wday = Int32(local.date.weekday.rawValue + 1) % 7
        unsafe time.tm_yday = Int32(local.date.day - (CalendarDate(year: year, month: 1, day: 1)?.day ?? local.date.day))
        unsafe time.tm_gmtoff = zone.offset(at: instant)
        var text = [CChar](repeating: 0, count: 1024)
        let locale = unsafe self.locale(settings.locale ?? "")
        let length = unsafe strftime_l(&text, text.count, settings.format, &time, locale)
        return String(decoding: text.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func locale(_ name: String) -> locale_t? {
        if let known = unsafe locales[name] { return unsafe known }
        var made = unsafe newlocale(LC_TIME_MASK | LC_CTYPE_MASK, name, nil)
        if unsafe made == nil {
            if !name.isEmpty {
                log.warning("no locale “\(name)” is installed (locale -a lists the installed ones): the clock is in English")
            }
            unsafe made = unsafe newlocale(LC_TIME_MASK | LC_CTYPE_MASK, "C.UTF-8", nil)
        }
        unsafe locales[name] = unsafe made
        return unsafe made
    }
}

/// The box of an overlay on a screen.
struct OverlayBox: Hashable {
    /// The part of its region within the safe area, in pixels.
    let x: Int, y: Int, width: Int, height: Int
    /// The height of a line of text or a picture.
    let size: Int

    /// Creates a box. `safeArea`: hundredths of the screen to leave free at each side.
    init(_ look: OverlayLook, on screen: ScreenGeometry, safeArea: Int) {
        let (across, down) = (screen.width * safeArea / 100, screen.height * safeArea / 100)
        let (width, height) = (Double(screen.width), Double(screen.height))
        let left = max(Int((look.region.x * width).rounded()), across), top = max(Int((look.region.y * height).rounded()), down)
        let right = min(Int(((look.region.x + look.region.width) * width).rounded()), screen.width - across)
        let bottom = min(Int(((look.region.y + look.region.height) * height).rounded()), screen.height - down)
        (x, y, self.width, self.height) = (left, top, max(1, right - left), max(1, bottom - top))
        size =
            switch look.size {
            case .percent(let share): max(1, Int((height * share / 100).rounded()))
            case .millimetres(let length): min(screen.pixels(length), screen.height)
            }
    }

    /// Returns the place for this size. Others take `taken` pixels of the height at the same anchor: it goes below them, or at the bottom
    /// above them.
    func place(width: Int, height: Int, _ anchor: OverlayAnchor, behind taken: Int = 0) -> (x: Int, y: Int) {
        let shares = anchor.shares
        return (
            x + Int((Double(self.width - width) * shares.x).rounded()),
            y + Int((Double(self.height - height) * shares.y).rounded()) + (shares.y == 1 ? -taken : taken)
        )
    }
}

/// The height taken at each anchor of each region: overlays with the same anchor are stacked.
struct OverlayStack {
    private struct Edge: Hashable {
        var anchor: OverlayAnchor
        var x: Int, y: Int, width: Int, height: Int
    }

    private var taken: [Edge: Int] = [:]

    /// Places an overlay as wide as its region: nothing else is beside it.
    mutating func placeRow(height: Int, _ anchor: OverlayAnchor, in box: OverlayBox) -> (x: Int, y: Int) {
        let row = OverlayAnchor.allCases.filter { $0.shares.y == anchor.shares.y }.map { edge($0, box) }
        let before = row.map { taken[$0, default: 0] }.max() ?? 0
        for edge in row { taken[edge] = before + height + Self.gap(box) }
        return box.place(width: box.width, height: height, anchor, behind: before)
    }

    private func edge(_ anchor: OverlayAnchor, _ box: OverlayBox) -> Edge {
        Edge(anchor: anchor, x: box.x, y: box.y, width: box.width, height: box.height)
    }

    private static func gap(_ box: OverlayBox) -> Int { max(2, box.size / 8) }

    /// Places the next overlay of this size.
    mutating func place(width: Int, height: Int, _ anchor: OverlayAnchor, in box: OverlayBox) -> (x: Int, y: Int) {
        let edge = edge(anchor, box)
        let before = taken[edge, default: 0]
        taken[edge] = before + height + Self.gap(box)
        return box.place(width: width, height: height, anchor, behind: before)
    }
}
