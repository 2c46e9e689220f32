// [shelf], [idle], [control] and [log].
import Glibc
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[shelf]`.
    package struct Shelf: Hashable, Sendable {
        /// Absolute paths; where there are none there is no shelf.
        package var folders: [String] = []
        /// How long after the last touch or key; nil is never.
        package var closeAfter: MediaTime? = .seconds(120)
        /// How many bytes of thumbnails are kept on the disk; nil is none.
        package var cache: ByteCount? = ByteCount(200_000_000)
        /// Where films that are made on the shelf go, an absolute path; nil where none can be made.
        package var exportFolder: String?
    }

    /// `[idle]`.
    package struct Idle: Hashable, Sendable {
        /// How long after the last touch or key; nil is never.
        package var after: MediaTime?
        package var command = Command.player(.restartPlaylist)
    }

    /// `[control]`.
    package struct Control: Hashable, Sendable {
        package var socket = ControlSocketChoice.automatic
        package var metrics = MetricsChoice.off
    }

    /// `[log]`.
    package struct Log: Hashable, Sendable {
        package var level = LogLevel.info
        /// The file that the proof of play is written to, an absolute path; nil is none.
        package var proofOfPlay: String?
    }
}

extension Configuration.Shelf: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        What is on it: the videos, sounds and images in these folders and in theirs. "usb" is what is on sticks that are plugged in. Folders are watched. A
        path that does not begin with / is relative to the folder this file is in. Where there is none there is no shelf. An example:
        folders = ["/srv/videos", "usb"]
        """
        Key("folders", \.folders, .folders)
        "It closes when nobody has touched it for so long; 0 is never."
        Key("close-after", \.closeAfter, .timeOrNever)
        """
        How much of the disk the small pictures on it may take, in the folder of [playback] cache-folder or where that would be; "off" keeps none there.
        """
        Key("cache", \.cache, .cacheSize("200 MB"))
        """
        Where films go that are made of chosen clips: an absolute path, which the player may write to. It is made where it is missing, but not the folder
        that it lies in. Clips are in a film as they are shown here: gravity, background, image-duration, transition and others hold (docs/shelf.md).
        No default: none can be made. An example:
        """
        Key("export-folder", \.exportFolder, .folder, example: "\"/srv/films\"")
    }
}

extension Configuration.Idle: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        What to do when nobody has touched the screen or a key for a while, once until somebody does again: for a screen in a museum that goes back to
        the item that attracts. Whoever is recorded, or looks at the film ([record]), is there. A time as in [playback]; 0 is never.
        """
        Key("after", \.after, .timeOrNever)
        #"A command as in [input.keys], but "restart" is the playlist from its first item, playing."#
        Key(
            "do", \.command,
            .command(otherwise: "leave after out to do nothing") { CommandWords(folder: $0, restart: .player(.restartPlaylist)) },
            shown: "\"restart\"")
    }
}

extension Configuration.Control: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        The socket by which programs on this machine ask the player that runs, such as kiosk screenshot. "auto" is control.sock in the folder "kiosk" of the
        user's session ($XDG_RUNTIME_DIR), else in /run/kiosk, the service's, where the player may write there. Or a path, "/run/kiosk/control.sock".
        The player's user and group may ask. "off" has none.
        """
        Key("socket", \.socket, .text("\"auto\", \"off\" or an absolute path of at most 107 bytes", pattern: "^(auto|off|/.+)$"))
        """
        Where Prometheus finds what the player counts: an IPv4 address of this machine and a port, "127.0.0.1:9870", under /metrics. Who can reach it can
        read it, by the address, localhost or the name of this machine. Or a file, an absolute path that ends with .prom, written every 15 seconds for
        node_exporter's textfile collector. "off" has none.
        """
        Key(
            "metrics", \.metrics,
            .text(
                "\"off\", an IPv4 address and a port such as \"127.0.0.1:9870\", or an absolute path that ends with .prom",
                pattern: "^(off|[0-9.]+:[0-9]+|/.+\\.prom)$"))
    }
}

extension Configuration.Log: TableRow {
    static let keys: [Key<Self>] = keyList {
        #"How much is logged: "trace", "debug", "info", "notice", "warning", "error" or "critical"."#
        Key("level", \.level, .word)
        """
        A file, an absolute path, to which each showing of an item is written as a line of JSON: item, start, end, seconds, frames shown, complete or not.
        At 16 MB it becomes FILE.1. The service writes to /var/lib/kiosk alone. "off" has none.
        """
        Key(
            "proof-of-play", \.proofOfPlay,
            .orOff("\"off\" or the absolute path of a file", pattern: "^(off|/.+)$") { path in
                path.hasPrefix("/") && !path.hasSuffix("/") && !path.contains("\0")
            })
    }
}

/// How much is logged, least important first; the raw values are swift-log's.
package enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// Where Prometheus finds the metrics of a player.
package enum MetricsChoice: WordedChoice {
    /// Nowhere.
    case off
    /// By HTTP at this IPv4 address of the machine and this port, as `/metrics`.
    case address(String, port: UInt16)
    /// In this file, an absolute path that ends with `.prom`, which node_exporter's textfile collector reads.
    case file(String)

    package static let words: KeyValuePairs<String, Self> = ["off": .off]
    package static func other(_ text: String) -> Self? {
        if text.hasPrefix("/") {
            return text.hasSuffix(".prom") && !text.hasSuffix("/.prom") && !text.contains("\0") ? .file(text) : nil
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var address = in_addr()
        guard parts.count == 2, let port = UInt16(parts[1]), port > 0, unsafe inet_pton(AF_INET, String(parts[0]), &address) == 1 else {
            return nil
        }
        return .address(String(parts[0]), port: port)
    }
    package var otherText: String {
        switch self {
        case .off: ""
        case .address(let host, let port): "\(host):\(port)"
        case .file(let path): path
        }
    }
}
