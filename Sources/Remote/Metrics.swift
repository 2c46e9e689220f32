import Commands
import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
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
        if let latency = counts.streamLatency {
            page.add(
                "kiosk_stream_latency_seconds", "gauge",
                "What lies between what has been received of the live stream and what is heard of it.",
                latency.seconds)
        }
        if let most = counts.synchrony.span(within: 0.99) {
            page.add("kiosk_av_offset_p99_seconds", "gauge", "99 % of the frames were this close to their sound.", most.seconds)
        }
        page.add("kiosk_failures_total", "counter", "Items that could not be played, or not whole.", Double(failureCount.withLock { $0 }))
        if let (message, time) = failure.withLock({ $0 }) {
            let text = String(message.withoutCredentials.printable.prefix(300))
            page.add("kiosk_last_failure_info", "gauge", "The last thing that went wrong; always 1.", [("message", text)], 1)
            page.add("kiosk_last_failure_age_seconds", "gauge", "Time since then.", (HostTime.now - time).seconds)
        }
        page.add(
            "kiosk_sound_underruns_total", "counter", "How often the sound card ran dry.", Double(surroundings.underruns()))
        if let restarts {
            page.add(
                "kiosk_restarts_total", "counter", "How often the service has been started again since it was started.", Double(restarts))
        }
        if let isThrottled = SystemFigures.isThrottled() {
            page.add(
                "kiosk_throttled", "gauge", "Whether the processor is slowed down now, by heat or too low a voltage.", isThrottled ? 1 : 0)
        }
        if let count = SystemFigures.throttleEvents() {
            page.add("kiosk_throttle_events_total", "counter", "How often heat has slowed a processor core down since the boot.", count)
        }
        if let celsius = SystemFigures.temperature() {
            page.add("kiosk_temperature_celsius", "gauge", "The hottest thermal zone.", celsius)
        }
        if let bytes = SystemFigures.freeSpace() {
            page.add("kiosk_free_space_bytes", "gauge", "Free space of the root file system.", bytes)
        }
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
