import CKioskFFmpeg
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaders
import Synchronization

import class KioskPlatform.Thread

@testable import KioskCapture
@testable import KioskCaptureCore

/// A camera and a microphone without hardware: gray pictures with a burned-in number, 25 a second by CLOCK_MONOTONIC, and a tone. The session
/// reads them as it reads V4L2 and ALSA.
final class MadeDevices: Sendable {
    private struct State {
        var (isCameraConnected, isMicrophoneConnected) = (true, true)
        var openCount = 0
    }

    private let state = Mutex(State())

    var isCameraConnected: Bool {
        get { state.withLock { $0.isCameraConnected } }
        set { state.withLock { $0.isCameraConnected = newValue } }
    }
    var isMicrophoneConnected: Bool {
        get { state.withLock { $0.isMicrophoneConnected } }
        set { state.withLock { $0.isMicrophoneConnected = newValue } }
    }
    /// The number of times that somebody has opened the camera.
    var openCount: Int { state.withLock { $0.openCount } }

    static let path = "/dev/video-made"
    static let camera = KioskCapture.CaptureDevice(Camera(path: path, name: "Made Camera", bus: "made-1", position: .front))
    static let microphone = KioskCapture.CaptureDevice(Microphone(pcm: "hw:CARD=Made,DEV=0", name: "Made Card", card: 9, isVirtual: false))

    /// Returns a session that opens these devices.
    func session() -> KioskCapture.CaptureSession {
        KioskCapture.CaptureSession { [self] camera, microphone, preview throws(KioskCapture.CaptureError) in
            guard isCameraConnected else { throw KioskCapture.CaptureError(.noCamera) }
            state.withLock { $0.openCount += 1 }
            let sound: Opened<MadeMicrophone>? = microphone.map { _ in Opened(MadeMicrophone(self)) }
            return KioskCaptureCore.CaptureSession(
                MadeCamera(self), sound, microphone: microphone?.device.uniqueID, .inProcess, preview: preview)
        }
    }
}

/// A descriptor that can be read every 20 ms.
private final class Ticks: Sendable {
    private let (reading, writing): (Int32, Int32)
    var descriptor: Int32 { reading }

    init() {
        var ends: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        (reading, writing) = (ends[0], ends[1])
        let writing = writing
        Thread("ticks") { [weak self] in
            while self != nil {
                send(writing, "x", 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                usleep(20_000)
            }
            close(writing)
        }.detach()
    }

    deinit { close(reading) }

    /// Waits for the next one again.
    func take() {
        var bytes = [UInt8](repeating: 0, count: 64)
        _ = recv(reading, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    }
}

private struct MadeCamera: ~Copyable, PictureSource {
    let camera = Camera(path: MadeDevices.path, name: "Made Camera", bus: "made-1", position: .front)
    let format = CameraFormat(code: "YU12", width: 320, height: 180, numerator: 1, denominator: 25)
    let colours: CameraColours? = nil
    let droppedCount = 0
    private let devices: MadeDevices
    private let ticks = Ticks()
    private let begin = HostTime.now
    private var number = 0
    var descriptor: Int32 { ticks.descriptor }

    init(_ devices: MadeDevices) { self.devices = devices }

    mutating func next() throws(KioskCaptureCore.CaptureError) -> CapturedPicture? {
        if !devices.isCameraConnected { throw .cameraUnplugged(camera.path) }
        // A picture is due from its time on, however late the thread is.
        guard HostTime.now - begin > .milliseconds(40) * Int64(number + 1) else {
            ticks.take()
            return nil
        }
        number += 1
        return CapturedPicture(
            frame: Self.picture(number), number: UInt32(number), time: begin + .milliseconds(40) * Int64(number),
            frameDuration: .milliseconds(40))
    }

    private static func picture(_ number: Int) -> VideoFrame {
        let frame = av_frame_alloc()!
        frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        (frame.pointee.width, frame.pointee.height) = (320, 180)
        av_frame_get_buffer(frame, 0)
        memset(frame.pointee.data.0!, 128, Int(frame.pointee.linesize.0) * 180)
        memset(frame.pointee.data.1!, 128, Int(frame.pointee.linesize.1) * 90)
        memset(frame.pointee.data.2!, 128, Int(frame.pointee.linesize.2) * 90)
        let stride = Int(frame.pointee.linesize.0)
        for cell in 0..<16 {
            let brightness: UInt8 = number >> (15 - cell) & 1 == 1 ? 235 : 16
            for y in 180 * 43 / 45..<180 {
                for x in cell * 8..<(cell + 1) * 8 { frame.pointee.data.0![y * stride + x] = brightness }
            }
        }
        return VideoFrame(adopting: frame)
    }
}

private struct MadeMicrophone: ~Copyable, SoundSource {
    let layout = CapturePCM.Layout(sample: .s16, sampleRate: 48000, channelCount: 2)
    private let devices: MadeDevices
    private let ticks = Ticks()
    private let begin = HostTime.now
    private var position: Int64 = 0

    init(_ devices: MadeDevices) { self.devices = devices }

    func pollDescriptors() -> [pollfd] { [pollfd(fd: ticks.descriptor, events: Int16(POLLIN), revents: 0)] }

    mutating func next() throws(KioskCaptureCore.CaptureError) -> RecordedSound? {
        if !devices.isMicrophoneConnected { throw .cannotOpenMicrophone("hw:CARD=Made,DEV=0", errno: ENODEV, holder: nil) }
        ticks.take()
        let now = HostTime.now
        let heard = Int64((now - begin).seconds * 48000)
        let frames = heard - position
        guard frames >= 480 else { return nil }
        var bytes: [UInt8] = []
        for frame in position..<heard {
            // Half of full scale, 500 Hz.
            let sample = Int16(16384 * sin(2 * Double.pi * 500 * Double(frame) / 48000))
            for _ in 0..<2 { bytes += [UInt8(truncatingIfNeeded: sample), UInt8(truncatingIfNeeded: sample >> 8)] }
        }
        defer { position = heard }
        return RecordedSound(
            bytes: bytes, frameCount: Int(frames), position: position, heard: heard, time: now, isInterrupted: position == 0)
    }
}

/// Returns the share of the pixels of a PNG file that have the gray of these pictures.
func grayShare(ofPNG bytes: [UInt8]) throws -> Double {
    let path = NSTemporaryDirectory() + "kiosk-gray-\(UUID().uuidString).png"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    var reader = try MediaReader.open(path, samples: nil)
    guard let picture = reader.nextFrame() else { return 0 }
    let frame = picture.frame.av.pointee
    let description = av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.format)).pointee
    let components = [description.comp.0, description.comp.1, description.comp.2]
    var count = 0
    for y in 0..<Int(frame.height) {
        for x in 0..<Int(frame.width) {
            let isGray = components.allSatisfy { component in
                let value = frame.data.0![y * Int(frame.linesize.0) + x * Int(component.step) + Int(component.offset)]
                return 120...140 ~= value
            }
            if isGray { count += 1 }
        }
    }
    return Double(count) / Double(frame.width * frame.height)
}
