// [record].
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[record]`.
    package struct Record: Hashable, Sendable {
        /// The folder of the films, an absolute path; nil for no recording.
        package var folder: String?
        package var camera = CameraChoice.automatic
        package var microphone = AudioDevice.automatic
        package var mode = CameraMode()
        /// The longest duration of a film.
        package var duration = MediaTime.seconds(60)
        /// The rotation of the camera's picture.
        package var rotation = Rotation.none
        /// Whether to mirror the preview; the film is not mirrored.
        package var mirrorsPreview = true
        package var encoder = EncoderSetting.automatic
        package var onRecord = OnRecord.keep
        /// The limits of kept films; kiosk discards the oldest first. nil for no limit.
        package var keptNumber: Int?
        package var keptAge: MediaTime?
        package var keptSpace: ByteCount?
    }
}

extension Configuration.Record: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Folder for the films, with write permission for the player. The service may write only to
        /var/lib/kiosk. Name the folder in a [[playlist]], too, to play the films. No default: without a
        folder kiosk records nothing. An example:
        """
        Key("folder", \.folder, .path("the path of a folder"), example: "\"/var/lib/kiosk/films\"", objection: { objection(toFolder: $0) })
        """
        Camera: "auto" (the first), "front", "rear", a device such as "/dev/video0", or a part of the
        camera's name. kiosk devices lists the cameras.
        """
        Key("camera", \.camera, .text("\"auto\", \"front\", \"rear\", a device such as \"/dev/video0\" or a name"))
        #"Microphone: "auto" (that of the camera, else the first), "off" or an ALSA device such as "hw:1"."#
        Key("microphone", \.microphone, .text("\"auto\", \"off\" or an ALSA device such as \"hw:1\""))
        """
        Pixels, and pictures a second. No default: kiosk takes the largest size up to 1280x720 with at
        least 24 pictures a second. An example:
        """
        Key("size", \.mode, .text("a size such as \"1280x720@30\""), example: "\"1280x720@30\"")
        "Maximum duration of a film."
        Key("duration", \.duration, .time)
        "Rotate the camera's picture clockwise by 0, 90, 180 or 270 degrees."
        Key("rotation", \.rotation, .rotation)
        "With true kiosk mirrors the preview. The film stays as the camera saw it."
        Key("mirror", \.mirrorsPreview, .flag)
        """
        Encoder of the film:
          "auto"       the processor, by x264; hardware only if FFmpeg has no software encoder
          "hardware"   VAAPI, else V4L2, else the processor; the log reports the processor once
          "software"   the processor, never hardware
        The films of x264 are the best for their size. Hardware leaves the processor to the player. VAAPI
        uses [playback] decoder-device, else the first of /dev/dri/renderD* that can encode.
        """
        Key("encoder", \.encoder, .word)
        """
        "keep" keeps a film at once. "review" repeats it, with buttons to keep it or to make another one.
        kiosk discards an unconfirmed film after a minute without input, and after a power cut.
        """
        Key("on-record", \.onRecord, .word)
        """
        Limits for the kept films: their number, their age ("720:00:00" is 30 days), and their size in
        all. When kiosk keeps a new film, it discards the oldest films beyond a limit. It also looks for
        films beyond the age every ten minutes. If the clock of the box is wrong, age counts from the time
        at which the clock becomes right. Until then no film is too old. No default: kiosk discards no
        film. An example of each:
        """
        Key("keep-number", \.keptNumber, .number(in: 1...100_000), example: "100")
        Key("keep-age", \.keptAge, .time, example: "\"720:00:00\"")
        Key("keep-space", \.keptSpace, .text("a size such as \"2 GB\""), example: "\"2 GB\"")
    }

    private static func objection(toFolder folder: String) -> String? {
        let state = "/var/lib/kiosk"
        return [StickUse.copies(state: state), state + "/cache"].first { (folder + "/").hasPrefix($0 + "/") }.map {
            "kiosk itself empties \($0); name another folder, such as \"\(state)/films\""
        }
    }
}
