// [playback] and [network].
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[playback]`.
    package struct Playback: Hashable, Sendable {
        package var loop = LoopMode.playlist
        /// Whether each round has an order of its own.
        package var shuffles = false
        /// What is shown when nothing can be played, an absolute path or a URL; nil is the background.
        package var fallback: String?
        package var usb = StickUse.off
        /// More than zero.
        package var seekStep = MediaTime.seconds(10)
        /// More than zero.
        package var imageDuration = MediaTime.seconds(10)
        package var transition = Transition.cut
        /// More than zero.
        package var transitionDuration = MediaTime.seconds(1)
        /// Of every item that has none of its own.
        package var deinterlace = Deinterlace.auto
        /// Of every item that has none of its own.
        package var decoder = DecoderSetting.automatic
        /// The node of the hardware decoder's device; nil is each of /dev/dri/renderD*.
        package var decoderDevice: String?
        package var isolation = Isolation.automatic
        /// How much of what comes over HTTP is kept on the disk; nil is nothing.
        package var cache: ByteCount?
        /// An absolute path; nil is the service's own folder, else the user's.
        package var cacheFolder: String?
        /// Of every item that has none of its own.
        package var audioTrack = TrackChoice.automatic
        package var subtitleTrack = TrackChoice.automatic
        /// The character set of files of subtitles that are not in Unicode.
        package var subtitleEncoding: String?
        /// FFmpeg's names of what is played beside what always is.
        package var moreFormats: [String] = [], moreCodecs: [String] = []
    }
}

extension Configuration.Playback: TableRow {
    static let keys: [Key<Self>] = keyList {
        #""playlist" begins again after the last item, "item" repeats the present one for ever, "off" stops on the last frame."#
        Key("loop", \.loop, .word)
        "true plays the playlist in an order of its own in each round, each item once, and none twice in a row."
        Key("shuffle", \.shuffles, .flag)
        """
        What is shown when nothing can be played, again and again until something can: a picture or a video. No default: the background is shown. An
        example:
        """
        Key("fallback", \.fallback, .pathOrURL("a picture or a video, by its path or URL"), example: "\"demo/still.png\"")
        """
        What is done with the videos of a USB stick. "play" plays them, in natural order and those of its folders too, instead of the playlist, from when
        it is plugged in until it is pulled out. "copy" copies them to the box (/var/lib/kiosk/usb), in place of what another stick has brought, and plays
        the copies instead of the playlist from then on, without the stick. Links and lists on a stick are left out. "off" leaves sticks alone: so nobody
        can change what a public screen shows.
        """
        Key("usb", \.usb, .word)
        #"How far the seek keys move. Times are seconds (10, 2.5), or texts such as "1:30" and "1:02:03.5"."#
        Key("seek-step", \.seekStep, .time, needs: .viewers)
        "How long a still image is shown. Clips play to their end."
        Key("image-duration", \.imageDuration, .time, inItem: { $0.imageDuration = $1 })
        """
        "cut" changes from one item to the next between two frames. "fade" mixes the end of the one with the beginning of the other, picture and
        sound, for transition-duration, but at most for half of either. Both have to be decoded at once for that time.
        """
        Key("transition", \.transition, .word)
        Key("transition-duration", \.transitionDuration, .time)
        """
        "auto" makes a picture of each field of interlaced video, by a graphics processor that can or in software: 25 frames a second are 50 pictures, which
        fit a refresh of 50 Hz. Where the machine is too slow for that the log says so, and each frame is one picture. "off" shows the frames as they are,
        with combs where something moves.
        """
        Key("deinterlace", \.deinterlace, .word, inItem: { $0.deinterlace = $1 })
        """
        What decodes the pictures of videos. "auto" is the graphics processor or the video decoder of the board (VAAPI, V4L2) where it takes the codec, else
        the processor. "hardware" is the same, and a warning where it cannot be had. "software" is always the processor. docs/hardware-decoding.md
        """
        Key("decoder", \.decoder, .word, inItem: { $0.decoder = $1 })
        "The device that decodes, where there are several. No default: the first of /dev/dri/renderD* that can. An example:"
        Key(
            "decoder-device", \.decoderDevice, .path(beginning: "/dev/", "a device such as \"/dev/dri/renderD128\""), needs: .restart,
            example: "\"/dev/dri/renderD128\"")
        """
        Where files and streams are read. "auto" reads each in a process of its own, which has no rights but those to do that: what crashes or hangs a decoder
        costs the item, and not the player. "off" reads all of them on threads of the player. docs/sandbox.md
        """
        Key("isolation", \.isolation, .word, needs: .restart)
        """
        How much of what the playlist plays over http and https is kept on the disk, as "2 GB" or "500 MB". Files are fetched in the background, played from
        the disk from then on, also when the network is gone, and checked for changes every five minutes. What is no longer on the playlist gives way
        first, the oldest first. Streams (HLS, DASH, radio) are not kept. "off" keeps nothing. docs/cache.md
        """
        Key("cache", \.cache, .cacheSize("2 GB"), needs: .restart)
        """
        Where: an absolute path. No default: /var/lib/kiosk/cache for the service, else kiosk in $XDG_CACHE_HOME or in .cache of the user's folder. An example:
        """
        Key("cache-folder", \.cacheFolder, .folder, needs: .restart, example: "\"/srv/cache\"")
        """
        Which sound track is heard of a file that has several: a language ("de", "en", or by its region "pt-BR"), the number of the track, from 1, "off" for
        none, or "auto", the first choice of the file. A file without that language plays its first choice, and the log says so. kiosk check lists the tracks.
        """
        Key("audio-track", \.audioTrack, .track, inItem: { $0.audioTrack = $1 })
        """
        Which subtitles are shown: a language ("de"), the number of a track, from 1, "off" for none, or "auto": what the file has for what is spoken in another
        language (forced), or a file beside the clip without a language in its name. Files beside clip.mp4 are clip.srt, clip.de.srt, clip.de.sdh.vtt,
        clip.en.forced.ass; their numbers follow on those in the clip. kiosk check lists all. Text needs libass (libass9). docs/subtitles.md
        """
        Key("subtitle-track", \.subtitleTrack, .track, inItem: { $0.subtitleTrack = $1 })
        """
        The character set of files beside clips that are not in Unicode, as iconv names it (iconv -l). No default: the one that Windows has for the language in
        the name of the file, else CP1252. An example:
        """
        Key(
            "subtitle-encoding", \.subtitleEncoding, .line("the name of a character set", longest: 40), needs: .restart,
            example: "\"CP1251\"")
        """
        Containers and codecs that are played beside those of docs/formats.md, by FFmpeg's names (ffmpeg -demuxers, ffmpeg -codecs). Few of them have been looked at for what a
        hostile file does to them. No default. An example:
        """
        Key("more-formats", \.moreFormats, .names("[\"xm\"]"), example: "[\"xm\"]")
        Key("more-codecs", \.moreCodecs, .names("[\"cinepak\"]"), example: "[\"cinepak\"]")
    }
}

extension StreamSettings: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        How long the last picture of a live stream that has broken off or ended stands, while it is opened again after 0.5 s, 1 s, 2 s and so on. Then the
        next item follows, or the fallback. The stream is asked for again meanwhile, every 30 s at last, and comes back when an item ends.
        """
        Key("reconnect", \.reconnect, .timeOrZero, inItem: { $0.stream.reconnect = $1 })
        "How long a connection may give no data before it is taken to have broken off, and how long opening it may take: 1 or more."
        Key(
            "timeout", \.timeout, .time, inItem: { $0.stream.timeout = $1 },
            objection: { $0 < shortestTimeout ? "expected \(Int(shortestTimeout.seconds)) s or more: shorter is no sign of a fault" : nil })
        """
        How many seconds behind what has been received a live stream is played, 60 at most. More outlasts longer gaps of the network. No default: one
        second; what comes over HTTP (HLS) is played as far behind as the server begins. An example:
        """
        Key(
            "latency", \.latency, .time, inItem: { $0.stream.latency = $1 }, example: "0.5",
            objection: { $0 > longestLatency ? "expected \(Int(longestLatency.seconds)) s or less" : nil })
        "What is added to HTTP requests. No default. An example:"
        Key("headers", \.headers, .headers, inItem: { $0.stream.headers = $1 }, example: "{ Authorization = \"Bearer 0123\" }")
        "What a server is told who asks."
        Key("user-agent", \.userAgent, .line("a line of text", longest: 500), inItem: { $0.stream.userAgent = $1 })
        """
        A file (PEM) with the certificate authorities to trust instead of the system's, for servers of your own. No default. An example:
        """
        Key(
            "ca-file", \.certificateAuthorities, .path("the path of a file"), inItem: { $0.stream.certificateAuthorities = $1 },
            example: "\"/etc/kiosk/ca.pem\"")
        """
        Whether a server that is spoken to by TLS (https, rtsps) must have a valid certificate for its name. With false anyone on the line can read the
        headers and replace the picture, and the log says so at every start.
        """
        Key("tls-verify", \.verifiesTLS, .flag, inItem: { $0.stream.verifiesTLS = $1 })
        "Whether an HLS list in a folder may name what lies on the network. Lists from the network never name files. docs/streams.md"
        Key("allow-network", \.mayNameNetwork, .flag, inItem: { $0.stream.mayNameNetwork = $1 })
    }
}

/// What a `[[playlist]]` says about the network; nil is what it leaves out.
package struct StreamChoices: Hashable, Sendable {
    package var reconnect: MediaTime?
    package var timeout: MediaTime?
    package var latency: MediaTime?
    /// As lines of a request.
    package var headers: [String]?
    package var userAgent: String?
    /// An absolute path.
    package var certificateAuthorities: String?
    package var verifiesTLS: Bool?
    package var mayNameNetwork: Bool?

    /// The same, with `network` for what it leaves out.
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
