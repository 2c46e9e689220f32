import Glibc
import KioskCaptureCore
public import KioskPlayer
import KioskVocabulary

/// A camera (V4L2) or a microphone (ALSA) of this machine: AVCaptureDevice.
///
/// A device is only a description: it opens nothing, and it stays the same value when somebody pulls the device out. ``CaptureSession``
/// opens it.
public struct CaptureDevice: Hashable, Sendable, Identifiable {
    /// The direction of a camera.
    public enum Position: Hashable, Sendable {
        /// It faces the person before the display.
        case front
        /// It faces the other way.
        case back
        /// Neither the driver nor the firmware says it; and that of a microphone.
        case unspecified
    }

    /// Whether the process may open devices of a kind.
    public enum AuthorizationStatus: Hashable, Sendable {
        /// There is no such device, so nobody can know.
        case notDetermined
        /// The user of the process has no permission. ``CaptureDevice/checkAccess(for:)`` names the group.
        case denied
        /// It may.
        case authorized
    }

    /// A size and a rate that a camera offers.
    public struct Format: Hashable, Sendable {
        /// Pixels across and down.
        public var dimensions: PixelSize
        /// Pictures a second.
        public var frameRate: Double
        /// V4L2's names of the pixel formats with this size and rate: `YUYV`, `MJPG`. The session chooses the cheapest.
        public var mediaSubTypes: [String]

        /// Creates the choice of a size and a rate; any camera that offers them will do.
        public init(dimensions: PixelSize, frameRate: Double, mediaSubTypes: [String] = []) {
            (self.dimensions, self.frameRate, self.mediaSubTypes) = (dimensions, frameRate, mediaSubTypes)
        }
    }

    /// The device file of a camera, `/dev/video0`, or ALSA's name of a microphone, `hw:CARD=C525,DEV=0`. Another camera may have it after
    /// the next start of the machine.
    public let uniqueID: String
    /// The driver's name of the device: `HD Webcam C525`.
    public let localizedName: String
    /// `video` of a camera, `audio` of a microphone.
    public let mediaType: Asset.Track.MediaType
    /// The direction of a camera.
    public let position: Position
    /// The place of a camera on its bus; empty for a microphone.
    let bus: String
    /// Whether it is a driver without hardware.
    let isVirtual: Bool

    /// The same as ``uniqueID``.
    public var id: String { uniqueID }

    // MARK: Discovery

    /// Returns the connected devices of a kind, in the kernel's order. Opens each for a moment, which disturbs no other program. Devices
    /// that the process may not open are missing: ``checkAccess(for:)``.
    public static func devices(for mediaType: Asset.Track.MediaType) -> [CaptureDevice] {
        switch mediaType {
        case .video: Camera.all().cameras.map { CaptureDevice($0) }
        case .audio: Microphone.all().map { CaptureDevice($0) }
        case .subtitle: []
        }
    }

    /// Returns the first camera, or the first microphone that is hardware; nil if there is none.
    public static func `default`(for mediaType: Asset.Track.MediaType) -> CaptureDevice? {
        devices(for: mediaType).first { !$0.isVirtual }
    }

    /// Returns the first camera of a direction; nil if there is none.
    public static func `default`(for mediaType: Asset.Track.MediaType, position: Position) -> CaptureDevice? {
        devices(for: mediaType).first { !$0.isVirtual && $0.position == position }
    }

    /// Returns the device with this ``uniqueID``; nil if there is none.
    public init?(uniqueID: String) {
        let all = Self.devices(for: .video) + Self.devices(for: .audio)
        guard let device = all.first(where: { $0.uniqueID.utf8.elementsEqual(uniqueID.utf8) }) else { return nil }
        self = device
    }

    /// The microphone in a camera, else the first microphone that is hardware; nil if there is none.
    public var microphone: CaptureDevice? {
        guard mediaType == .video else { return nil }
        let camera = Camera(path: uniqueID, name: localizedName, bus: bus, position: nil)
        return Microphone.choose(Microphone.all(), beside: camera, device: Microphone.resolve).map { CaptureDevice($0) }
    }

    /// Whether the device is connected, at any port.
    public var isConnected: Bool { connected != nil }

    /// The device as it is connected now: a camera that somebody has pulled out and put back may have another ``uniqueID``.
    var connected: CaptureDevice? {
        let all = Self.devices(for: mediaType)
        return all.first { $0 == self } ?? all.first { !bus.isEmpty && ($0.localizedName, $0.bus) == (localizedName, bus) }
    }

