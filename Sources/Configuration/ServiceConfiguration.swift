// [shelf], [idle], [control] and [log].
import Glibc
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[shelf]`.
    package struct Shelf: Hashable, Sendable {
        /// Absolute paths; without any there is no shelf.
        package var folders: [String] = []
        /// The time after the last touch or key until it closes; nil for never.
        package var closeAfter: MediaTime? = .seconds(120)
        /// The disk space for thumbnails; nil for none on the disk.
        package var cache: ByteCount? = ByteCount(200_000_000)
        /// The folder for films made on the shelf, an absolute path; nil if viewers can make none.
        package var exportFolder: String?
    }

    /// `[idle]`.
    package struct Idle: Hashable, Sendable {
        /// The time after the last touch or key; nil for never.
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
        /// The file for the proof of play, an absolute path; nil for none.
        package var proofOfPlay: String?
    }
}

extension Configuration.Shelf: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Folders whose videos, sounds and images are on the shelf, with those of their subfolders. "usb"
        stands for all plugged sticks. kiosk watches the folders. A path that does not begin with / is
        relative to this file's folder. Without folders there is no shelf.
        An example: folders = ["/srv/videos", "usb"]
        """
        Key("folders", \.folders, .folders)
        "Time after the last touch or key until the shelf closes; 0 is never."
        Key("close-after", \.closeAfter, .timeOrNever)
        """
        Space on the disk for the small pictures on the shelf. kiosk keeps them in
        [playback] cache-folder, or in the default place of that folder. "off" keeps none on the disk.
        """
        Key("cache", \.cache, .cacheSize("200 MB"))
        """
        Folder for films that viewers make of chosen clips: an absolute path with write permission for the
        player. If the folder is missing, kiosk makes it, but not its parent folder. A film shows the
        clips as the player does: gravity, background, image-duration, transition and others apply
        (docs/shelf.md). No default: viewers can make no films. An example:
        """
        Key("export-folder", \.exportFolder, .folder, example: "\"/srv/films\"")
    }
}

extension Configuration.Idle: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Run a command after this time without a touch or a key. In a museum, this takes the screen back to
        the item that attracts. kiosk runs it once, and again only after the next touch or key. Recording
        or reviewing a film ([record]) counts as activity. Write a time as in [playback]; 0 is never.
        """
        Key("after", \.after, .timeOrNever)
        #"A command as in [input.keys], but "restart" plays the playlist from its first item."#
        Key(
            "do", \.command,
            .command(otherwise: "leave after out to do nothing") { CommandWords(folder: $0, restart: .player(.restartPlaylist)) },
            shown: "\"restart\"")
    }
}

extension Configuration.Control: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Socket by which programs on this machine, such as kiosk screenshot, send commands to the running
        player. "auto" is control.sock in the folder "kiosk" of the user's session ($XDG_RUNTIME_DIR).
        Without a session it is in /run/kiosk, the service's folder, if the player may write there. Or
        write a path, "/run/kiosk/control.sock". The player's user and group may send commands. "off"
        opens no socket.
        """
        Key("socket", \.socket, .text("\"auto\", \"off\" or an absolute path of at most 107 bytes", pattern: "^(auto|off|/.+)$"))
        """
        Address of the player's metrics for Prometheus: an IPv4 address of this machine and a port,
        "127.0.0.1:9870". The path is /metrics. Anyone with access to the address can read the metrics. A
        request has to name the host by the address, by localhost or by the machine's name. Or write a
        file, an absolute path that ends with .prom. kiosk writes it every 15 seconds for node_exporter's
        textfile collector. "off" has no metrics.
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
        #"Lowest level to log: "trace", "debug", "info", "notice", "warning", "error" or "critical"."#
        Key("level", \.level, .word)
        """
        File for the proof of play, an absolute path. kiosk writes a line of JSON for each showing of an
        item. A line has item, start, end, seconds, frames shown, complete or not. At 16 MB kiosk renames
        the file to FILE.1. The service may write only to /var/lib/kiosk. "off" has no such file.
        """
        Key(
            "proof-of-play", \.proofOfPlay,
            .orOff("\"off\" or the absolute path of a file", pattern: "^(off|/.+)$") { path in
                path.hasPrefix("/") && !path.hasSuffix("/") && !path.contains("\0")
            })
    }
}

/// The levels of the log, least important first; the raw values are swift-log's.
package enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// The output of a player's metrics for Prometheus.
package enum MetricsChoice: WordedChoice {
    /// None.
    case off
    /// An HTTP server at this IPv4 address of the machine and this port, with the path `/metrics`.
    case address(String, port: UInt16)
    /// A file, an absolute path that ends with `.prom`, for node_exporter's textfile collector.
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
