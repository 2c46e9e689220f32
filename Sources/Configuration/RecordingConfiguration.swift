// [record].
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[record]`.
    package struct Record: Hashable, Sendable {
        /// Where films are kept, an absolute path; nil is no recording.
        package var folder: String?
        package var camera = CameraChoice.automatic
        package var microphone = AudioDevice.automatic
        package var mode = CameraMode()
        /// At most.
        package var duration = MediaTime.seconds(60)
        /// How the camera's picture has to be rotated.
        package var rotation = Rotation.none
        /// Whether the preview is as in a mirror; the film is not.
        package var mirrorsPreview = true
        package var encoder = EncoderSetting.automatic
        package var onRecord = OnRecord.keep
        /// More than that is thrown away, the oldest first; nil is no limit.
        package var keptNumber: Int?
        package var keptAge: MediaTime?
        package var keptSpace: ByteCount?
    }
}

extension Configuration.Record: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Where films are kept, a folder that the player may write; the service may write to /var/lib/kiosk alone. Where [[playlist]] names it, too, they are
        played. No default: nothing is recorded without. An example:
        """
        Key("folder", \.folder, .path("the path of a folder"), example: "\"/var/lib/kiosk/films\"", objection: { objection(toFolder: $0) })
        #""auto", "front", "rear", a device such as "/dev/video0", or a part of the camera's name: kiosk devices lists them."#
        Key("camera", \.camera, .text("\"auto\", \"front\", \"rear\", a device such as \"/dev/video0\" or a name"))
        #""auto" (that of the camera, else the first), "off" or an ALSA device such as "hw:1"."#
        Key("microphone", \.microphone, .text("\"auto\", \"off\" or an ALSA device such as \"hw:1\""))
        "Pixels and pictures a second. No default: the largest up to 1280x720 that moves. An example:"
        Key("size", \.mode, .text("a size such as \"1280x720@30\""), example: "\"1280x720@30\"")
        "The longest film."
        Key("duration", \.duration, .time)
        "How the camera's picture has to be turned clockwise: 0, 90, 180 or 270."
        Key("rotation", \.rotation, .rotation)
        "true shows the preview as a mirror does. The film is not mirrored."
        Key("mirror", \.mirrorsPreview, .flag)
        """
        What encodes the film. "auto": the processor, by x264, whose films are the best for their size; hardware where FFmpeg has no such encoder. "hardware":
        the device that [playback] decoder-device names, else the first of /dev/dri/renderD* that can (VAAPI), else V4L2, else the processor, which the log
        says once. The processor is then free for the player. "software" never touches hardware.
        """
        Key("encoder", \.encoder, .word)
        """
        "keep" keeps what has been recorded at once. "review" plays it first, again and again, with buttons to keep it or to make another one; nobody who
        touches anything for a minute means that it is not wanted, and so does a power cut before somebody has said to keep it.
        """
        Key("on-record", \.onRecord, .word)
        """
        Films beyond these are thrown away when a new one is kept, the oldest first: so many, so old ("720:00:00" is 30 days), so large in all. For their age
        they are looked at every ten minutes, too. Age counts from when the clock of the box is right: without one no film is too old. No default: none is
        thrown away. Examples:
        """
        Key("keep-number", \.keptNumber, .number(in: 1...100_000), example: "100")
        Key("keep-age", \.keptAge, .time, example: "\"720:00:00\"")
        Key("keep-space", \.keptSpace, .text("a size such as \"2 GB\""), example: "\"2 GB\"")
    }

    private static func objection(toFolder folder: String) -> String? {
        let state = "/var/lib/kiosk"
        return [StickUse.copies(state: state), state + "/cache"].first { (folder + "/").hasPrefix($0 + "/") }.map {
            "\($0) is emptied by kiosk itself; name another folder, such as \"\(state)/films\""
        }
    }
}