    /// The sizes and rates of a camera, the largest and fastest first; empty for a microphone, and if the camera cannot be opened. Opens
    /// it for a moment.
    public var formats: [Format] {
        guard mediaType == .video else { return [] }
        return Self.formats(Camera(path: uniqueID, name: localizedName, bus: bus, position: nil).formats)
    }

    static func formats(_ offered: [CameraFormat]) -> [Format] {
        var found: [Format] = []
        for format in offered {
            let size = PixelSize(width: format.width, height: format.height)
            if let index = found.firstIndex(where: { $0.dimensions == size && $0.frameRate == format.rate }) {
                if !found[index].mediaSubTypes.contains(format.code) { found[index].mediaSubTypes.append(format.code) }
            } else {
                found.append(Format(dimensions: size, frameRate: format.rate, mediaSubTypes: [format.code]))
            }
        }
        // As numbers with a point: a driver may name sizes whose product is no integer.
        func area(_ format: Format) -> Double { Double(format.dimensions.width) * Double(format.dimensions.height) }
        return found.sorted { (area($0), $0.frameRate) > (area($1), $1.frameRate) }
    }

    // MARK: Permission

    /// Returns whether the process may open devices of this kind. Linux asks nobody: the permissions of the device files decide.
    public static func authorizationStatus(for mediaType: Asset.Track.MediaType) -> AuthorizationStatus {
        do throws(CaptureError) {
            try checkAccess(for: mediaType)
            return .authorized
        } catch {
            switch error.code {
            case .applicationIsNotAuthorizedToUseDevice: return .denied
            case .deviceNotConnected: return .notDetermined
            default: return .authorized
            }
        }
    }

    /// Returns whether the process may open devices of this kind. No question appears; it returns at once.
    public static func requestAccess(for mediaType: Asset.Track.MediaType) async -> Bool {
        authorizationStatus(for: mediaType) == .authorized
    }

    /// Checks that there is a device of this kind, and that the process may open it.
    ///
    /// - Throws: ``CaptureError`` with the remedy: a device to plug in, or the group that the user has to join (`video`, `audio`).
    public static func checkAccess(for mediaType: Asset.Track.MediaType) throws(CaptureError) {
        do throws(KioskCaptureCore.CaptureError) {
            switch mediaType {
            case .video:
                let (cameras, refused) = Camera.all()
                _ = try CameraChoice.automatic.choose(cameras, refused: refused)
            case .audio:
                let (found, refused) = (Microphone.all(), Microphone.refused())
                if let path = refused.first, refused.count >= found.count {
                    throw .cannotOpenMicrophone(path, errno: EACCES, holder: nil)
                }
                if found.isEmpty { throw .noMicrophone }
            case .subtitle: throw .noCamera
            }
        } catch { throw CaptureError(error) }
    }
}

extension CaptureDevice {
    init(_ camera: Camera) {
        uniqueID = camera.path
        (localizedName, bus, mediaType, isVirtual) = (camera.name, camera.bus, .video, false)
        position =
            switch camera.position {
            case .front: .front
            case .rear: .back
            case nil: .unspecified
            }
    }

    init(_ microphone: Microphone) {
        (uniqueID, localizedName, bus, mediaType) = (microphone.pcm, microphone.name, "", .audio)
        (position, isVirtual) = (.unspecified, microphone.isVirtual)
    }
}

/// A device that a session opens, with its format: AVCaptureDeviceInput.
public struct CaptureDeviceInput: Hashable, Sendable {
    /// The device.
    public var device: CaptureDevice
    /// The size and the rate of a camera; nil is the largest up to 1280x720 with 30 pictures a second.
    public var format: CaptureDevice.Format?

    /// Creates the input of a device.
    public init(device: CaptureDevice, format: CaptureDevice.Format? = nil) { (self.device, self.format) = (device, format) }

    /// The engine's mode.
    func mode() throws(CaptureError) -> CameraMode {
        var mode = CameraMode()
        guard let format else { return mode }
        let (width, height) = (format.dimensions.width, format.dimensions.height)
        guard 1...16384 ~= width, 1...16384 ~= height, format.frameRate > 0, format.frameRate <= 1000 else {
            throw CaptureError(
                .formatUnsupported,
                "\(device.localizedName): \(width)x\(height) at \(format.frameRate) is no format: choose one of its formats")
        }
        (mode.width, mode.height, mode.rate) = (width, height, format.frameRate)
        return mode
    }
}
