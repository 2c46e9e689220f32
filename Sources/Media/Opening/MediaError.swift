import CKioskFFmpeg
import KioskPlatform

/// The reason why a source cannot play, with a text for the author of the playlist.
package struct MediaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The fault of the source.
    package enum Reason: Error, Hashable, Sendable {
        case notFound
        case permissionDenied
        case isDirectory
        case notARegularFile
        case isEmpty
        /// No demuxer recognises it.
        case notMedia
        /// Recognised, but the description of its contents is broken (header only, `moov` missing).
        case damaged(String)
        case encrypted
        /// It has a header and no packet after it.
        case hasNoMedia
        /// It has neither a picture nor sound.
        case nothingToPlay
        /// The codec's name.
        case unsupportedCodec(String)
        /// An image of a kind that FFmpeg does not decode.
        case unreadableImage(UnreadableImage)
        /// Its pictures would take more memory than ``MemoryLimit`` allows: pixels, and megabytes.
        case pictureTooLarge(width: Int, height: Int, megabytes: Int)
        /// A sample rate in Hz, or a number of channels, that no sound has.
        case soundOutOfRange(sampleRate: Int, channelCount: Int)
        /// The decoder gave no picture.
        case nothingDecodes
        /// Opening or reading took longer than the seconds allowed.
        case timedOut(seconds: Double)
        /// ``Interruption/cancel()`` was called (a skip, or the end of the program).
        case cancelled
        /// It cannot seek to its starting point: FFmpeg's text.
        case notSeekable(String)
        /// The scheme of a URL that kiosk does not play.
        case protocolNotPlayed(String)
        /// FFmpeg's name of a container that kiosk does not play, or of a list where none may be.
        case formatNotPlayed(String, isList: Bool)
        /// FFmpeg's name of a codec that kiosk does not decode.
        case codecNotPlayed(String)
        /// It names a file or a server that it may not name (``SourceReach``).
        case namesWhatItMayNot(String)
        /// An HLS list with both parts and lists.
        case mixedList
        /// An HLS list with parts encrypted by SAMPLE-AES.
        case encryptedSamples
        /// Its server redirects to this address, which kiosk does not follow.
        case redirected(String)
        /// Its server's certificate cannot be verified.
        case certificate
        /// No process reads it: the reader died, cannot start, or is left out for that. Says nothing of the source's bytes.
        case readerFailed(String)
        /// FFmpeg's text, or the system's.
        case failed(String)
    }

    /// The path or URL.
    package var source: String
    /// The fault of the source.
    package var reason: Reason

    /// An error about `source`.
    package init(_ source: String, _ reason: Reason) {
        self.source = source
        self.reason = reason
    }

    /// `/srv/a.mp4: is empty (0 bytes): copy it again`; without the user name and password of a URL.
    package var description: String { "\(source.withoutCredentials): \(reason.text)" }
}

extension MediaError.Reason {
    /// Says what is wrong and what to do, without the source's name.
    package var text: String {
        switch self {
        case .notFound: "no such file: check the path, or copy the file there"
        case .permissionDenied: "permission denied: make it readable for the user that kiosk runs as"
        case .isDirectory: "is a folder inside a list: name the folder as a source of its own"
        case .notARegularFile: "is not a regular file"
        case .isEmpty: "is empty (0 bytes): copy it again"
        case .notMedia: "is not a video, sound or image that FFmpeg knows"
        case .damaged(let detail): "is damaged or cut off (\(detail)): copy or export it again"
        case .encrypted: "is encrypted: export it without DRM"
        case .hasNoMedia:
            "has a header and nothing to play after it: it is cut off, or the first part of a stream: copy it again, "
                + "or name the stream's playlist"
        case .nothingToPlay: "has neither a picture nor sound"
        case .unsupportedCodec(let name): "its codec \(name) is not supported by the installed FFmpeg"
        case .unreadableImage(let kind): kind.text
        case .pictureTooLarge(let width, let height, let megabytes):
            "\(width)×\(height) pixels take \(megabytes) MB, more than this machine can spare: scale it down"
        case .soundOutOfRange(let rate, let channels):
            "its sound is damaged or of an unknown kind (\(rate) Hz, \(channels) channel\(channels == 1 ? "" : "s")): "
                + "export it again, with 48000 Hz"
        case .nothingDecodes: "nothing in it can be decoded; it is damaged, or its picture far too large: export it again"
        case .timedOut(let seconds): "gave no data for \(Int(saturating: seconds)) s: check the disk or the network"
        case .cancelled: "is no longer wanted"
        case .notSeekable(let detail): "cannot seek: " + detail
        case .protocolNotPlayed(let scheme):
            "\(scheme): is no protocol that kiosk plays: use http, https, rtsp, rtsps, rtp, udp, srt, rist or rtmp"
        case .formatNotPlayed(let name, isList: true): "is a list (\(name)), which must not stand here: name the files themselves"
        case .formatNotPlayed(let name, isList: false):
            "its format \(name) is not among those that kiosk plays: convert it, or add it to [playback] more-formats"
        case .codecNotPlayed(let name):
            "its codec \(name) is not among those that kiosk plays: convert it, or add it to [playback] more-codecs"
        case .namesWhatItMayNot(let name): "names \(name.withoutCredentials.printable), which it may not: see docs/streams.md"
        case .mixedList: "lists both parts of a stream and lists of HLS: write it again with one kind"
        case .encryptedSamples: "its parts are encrypted by SAMPLE-AES, which kiosk does not play: encrypt them by AES-128, or not at all"
        case .redirected(let address): "its server redirects to \(address.withoutCredentials.printable), which kiosk does not follow"
        case .certificate:
            "its server’s certificate cannot be verified: it has expired, is for another name, or has an unknown signer; name its "
                + "authority in ca-file"
        case .readerFailed(let detail), .failed(let detail): detail
        }
    }
}

/// Returns FFmpeg's text for a negative AVERROR. The corresponding C function is `av_strerror`.
package func averrorText(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 128)
    av_strerror(code, &text, text.count)
    return text.text
}
