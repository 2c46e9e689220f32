import CKioskCapture
import Glibc
import KioskPlatform
import KioskVocabulary

/// A camera of this machine: a V4L2 capture device.
package struct Camera: Hashable, Sendable {
    /// Its device file, whose number may change at the next boot: `/dev/video0`.
    package var path: String
    /// The driver's name for it: `HD Webcam C525`.
    package var name: String
    /// Its port: `usb-0000:00:14.0-5`.
    package var bus: String
    /// Its direction, if known.
    package var position: Position?

    package init(path: String, name: String, bus: String, position: Position?) {
        (self.path, self.name, self.bus, self.position) = (path, name, bus, position)
    }

    /// The direction of a camera: front faces the person before the display.
    package enum Position: String, Hashable, Sendable { case front, rear }

    /// Returns the cameras of this machine, by device number, and the devices that could not be opened, each with its errno. Opens each for
    /// a moment, which disturbs no other program.
    package static func all() -> (cameras: [Camera], refused: [(path: String, errno: Int32)]) {
        var (cameras, refused): ([Camera], [(path: String, errno: Int32)]) = ([], [])
        for path in Folder.numbers(of: "video", in: "/dev").map({ "/dev/video\($0)" }) {
            if let device = Descriptor(opening: path, O_RDWR | O_NONBLOCK) {
                if let camera = Camera(device.raw, path: path) { cameras.append(camera) }
            } else {
                refused.append((path, errno))
            }
        }
        return (cameras, refused)
    }

    /// Its readable formats. Opens it for a moment; empty if that fails.
    package var formats: [CameraFormat] {
        guard let device = Descriptor(opening: path, O_RDWR | O_NONBLOCK) else { return [] }
        return CameraOffer.formats(device.raw, wanted: CameraMode()).filter { CameraPixels(code: $0.code) != nil && $0.rate > 0 }
    }

    /// Its readable formats with sizes and rates: `MJPG  1920x1080 at 30; 1280x720 at 60, 30`. Opens it for a moment.
    package var offers: [String] {
        guard let device = Descriptor(opening: path, O_RDWR | O_NONBLOCK) else { return [] }
        let offered = CameraOffer.formats(device.raw, wanted: CameraMode())
        var codes: [String] = []
        for format in offered where CameraPixels(code: format.code) != nil && !codes.contains(format.code) { codes.append(format.code) }
        var lines: [(codes: String, sizes: String)] = []
        for code in codes {
            let sizes = CameraFormat.list(offered.filter { $0.code == code })
            if let index = lines.firstIndex(where: { $0.sizes == sizes }) {
                lines[index].codes += " \(code)"
            } else {
                lines.append((code, sizes))
            }
        }
        return lines.map { "\($0.codes)  \($0.sizes)" }
    }

    /// Returns the firmware's panel position for the device or its parent.
    private static func panel(_ path: String) -> String? {
        let device = "/sys/class/video4linux/\(path.dropFirst("/dev/".count))/device"
        for folder in [device, device + "/.."] {
            if let text = SmallFile.text(folder + "/physical_device_location/panel") {
                return text.split(separator: "\n").first.map(String.init)
            }
        }
        return nil
    }

    /// Returns the direction by the driver's control V4L2_CID_CAMERA_ORIENTATION (0 is front, 1 back), else by the firmware, else by the
    /// name.
    static func position(orientation: Int32?, panel: String?, name: String) -> Position? {
        let told: Position? = orientation.flatMap { [0: .front, 1: .rear][$0] } ?? panel.flatMap { ["front": .front, "back": .rear][$0] }
        if let told { return told }
        let words = name.lowercased().split { !$0.isLetter }
        if words.contains("front") || words.contains("user") { return .front }
        return words.contains("rear") || words.contains("back") || words.contains("world") ? .rear : nil
    }

    /// `HD Webcam C525 (/dev/video0, front)`.
    package var description: String { "\(name) (\(path)\(position.map { ", \($0.rawValue)" } ?? ""))" }
}

extension Camera {
    /// Reads the camera behind an open device; nil if it is no camera (a tuner, a codec, a metadata device).
    init?(_ descriptor: Int32, path: String) {
        var capability = v4l2_capability()
        guard kiosk_video_call(descriptor, kVIDIOC_QUERYCAP, &capability) == 0 else { return nil }
        let has = capability.capabilities & UInt32(bitPattern: Int32(truncatingIfNeeded: V4L2_CAP_DEVICE_CAPS)) != 0
        let abilities = has ? capability.device_caps : capability.capabilities
        let needed = UInt32(V4L2_CAP_VIDEO_CAPTURE) | UInt32(V4L2_CAP_STREAMING)
        guard abilities & needed == needed else { return nil }
        self.path = path
        name = withUnsafeBytes(of: capability.card) { $0.text }
        bus = withUnsafeBytes(of: capability.bus_info) { $0.text }
        var control = v4l2_control()
        control.id = kV4L2_CID_CAMERA_ORIENTATION
        let orientation = kiosk_video_call(descriptor, kVIDIOC_G_CTRL, &control) == 0 ? control.value : nil
        position = Self.position(orientation: orientation, panel: Self.panel(path), name: name)
    }
}

extension CameraChoice {
    /// Returns the chosen one of the cameras.
    package func choose(_ cameras: [Camera], refused: [(path: String, errno: Int32)]) throws(CaptureError) -> Camera {
        let found: Camera? =
            switch self {
            case .automatic: cameras.first
            case .front: cameras.first { $0.position == .front }
            case .rear: cameras.first { $0.position == .rear }
            case .device(let path):
                cameras.first { $0.path == path }
                    ?? SmallFile.link(path).flatMap { link in
                        // A link by udev: /dev/v4l/by-id/….
                        cameras.first { $0.path.split(separator: "/").last == link.split(separator: "/").last }
                    }
            case .name(let name):
                cameras.first { $0.name.lowercased().contains(name.lowercased()) || $0.bus.lowercased().contains(name.lowercased()) }
            }
        if let found { return found }
        if case .device(let path) = self {
            if let refusal = refused.first(where: { $0.path == path }) { throw Self.error(refusal) }
            if access(path, F_OK) == 0 { throw .notACamera(path, available: cameras.map(\.description)) }
        }
        if cameras.isEmpty, let refusal = refused.first { throw Self.error(refusal) }
        if cameras.isEmpty { throw .noCamera }
        throw .noSuchCamera(description, available: cameras.map(\.description))
    }

    /// Returns the error for a device that could not be opened. Some drivers let only one process open a camera.
    private static func error(_ refusal: (path: String, errno: Int32)) -> CaptureError {
        .cannotOpenCamera(refusal.path, errno: refusal.errno, holders: refusal.errno == EBUSY ? DeviceHolder.find(refusal.path) : [])
    }
}
