import KioskMedia
import KioskPlatform
import KioskPlayback

// Checks of resources during playback: decoders, storage, power, temperature.

extension BoxCheck {
    /// The codecs that a player should decode; without the first four, kiosk plays hardly any file.
    package static let codecs = ["h264", "hevc", "aac", "mp3", "vp9", "av1", "mpeg2video", "opus", "flac", "ac3"]

    /// Checks whether libavcodec decodes the usual codecs.
    static let decoders = BoxCheck("codecs", "libavcodec decodes \(codecs.joined(separator: ", "))", unknown: "libavcodec cannot be loaded")
    { facts in
        guard let missing = facts.missingDecoders else { return nil }
        if missing.isEmpty { return [] }
        let isGrave = missing.contains { codecs.prefix(4).contains($0) }
        return .found(
            isGrave ? .error : .warning, "libavcodec has no decoder for \(missing.joined(separator: ", ")): kiosk cannot play such files",
            advice: ["sudo apt install --reinstall \(DecoderInventory.library); with FFMPEG=lean build the package again"])
    }

    /// Checks whether restricted processes read untrusted media.
    static let isolation = BoxCheck("isolation", "processes without rights read the media", unknown: "kiosk-reader does not answer") {
        facts in
        guard let reading = facts.reading else { return nil }
        if !reading.isWanted {
            return .found(
                .warning, "the player itself reads the media: a file that crashes a decoder ends the player",
                advice: ["[playback] isolation = \"auto\", and no picture-path = \"direct\""])
        }
        if let failure = reading.failure {
            return .found(.error, "\(failure): kiosk plays nothing", advice: ["install kiosk again: kiosk-reader belongs to it"])
        }
        if reading.lack.isEmpty { return [] }
        return .found(
            .warning, "the processes that read media keep rights, as the kernel lacks \(reading.lack)",
            advice: ["use a kernel with CONFIG_SECCOMP_FILTER and CONFIG_SECURITY_LANDLOCK, and landlock in its list of security modules"])
    }

    /// The rate in bytes a second below which a medium is slow, if the clip's own rate is unknown.
    private static let slowest = 3e6

    /// Checks whether the medium is faster than the clip.
    static let storage = BoxCheck(
        "storage", "the storage is fast enough", unknown: "no local file on the playlist can be read for long enough"
    ) { facts in
        switch facts.storage {
        case nil: return nil
        case .overdue(let path, let seconds):
            return .found(
                .error, "\(path) could not be read within \(decimal(seconds)) s: its disk or share hangs, or is far too slow",
                advice: ["sudo dmesg | tail shows the disk's errors; copy the clip to another medium"])
        case .failed(let path, let reason):
            return .found(.error, "\(path) cannot be read: \(reason)", advice: ["kiosk check tests every item"])
        case .read(let path, let bytes, let seconds, let rate):
            let speed = Double(bytes) / max(seconds, 0.000_001)
            guard let rate else {
                // The limit is the need of a Full HD clip. The read of a small file says nothing about speed.
                guard bytes >= 1 << 20, speed < slowest else { return [] }
                return .found(
                    .warning, "\(path) is read at \(megabytes(speed)) MB/s: too slow for most clips",
                    advice: ["use a faster medium (an SD card of class A1, a USB 3 port), or clips of a lower bit rate"])
            }
            guard speed < 3 * rate else { return [] }
            let isSlower = speed < rate
            return .found(
                isSlower ? .error : .warning,
                "\(path) is read at \(megabytes(speed)) MB/s and played at \(megabytes(rate)) MB/s"
                    + (isSlower ? ": too slow" : ": little is left for the rest"),
                advice: ["use a faster medium (an SD card of class A1, a USB 3 port), or a clip of a lower bit rate"])
        }
    }

    /// Checks whether the system can still write.
    static let freeSpace = BoxCheck("free-space", "there is room on the root file system", unknown: "the file system does not report it") {
        facts in
        guard let free = facts.freeBytes, let all = facts.allBytes, all > 0 else { return nil }
        if facts.isRootReadOnly || free >= 100e6 && free >= all * 0.02 { return [] }
        return .found(
            free < 10e6 ? .error : .warning, "the root file system has \(megabytes(free)) MB left of \(megabytes(all)) MB",
            advice: ["sudo journalctl --vacuum-size=50M; sudo apt clean; sudo du -xh / | sort -h | tail shows the rest"])
    }

    /// Checks whether the processor is too hot for full speed.
    static let temperature = BoxCheck("temperature", "the box is cool enough", unknown: "the kernel reports no temperature") { facts in
        if facts.zones.isEmpty { return nil }
        return facts.zones.flatMap { zone -> [Finding] in
            let isCritical = zone.critical.map { zone.temperature >= $0 - 5 } ?? false
            // Some firmware has meaningless trip points that are always passed (0 °C or less).
            let isPassive = zone.passive.map { $0 > 40 && zone.temperature >= $0 } ?? (zone.critical == nil && zone.temperature >= 90)
            guard isCritical || isPassive else { return [] }
            let limit = isCritical ? zone.critical : zone.passive
            let consequence = isCritical ? "the box is about to turn itself off" : "the processor is slowed down"
            return .found(
                isCritical ? .error : .warning,
                "\(zone.name) is at \(decimal(zone.temperature)) °C" + (limit.map { " (limit \(decimal($0)) °C)" } ?? "")
                    + ": \(consequence)", advice: ["give it air, a heat sink or shade; clean its fan"])
        }
    }

    /// Checks whether a Raspberry Pi has sufficient power.
    static let power = BoxCheck("power", "the power supply is strong enough", unknown: "this box does not report it") { facts in
        guard let bits = facts.throttled else { return nil }
        let advice = ["use the board's own power supply (5.1 V), and a short cable"]
        if bits & 1 != 0 { return .found(.error, "the board has too low a voltage now, and runs slower", advice: advice) }
        if bits & 0b110 != 0 {
            return .found(.warning, "the firmware slows the processor down now", advice: ["give it air, and the board's own power supply"])
        }
        if bits & 0x10000 != 0 { return .found(.warning, "the board's voltage was too low since the boot", advice: advice) }
        return []
    }

    private static func megabytes(_ bytes: Double) -> String { decimal(bytes / 1e6) }
}
