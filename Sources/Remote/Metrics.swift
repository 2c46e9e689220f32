import Glibc
import Platform
import Playback
import Synchronization

/// What Prometheus is told of the player, in its text format (version 0.0.4).
extension RemoteControl {
    /// The whole exposition.
    package var metrics: String {
        let now = player.snapshot
        let counts = now.statistics
        var page = MetricsPage()
        page.add("kiosk_uptime_seconds", "gauge", "Time since the player was started.", (HostTime.now - started).seconds)
        page.add("kiosk_info", "gauge", "The program; always 1.", [("version", kioskVersion)], 1)
        page.add("kiosk_display_present", "gauge", "Whether there is a display.", surroundings.display() == nil ? 0 : 1)
        page.add(
            "kiosk_playing", "gauge", "Whether it plays: 0 when paused, ended or waiting for a source.", now.status == .playing ? 1 : 0)
        page.add("kiosk_playlist_items", "gauge", "Items of the playlist.", Double(now.itemCount))
        let labels = [("place", now.itemNumber.map { "\($0)" } ?? ""), ("source", (now.source ?? "").withoutCredentials)]
        page.add("kiosk_item_info", "gauge", "The item on the screen; always 1.", labels, 1)
        page.add("kiosk_frames_shown_total", "counter", "Frames that reached the screen.", Double(counts.framesShown))
        page.add("kiosk_frames_late_total", "counter", "Frames that came a vblank or more after their time.", Double(counts.framesLate))
        page.add("kiosk_frames_dropped_total", "counter", "Frames that were left out.", Double(counts.framesDropped))
        page.add("kiosk_seams_total", "counter", "Joints of one showing and the next.", Double(counts.seams))
        page.add("kiosk_flips_lost_total", "counter", "Page flips that were never reported.", Double(counts.flipsLost))
        page.add(
            "kiosk_stalls_total", "counter", "How often picture and sound stood still because nothing was ready.", Double(counts.stalls))
        page.add("kiosk_stalled_seconds_total", "counter", "How long they stood still in all.", counts.stalledTime.seconds)
        if let most = counts.synchrony.span(within: 0.99) {
            page.add("kiosk_av_offset_p99_seconds", "gauge", "99 % of the frames were this close to their sound.", most.seconds)
        }
        page.add("kiosk_failures_total", "counter", "Items that could not be played, or not whole.", Double(failureCount.withLock { $0 }))
        if let celsius = SystemFigures.temperature { page.add("kiosk_temperature_celsius", "gauge", "The hottest thermal zone.", celsius) }
        if let bytes = SystemFigures.freeSpace { page.add("kiosk_free_space_bytes", "gauge", "Free space of the root file system.", bytes) }
        return page.text
    }
}

/// Lines of the text format.
struct MetricsPage {
    private(set) var text = ""

    mutating func add(_ name: String, _ type: String, _ help: String, _ labels: [(String, String)], _ value: Double) {
        let pairs = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        text +=
            "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(JSONValue.number(value).line)\n"
    }

    mutating func add(_ name: String, _ type: String, _ help: String, _ value: Double) { add(name, type, help, [], value) }

    /// A label's value: backslash, quote and line feed are escaped.
    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "\\" ? "\\\\" : $1 == "\"" ? "\\\"" : $1.isNewline ? "\\n" : String($1) }
    }
}

/// What the kernel says about the box.
enum SystemFigures {
    /// Of the hottest thermal zone, in degrees Celsius; nil where there is none.
    static var temperature: Double? {
        (0..<16).compactMap { zone -> Double? in
            guard let file = fopen("/sys/class/thermal/thermal_zone\(zone)/temp", "re") else { return nil }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: 32)
            let count = fread(&bytes, 1, bytes.count, file)
            let digits = String(decoding: bytes.prefix(count), as: UTF8.self).prefix { $0.isNumber || $0 == "-" }
            return Double(digits).map { $0 / 1000 }
        }.max()
    }

    /// Bytes that are free on the root file system.
    static var freeSpace: Double? {
        var figures = statvfs()
        return statvfs("/", &figures) == 0 ? Double(figures.f_bavail) * Double(figures.f_frsize) : nil
    }
}
