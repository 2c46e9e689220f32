import KioskVocabulary

/// Which keys kiosk.conf knows, and where they belong.
enum Grammar {
    struct Table {
        var name: String
        /// As it is written in the file.
        var heading: String
        var keys: [String]
    }

    static let display = Table(
        name: "display", heading: "[display]",
        keys: ["connector", "mode", "gravity", "rotation", "background", "region", "physical-size", "picture-path"])
    static let audio = Table(
        name: "audio", heading: "[audio]", keys: ["device", "volume", "muted", "mix", "follow", "interruption", "duck-volume"])
    static let playback = Table(
        name: "playback", heading: "[playback]",
        keys: [
            "loop", "shuffle", "fallback", "usb", "seek-step", "image-duration", "transition", "transition-duration", "deinterlace",
            "decoder", "decoder-device", "cache", "cache-folder", "audio-track", "more-formats", "more-codecs",
        ])
    private static let streamKeys = ["reconnect", "timeout", "latency", "headers", "user-agent", "ca-file", "tls-verify", "allow-network"]
    static let network = Table(name: "network", heading: "[network]", keys: streamKeys)
    static let input = Table(
        name: "input", heading: "[input]",
        keys: [
            "controls", "touch", "scrub-plays", "allow-quit", "grab", "locked", "allow", "map", "accelerometer", "gestures", "keys",
        ])
    static let gestures = Table(name: "gestures", heading: "[input.gestures]", keys: GestureName.allCases.map(\.rawValue))
    static let theme = Table(
        name: "theme", heading: "[theme]", keys: ["accent", "font", "opacity"] + ControlsPart.allCases.map(\.rawValue))
    static let shelf = Table(name: "shelf", heading: "[shelf]", keys: ["folders", "close-after", "cache", "export-folder"])
    static let idle = Table(name: "idle", heading: "[idle]", keys: ["after", "do"])
    static let playlist = Table(
        name: "playlist", heading: "[[playlist]]",
        keys: [
            "source", "recursive", "title", "gravity", "volume", "muted", "deinterlace", "repeat", "start", "end", "duration",
            "image-duration", "decoder", "audio-track", "video-track",
        ] + streamKeys + ["wait-for", "on-tap"])
    static let control = Table(name: "control", heading: "[control]", keys: ["socket", "metrics"])
    static let record = Table(
        name: "record", heading: "[record]",
        keys: [
            "folder", "camera", "microphone", "size", "duration", "rotation", "mirror", "encoder", "on-record", "keep-number",
            "keep-age", "keep-space",
        ])
    static let log = Table(name: "log", heading: "[log]", keys: ["level", "proof-of-play"])

    static let tables = [display, audio, playback, network, input, theme, shelf, idle, playlist, control, record, log]

    // Those of an arrangement (ArrangementReader.swift).
    static let output = Table(
        name: "output", heading: "[output]", keys: ["size", "rate", "codec", "encoder", "quality", "bit-rate", "title"])
    static let film = Table(
        name: "film", heading: "[film]",
        keys: ["gravity", "background", "image-duration", "transition", "transition-duration", "font"])
    static let clip = Table(
        name: "clip", heading: "[[clip]]",
        keys: [
            "source", "card", "subtitle", "background", "color", "start", "end", "duration", "gravity", "volume", "muted", "repeat",
            "transition", "transition-duration", "deinterlace",
        ])
    static let music = Table(
        name: "music", heading: "[music]", keys: ["source", "start", "volume", "mode", "repeat", "fade-in", "fade-out"])

    static let arrangementTables = [output, film, clip, music]

    /// What to say after `unknown key`: where it belongs, what may have been meant, or what there is.
    static func advice(_ key: String, in table: Table) -> String {
        let family = arrangementTables.contains { $0.heading == table.heading } ? arrangementTables : tables
        let homes = family.filter { $0.name != table.name && $0.keys.contains(key) }
        if !homes.isEmpty { return "; it belongs in \(alternatives(homes.map(\.heading)))" }
        if let near = suggestion(for: key, among: table.keys) { return ", did you mean “\(near)”?" }
        return "; there are \(table.keys.joined(separator: ", "))"
    }

    /// The same for what stands outside of every table; `isTable` is whether it is one.
    static func advice(outside key: String, isTable: Bool, among tables: [Table] = tables) -> String {
        if !isTable {
            let homes = tables.filter { $0.keys.contains(key) }
            if !homes.isEmpty { return "; it belongs in \(alternatives(homes.map(\.heading)))" }
        }
        if let near = suggestion(for: key, among: tables.map(\.name)) { return ", did you mean “\(near)”?" }
        return "; there are \(tables.map(\.heading).joined(separator: ", "))"
    }
}
