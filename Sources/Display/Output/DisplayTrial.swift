import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Shows pictures on the real display, one for each vblank, and counts late flips: for `kiosk devices --test`.
///
/// Opens the display anew for each picture path, and restores the former content at the end.
package struct DisplayTrial: Sendable {
    /// The pictures of the trial: `copy, P010, rotated 90°`.
    package private(set) var title: String
    /// The path taken: `1280×720 NV12 → plane 31, copied once`.
    package private(set) var line = "converted in software"
    /// `HDMI-A-1 1920x1080@60.00`.
    package private(set) var mode = ""
    /// The number of pictures shown, and of vblanks that repeated the picture before.
    package private(set) var shown = 0, late = 0
    /// Whether the driver counts vblanks. If it does not, `late` says nothing.
    package private(set) var countsVblanks = false
    /// The time to prepare a picture: mean and maximum. The first picture does not count: it allocates memory and asks the driver.
    package private(set) var preparing = MediaTime.zero, worst = MediaTime.zero
    package private(set) var problem: String?

    /// The limits of a trial: pictures and time.
    package static let mostPictures = 120, timeLimit = MediaTime.seconds(4)

    /// Returns why kiosk must not take the display of `settings`: a player or a desktop has it. nil if kiosk may take it.
    package static func obstacle(_ settings: DisplaySettings) -> String? {
        var settings = settings
        settings.picturePath = .copy
        do throws(PathInquiry.Refusal) {
            _ = try PathInquiry.open(settings)
            return nil
        } catch { return error.isInUse ? "\(error)" : nil }
    }

    /// Tries every path with generated pictures: 1280×720 in NV12, YUV420 and P010, and NV12 rotated by 90°. Calls `report` after each.
    ///
    /// - Returns: false, without a report, if there is no display.
    package static func showTestPictures(_ settings: DisplaySettings, report: (DisplayTrial) -> Void) -> Bool {
        for path in [PicturePathChoice.copy, .scale, .convert] {
            for (format, rotation) in [(VideoFormat.nv12, Rotation.none), (.yuv420, .none), (.p010, .none), (.nv12, .clockwise90)] {
                let rotated = rotation == .none ? "" : ", rotated \(rotation.rawValue)°"
                var trial = DisplayTrial(title: "\(path.rawValue), \(format)\(rotated)")
                let pictures = TestPictures(format)
                trial.show(settings, path, settings.rotation + rotation) { pictures.next() }
                if trial.mode.isEmpty { return false }
                report(trial)
            }
        }
        return true
    }

    /// Shows the pictures of a file, decoded by `device`, or by the first device that takes them.
    package static func showFile(_ source: String, device: String?, _ settings: DisplaySettings) -> DisplayTrial {
        var trial = DisplayTrial(title: source)
        do throws(MediaError) {
            var order = OpenOrder(.play, source)
            (order.usesDevices, order.decoder) = (true, DecoderWish(.hardware, device: device))
            let file = try ReaderClient(order, by: .shared, Interruption())
            trial.show(settings, .dmabuf, settings.rotation) { file.nextFrame()?.intoFrame() }
        } catch { trial.problem = error.reason.text }
        return trial
    }

    private init(title: String) { self.title = title }

    private mutating func show(
        _ settings: DisplaySettings, _ path: PicturePathChoice, _ rotation: Rotation, next: () -> VideoFrame?
    ) {
        var settings = settings
        (settings.picturePath, settings.rotation) = (path, rotation)
        let output = DisplayOutput.open(settings)
        defer { output.close() }
        guard let mode = output.mode else {
            problem = "no display"
            return
        }
        (self.mode, countsVblanks) = (mode.name, output.reportsVblank)
        let begin = HostTime.now
        var (total, last): (MediaTime, UInt64?) = (.zero, nil)
        var ready: PreparedScene?
        var pending = false
        var id: UInt64 = 0
        while shown < Self.mostPictures, HostTime.now - begin < Self.timeLimit {
            if ready == nil {
                guard let frame = next() else { break }
                var scene = Scene()
                scene.add(Layer(frame, gravity: .resizeAspect))
                let start = HostTime.now
                guard case .prepared(let prepared) = output.prepare(scene) else {
                    problem = "no memory to prepare a picture in"
                    break
                }
                let time = HostTime.now - start
                if id > 0 {
                    total += time
                    worst = max(worst, time)
                }
                ready = prepared
            }
            if pending {
                switch output.wait(until: .now + .seconds(1)) {
                case .flipped(let flip) where flip.id == id:
                    pending = false
                    shown += 1
                    if let last, let sequence = flip.sequence, sequence > last { late += Int(sequence - last) - 1 }
                    last = flip.sequence
                case .flipped, .woken, .bufferFreed: continue
                case .changed, .deadline:
                    problem = "no flip within a second"
                    return
                }
            }
            guard let prepared = ready.take() else { continue }
            id += 1
            guard case .queued = output.commit(prepared, id: id) else {
                problem = "the driver refuses a picture: the log has the reason"
                break
            }
            pending = true
        }
        if let said = output.shared.withLock({ $0.video })?.line, !said.isEmpty { line = said }
        if id > 1 { preparing = MediaTime(nanoseconds: total.nanoseconds / Int64(id)) }
        while pending, case .flipped = output.wait(until: .now + .milliseconds(200)) { pending = false }
    }
}

/// Colour bars, with a white line that moves evenly over them and a red square at the top left. Each picture is drawn outside the measured
/// time.
private final class TestPictures {
    private let format: VideoFormat
    private let drawn = MemoryBuffer(width: 1280, height: 720, format: .xrgb8888)
    private var context: ScaleContext?
    private var number = 0

    /// White, yellow, cyan, green, magenta, red, blue, black.
    private static let bars: [UInt32] = [0xffffff, 0xffff00, 0x00ffff, 0x00ff00, 0xff00ff, 0xff0000, 0x0000ff, 0x000000]

    init(_ format: VideoFormat) {
        self.format = format
        let (width, height) = (drawn.pixels.width, drawn.pixels.height)
        context = ScaleContext.make(
            from: (drawn.pixels.format.av, width, height), to: (format.av, width, height), flags: SWS_BILINEAR)
    }

    func next() -> VideoFrame? {
        let pixels = drawn.pixels
        guard context != nil, let frame = VideoFrame.blank(format.av, width: pixels.width, height: pixels.height) else { return nil }
        // libswscale converts RGB to these by default.
        frame.av.pointee.colorspace = AVCOL_SPC_SMPTE170M
        frame.av.pointee.color_range = AVCOL_RANGE_MPEG
        func fill(_ x: Int, _ width: Int, _ height: Int, _ colour: UInt32) {
            pixels.fill(PixelRectangle(x: x, y: 0, width: width, height: height), with: colour)
        }
        let bar = pixels.width / Self.bars.count
        for (index, colour) in Self.bars.enumerated() { fill(index * bar, bar, pixels.height, colour) }
        fill(number * 8 % (pixels.width - 16), 16, pixels.height, 0xffffff)
        fill(0, 64, 64, 0xff0000)
        number += 1
        context!.run(from: PicturePlanes(packed: pixels.base, stride: pixels.stride), to: PicturePlanes(frame.av))
        return frame
    }
}
