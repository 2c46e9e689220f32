import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// Asks a display's driver for the path of pictures, without showing anything: for `kiosk check` and `kiosk devices`.
///
/// It uses the test commits of ``VideoPlanes``, each together with the modeset that would come before. Only the card's master may test
/// commits. No other program can be master while an inquiry exists, so do not keep one.
package final class PathInquiry {
    /// The reason why kiosk cannot ask the driver.
    package struct Refusal: Error, CustomStringConvertible {
        package var description: String
        /// Another program has the card.
        var isInUse = false
    }

    /// `Virtual-1 1280x720@60.00`.
    package let display: String
    private let planes: VideoPlanes
    private let rotation: Rotation
    private let route: PipeRoute
    /// The number of this inquiry's share of the overlay planes.
    private let membership: UInt64

    /// Opens an inquiry about the display that `settings` choose.
    package static func open(_ settings: DisplaySettings) throws(Refusal) -> PathInquiry {
        guard settings.connector.takesCards else {
            throw Refusal(description: "\(settings.connector) has no planes: all pictures are \(PicturePath.convert.work)")
        }
        var (cards, records) = ([DRMCard](), [[ConnectorRecord]]())
        for path in DRMCard.paths() {
            guard let card = try? DRMCard.open(path), let connectors = card.connectors(probing: false) else { continue }
            cards.append(card)
            records.append(connectors)
        }
        guard let place = settings.connector.choose(from: records.map { $0.map(\.connector) }, named: cards.map(\.name)) else {
            throw Refusal(description: "no display is connected")
        }
        return try PathInquiry(cards[place.card], records[place.card][place.connector], settings)
    }

    /// Creates an inquiry about one display.
    init(_ card: DRMCard, _ record: ConnectorRecord, _ settings: DisplaySettings) throws(Refusal) {
        guard let mode = settings.mode.choose(from: record.connector.modes)?.index else {
            throw Refusal(description: "\(record.connector.name) has no modes")
        }
        display = "\(record.connector.name) \(record.connector.modes[mode].name)"
        rotation = settings.rotation + record.panelRotation
        guard card.isAtomic else { throw Refusal(description: "\(card.path) knows the older calls only: all pictures are converted") }
        do throws(DeviceError) {
            let route = try PipeRoute.find(card, record, mode: mode)
            self.route = route
            planes = VideoPlanes(try AtomicPipe(route).planesBeforeModeset(), settings.picturePath, isSilent: true)
            // If the settings leave nothing to ask, disturb nobody.
            if planes.asksDriver { try card.becomeMaster() }
            membership = card.planeShares.withLock { $0.join(route.crtc, bit: route.crtcBit) }
        } catch {
            let holders = DeviceHolder.find(card.path)
            throw Refusal(
                description: holders.isEmpty ? "cannot \(error)" : "\(card.path) is in use by \(holders.joined(separator: ", "))",
                isInUse: true)
        }
    }

    deinit { route.card.planeShares.withLock { $0.leave(route.crtc, membership) } }

    /// Returns the path of a video, for pictures decoded in software: kiosk has no memory of a hardware decoder to ask about. `h264
    /// 1920×1080 YU12 → the primary plane, scaled by the display, copied once`. nil if kiosk cannot draw it.
    package func line(_ video: AssetDescription.Video, gravity: VideoGravity) -> String? {
        let format = av_get_pix_fmt(video.pixelFormat)
        guard var frame = VideoFrame.blank(format, width: video.width, height: video.height) else { return nil }
        frame.codec = video.codec
        frame.orientation = video.orientation
        frame.av.pointee.sample_aspect_ratio = av_d2q(video.pixelAspectRatio, 1000)
        let matrix = video.colorMatrix.map { av_color_space_from_name($0) } ?? -1
        frame.av.pointee.colorspace = matrix < 0 ? AVCOL_SPC_UNSPECIFIED : AVColorSpace(UInt32(matrix))
        return planes.describe(frame, gravity: gravity, rotation: rotation)
    }

    /// Returns the paths of common sizes and formats, with equal answers in one line: `1280×720 NV12 YU12 → plane 31, copied once`.
    package func commonLines() -> [String] {
        var lines: [(head: String, way: String)] = []
        for (width, height) in [(1280, 720), (1920, 1080), (3840, 2160)] {
            var isFirst = true
            for format in [VideoFormat.nv12, .yuv420, .p010] {
                guard let way = way(of: format, width, height) else { continue }
                if !isFirst, let last = lines.last, last.way == way {
                    lines[lines.count - 1].head = "\(last.head) \(format)"
                } else {
                    lines.append((head: "\(width)×\(height) \(format)", way: way))
                }
                isFirst = false
            }
        }
        return lines.map { "\($0.head) → \($0.way)" }
    }

    private func way(of format: VideoFormat, _ width: Int, _ height: Int) -> String? {
        guard let frame = VideoFrame.blank(format.av, width: width, height: height) else { return nil }
        return planes.describe(frame, gravity: .resizeAspect, rotation: rotation)?.way
    }
}

extension String {
    /// The part after the arrow.
    fileprivate var way: String? { firstIndex(of: "→").map { String(self[index($0, offsetBy: 2)...]) } }
}
