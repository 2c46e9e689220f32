import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[record]`.
    package struct Record: Hashable, Sendable {
        /// `folder`: where films are kept, an absolute path; nil is no recording.
        package var folder: String?
        /// `camera`.
        package var camera = CameraChoice.automatic
        /// `microphone`.
        package var microphone = AudioDevice.automatic
        /// `size`.
        package var mode = CameraMode()
        /// `duration` at most.
        package var duration = MediaTime.seconds(60)
        /// `rotation`: how the camera's picture has to be turned.
        package var rotation = Rotation.none
        /// `mirror`: whether the preview is as in a mirror; the film is not.
        package var mirrorsPreview = true
        /// `encoder`.
        package var encoder = EncoderSetting.automatic
        /// `on-record`.
        package var onRecord = OnRecord.keep
        /// `keep-number`, `keep-age` and `keep-space`: more than that is thrown away, the oldest first; nil is no limit.
        package var keptNumber: Int?
        package var keptAge: MediaTime?
        package var keptSpace: ByteCount?
    }
}

extension Configuration.Record {
    mutating func read(_ table: TableReader, folder base: String) {
        folder =
            table.value("folder", "the path of a folder") { kind in
                guard let text = kind.string, !text.isEmpty, !text.contains("\0"), !isURL(text) else { return nil }
                return PlaylistSource(text, relativeTo: base).location
            } ?? folder
        let state = "/var/lib/kiosk"
        for other in [StickUse.copies(state: state), state + "/cache"] where (folder.map { $0 + "/" } ?? "").hasPrefix(other + "/") {
            table.complain("\(other) is emptied by kiosk itself; name another folder, such as \"\(state)/films\"", about: "folder")
        }
        camera =
            table.text("camera", CameraChoice.self, "\"auto\", \"front\", \"rear\", a device such as \"/dev/video0\" or a name") ?? camera
        microphone = table.text("microphone", AudioDevice.self, "\"auto\", \"off\" or an ALSA device such as \"hw:1\"") ?? microphone
        mode = table.text("size", CameraMode.self, "a size such as \"1280x720@30\"") ?? mode
        duration = table.time("duration") ?? duration
        rotation =
            table.value("rotation", alternatives(Rotation.allCases.map { "\($0.rawValue)" })) { kind in
                guard case .integer(let degrees) = kind else { return nil }
                return Int(exactly: degrees).flatMap(Rotation.init(rawValue:))
            } ?? rotation
        mirrorsPreview = table.flag("mirror") ?? mirrorsPreview
        encoder = table.word("encoder", EncoderSetting.self) ?? encoder
        onRecord = table.word("on-record", OnRecord.self) ?? onRecord
        keptNumber = table.number("keep-number", in: 1...100_000) ?? keptNumber
        keptAge = table.time("keep-age") ?? keptAge
        keptSpace = table.text("keep-space", ByteCount.self, "a size such as \"2 GB\"") ?? keptSpace
    }
}
