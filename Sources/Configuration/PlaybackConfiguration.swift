// [playback] and [network].
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[playback]`.
    package struct Playback: Hashable, Sendable {
        package var loop = LoopMode.playlist
        /// Whether each round has a new order.
        package var shuffles = false
        /// The item to show if nothing can be played, an absolute path or a URL; nil for the background.
        package var fallback: String?
        package var usb = StickUse.off
        /// More than zero.
        package var seekStep = MediaTime.seconds(10)
        /// More than zero.
        package var imageDuration = MediaTime.seconds(10)
        package var transition = Transition.cut
        /// More than zero.
        package var transitionDuration = MediaTime.seconds(1)
        /// The default for every item.
        package var deinterlace = Deinterlace.auto
        /// The default for every item.
        package var decoder = DecoderSetting.automatic
        /// The device node of the hardware decoder; nil for any of /dev/dri/renderD*.
        package var decoderDevice: String?
        package var isolation = Isolation.automatic
        /// The disk space for files from HTTP servers; nil for no cache.
        package var cache: ByteCount?
        /// An absolute path; nil for the service's own folder, else the user's.
        package var cacheFolder: String?
        /// The defaults for every item.
        package var audioTrack = TrackChoice.automatic
        package var subtitleTrack = TrackChoice.automatic
        /// The character set of subtitle files that are not in Unicode.
        package var subtitleEncoding: String?
        /// FFmpeg's names of additional formats and codecs.
        package var moreFormats: [String] = [], moreCodecs: [String] = []
    }
}

extension Configuration.Playback: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        "playlist" begins again after the last item. "item" repeats the current item for ever. "off" stops
        on the last frame.
        """
        Key("loop", \.loop, .word)
        "Set true to play each round in a new order: each item once, and none twice in a row."
        Key("shuffle", \.shuffles, .flag)
        """
        Picture or video that kiosk repeats while it can play nothing else. No default: kiosk shows the
        background. An example:
        """
        Key("fallback", \.fallback, .pathOrURL("a picture or a video, by its path or URL"), example: "\"demo/still.png\"")
        """
        Use of USB sticks:
          "off"        leaves sticks alone: nobody can change the picture of a public screen
          "play"       plays a stick's files instead of the playlist, while the stick is plugged in
          "copy"       copies a stick's files to the box (/var/lib/kiosk/usb);
                       from then on kiosk plays the copies instead of the playlist, without the stick
        kiosk takes the videos, sounds and images of a stick in natural order, those in its folders too.
        It leaves out links and lists. A new copy replaces that of the stick before.
        """
        Key("usb", \.usb, .word)
        """
        Step of the seek keys. Write times as seconds (10, 2.5), or as texts such as "1:30" and
        "1:02:03.5".
        """
        Key("seek-step", \.seekStep, .time, needs: .viewers)
        "Time that a still image stays on the screen. Clips play to their end."
        Key("image-duration", \.imageDuration, .time, inItem: { $0.imageDuration = $1 })
        """
        "cut" changes from one item to the next between two frames. "fade" mixes the end of one item with
        the beginning of the next, picture and sound. A fade lasts for transition-duration, but at most
        for half of either item. The machine has to decode both items at once for that time.
        """
        Key("transition", \.transition, .word)
        Key("transition-duration", \.transitionDuration, .time)
        """
        "auto" makes a picture of each field of interlaced video. 25 frames a second become 50 pictures,
        which fit a refresh of 50 Hz. A graphics processor does this if it can, else software. If the
        machine is too slow for that, the log says so, and kiosk makes one picture of each frame. "off"
        shows the frames as they are, with combs where something moves.
        """
        Key("deinterlace", \.deinterlace, .word, inItem: { $0.deinterlace = $1 })
        """
        Decoder of videos. "auto" takes the graphics processor, or the board's video decoder (VAAPI,
        V4L2), if it supports the codec. Else "auto" takes the processor. "hardware" does the same, and
        logs a warning if it has to take the processor. "software" always takes the processor.
        docs/hardware-decoding.md
        """
        Key("decoder", \.decoder, .word, inItem: { $0.decoder = $1 })
        """
        Device that decodes, if there are several. No default: kiosk takes the first of /dev/dri/renderD*
        that can. An example:
        """
        Key(
            "decoder-device", \.decoderDevice, .path(beginning: "/dev/", "a device such as \"/dev/dri/renderD128\""), needs: .restart,
            example: "\"/dev/dri/renderD128\"")
        """
        "auto" reads each file and stream in a process of its own, which has only the rights for that
        task. If a file crashes or hangs its decoder, kiosk loses that item, and the player goes on. "off"
        reads all of them on threads of the player. docs/sandbox.md
        """
        Key("isolation", \.isolation, .word, needs: .restart)
        """
        Space on the disk for the http and https files of the playlist: "2 GB" or "500 MB". kiosk fetches
        the files in the background, and then plays them from the disk, without the network, too. It asks
        for changes every five minutes. To make room, it deletes files that have left the playlist, the
        least recently played first. It does not keep streams (HLS, DASH, radio). "off" keeps nothing.
        docs/cache.md
        """
        Key("cache", \.cache, .cacheSize("2 GB"), needs: .restart)
        """
        Folder of the cache, an absolute path. No default: the service uses /var/lib/kiosk/cache. Any
        other kiosk uses the folder kiosk in $XDG_CACHE_HOME, or in .cache of the user's folder.
        An example:
        """
        Key("cache-folder", \.cacheFolder, .folder, needs: .restart, example: "\"/srv/cache\"")
        """
        Sound track of a file that has several. Write a language ("de", "en", with its region "pt-BR"),
        the number of the track from 1, or "off" for none. "auto" is the first choice of the file. If a
        file lacks the language, kiosk plays the file's first choice, and the log says so. kiosk check
        lists the tracks.
        """
        Key("audio-track", \.audioTrack, .track, inItem: { $0.audioTrack = $1 })
        """
        Subtitles to show. Write a language ("de"), the number of a track from 1, or "off" for none.
        "auto" shows forced subtitles: the translation of speech in another language. Without these,
        "auto" shows a file beside the clip without a language in its name. Files beside clip.mp4 are
        clip.srt, clip.de.srt, clip.de.sdh.vtt, clip.en.forced.ass. kiosk numbers them after the tracks in
        the clip. kiosk check lists all tracks. Text needs libass (libass9). docs/subtitles.md
        """
        Key("subtitle-track", \.subtitleTrack, .track, inItem: { $0.subtitleTrack = $1 })
        """
        Character set of files beside clips that are not in Unicode, by iconv's name (iconv -l).
        No default: kiosk uses the Windows character set for the language in the file's name, else CP1252.
        An example:
        """
        Key(
            "subtitle-encoding", \.subtitleEncoding, .line("the name of a character set", longest: 40),
            example: "\"CP1251\"")
        """
        Containers and codecs to play besides those of docs/formats.md, by FFmpeg's names
        (ffmpeg -demuxers, ffmpeg -codecs). The authors of kiosk have examined few of them against hostile
        files. No default. An example:
        """
        Key("more-formats", \.moreFormats, .names("[\"xm\"]"), example: "[\"xm\"]")
        Key("more-codecs", \.moreCodecs, .names("[\"cinepak\"]"), example: "[\"cinepak\"]")
    }
}

extension StreamSettings: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Time that the last picture of a live stream stands after the stream has broken off or ended.
        Meanwhile kiosk opens the stream again, after 0.5 s, 1 s, 2 s and so on. Then the next item
        follows, or the fallback. kiosk goes on retrying the stream, every 30 s at last. The stream comes
        back when an item ends.
        """
        Key("reconnect", \.reconnect, .timeOrZero, inItem: { $0.stream.reconnect = $1 })
        """
        Longest time without data, 1 or more. After that time kiosk takes the connection for broken. The
        same limit holds for opening a connection.
        """
        Key(
            "timeout", \.timeout, .time, inItem: { $0.stream.timeout = $1 },
            objection: { $0 < shortestTimeout ? "expected \(Int(shortestTimeout.seconds)) s or more: shorter is no sign of a fault" : nil })
        """
        Distance of a live stream's playback behind the received data, in seconds, 60 at most. More
        outlasts longer gaps of the network. No default: one second. For streams over HTTP (HLS), kiosk
        keeps the distance at which the server begins. An example:
        """
        Key(
            "latency", \.latency, .time, inItem: { $0.stream.latency = $1 }, example: "0.5",
            objection: { $0 > longestLatency ? "expected \(Int(longestLatency.seconds)) s or less" : nil })
        "Headers to add to HTTP requests. No default. An example:"
        Key("headers", \.headers, .headers, inItem: { $0.stream.headers = $1 }, example: "{ Authorization = \"Bearer 0123\" }")
        "User-Agent sent to HTTP and RTSP servers."
        Key("user-agent", \.userAgent, .line("a line of text", longest: 500), inItem: { $0.stream.userAgent = $1 })
        """
        File (PEM) with certificate authorities for servers of your own. kiosk trusts these instead of the
        system's. No default. An example:
        """
        Key(
            "ca-file", \.certificateAuthorities, .path("the path of a file"), inItem: { $0.stream.certificateAuthorities = $1 },
            example: "\"/etc/kiosk/ca.pem\"")
        """
        With true kiosk demands of each TLS server (https, rtsps) a valid certificate for its name. With
        false anyone on the line can read the headers and replace the picture. The log then says so at
        every start.
        """
        Key("tls-verify", \.verifiesTLS, .flag, inItem: { $0.stream.verifiesTLS = $1 })
        """
        Set true to let an HLS list in a folder name servers on the network. Lists from the network never
        name files. docs/streams.md
        """
        Key("allow-network", \.mayNameNetwork, .flag, inItem: { $0.stream.mayNameNetwork = $1 })
    }
}

/// The settings of a `[[playlist]]` for the network; nil stands for a key that it leaves out.
package struct StreamChoices: Hashable, Sendable {
    package var reconnect: MediaTime?
    package var timeout: MediaTime?
    package var latency: MediaTime?
    /// Header lines of a request.
    package var headers: [String]?
    package var userAgent: String?
    /// An absolute path.
    package var certificateAuthorities: String?
    package var verifiesTLS: Bool?
    package var mayNameNetwork: Bool?

    /// Returns these settings, with those of `network` for keys that are left out.
    func resolved(in network: StreamSettings) -> StreamSettings {
        var settings = network
        settings.reconnect = reconnect ?? settings.reconnect
        settings.timeout = timeout ?? settings.timeout
        settings.latency = latency ?? settings.latency
        settings.headers = headers ?? settings.headers
        settings.userAgent = userAgent ?? settings.userAgent
        settings.certificateAuthorities = certificateAuthorities ?? settings.certificateAuthorities
        settings.verifiesTLS = verifiesTLS ?? settings.verifiesTLS
        settings.mayNameNetwork = mayNameNetwork ?? settings.mayNameNetwork
        return settings
    }
}
