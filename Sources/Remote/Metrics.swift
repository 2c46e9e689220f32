import Glibc
import KioskCommands
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import RemoteClient
import Synchronization

/// The player's metrics for Prometheus, in its text format (version 0.0.4).
extension RemoteControl {
    package var metrics: String {
        let now = player.snapshot
        let counts = now.statistics
        var page = MetricsPage()
        func info(_ name: String, _ help: String, _ labels: (String, String)...) { page.add(name, "gauge", help, labels, 1) }
        func gauge(_ name: String, _ help: String, _ value: Double?) { if let value { page.add(name, "gauge", help, [], value) } }
        func counter(_ name: String, _ help: String, _ value: Double?) { if let value { page.add(name, "counter", help, [], value) } }
        gauge("kiosk_uptime_seconds", "Time since the start of the player.", (HostTime.now - started).seconds)
        info("kiosk_info", "The program; always 1.", ("version", kioskVersion))
        gauge("kiosk_display_present", "1 if there is a display, else 0.", surroundings.display() == nil ? 0 : 1)
        gauge("kiosk_playing", "1 if the player plays; 0 if paused, ended or waiting for a source.", now.status == .playing ? 1 : 0)
        gauge("kiosk_playlist_items", "Items of the playlist.", Double(now.itemCount))
        let (place, source) = (now.itemNumber.map { "\($0)" } ?? "", (now.source ?? "").withoutCredentials)
        info("kiosk_item_info", "The item on the screen; always 1.", ("place", place), ("source", source))
        counter("kiosk_frames_shown_total", "Frames that reached the screen.", Double(counts.framesShown))
        counter("kiosk_frames_late_total", "Frames that came a vblank or more after their time.", Double(counts.framesLate))
        counter("kiosk_frames_dropped_total", "Frames that kiosk dropped.", Double(counts.framesDropped))
        counter("kiosk_seams_total", "Changes from one showing to the next.", Double(counts.seams))
        counter("kiosk_flips_lost_total", "Page flips that the driver never reported.", Double(counts.flipsLost))
        counter("kiosk_stalls_total", "How often picture and sound stood still because nothing was ready.", Double(counts.stalls))
        counter("kiosk_stalled_seconds_total", "How long they stood still in all.", counts.stalledTime.seconds)
        gauge(
            "kiosk_stream_latency_seconds", "Time between receiving and hearing the live stream.",
            counts.streamLatency?.seconds)
        let offset = counts.synchrony.span(within: 0.99)
        gauge("kiosk_av_offset_p99_seconds", "99 % of the frames were this close to their sound.", offset?.seconds)
        counter("kiosk_failures_total", "Items that could not be played, or not to their end.", Double(failureCount.withLock { $0 }))
        if let (message, time) = failure.withLock({ $0 }) {
            let text = String(message.withoutCredentials.printable.prefix(300))
            info("kiosk_last_failure_info", "The last error; always 1.", ("message", text))
            gauge("kiosk_last_failure_age_seconds", "Time since the last error.", (HostTime.now - time).seconds)
        }
        counter("kiosk_sound_underruns_total", "How often the sound card ran dry.", Double(surroundings.underruns()))
        counter(
            "kiosk_restarts_total", "How often systemd has restarted the service.", restarts.map { Double($0) })
        gauge(
            "kiosk_throttled", "1 if heat or too low a voltage slows the processor down now.",
            SystemFigures.isThrottled().map { $0 ? 1 : 0 })
        counter(
            "kiosk_throttle_events_total", "How often heat has slowed a processor core down since the boot.",
            SystemFigures.throttleEvents())
        gauge("kiosk_temperature_celsius", "The hottest thermal zone.", SystemFigures.temperature())
        gauge("kiosk_free_space_bytes", "Free space of the root file system.", SystemFigures.freeSpace())
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

    /// Returns a label's value, with backslash, quote and line feed escaped.
    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { $0 += $1 == "\\" ? "\\\\" : $1 == "\"" ? "\\\"" : $1.isNewline ? "\\n" : String($1) }
    }
}
