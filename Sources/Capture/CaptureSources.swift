import Glibc
import KioskPlatform

// The devices of a CaptureSession, as its threads see them. Each belongs to one thread.

/// Pictures of an open camera (``CameraStream``).
protocol PictureSource: ~Copyable, SendableMetatype {
    var camera: Camera { get }
    /// The format that the driver has accepted.
    var format: CameraFormat { get }
    /// The colour encoding of its pictures; nil for JPEG's.
    var colours: CameraColours? { get }
    /// The descriptor to poll for the next picture.
    var descriptor: Int32 { get }
    /// The number of missing pictures.
    var droppedCount: Int { get }
    /// Returns the next picture, if there is one.
    mutating func next() throws(CaptureError) -> CapturedPicture?
}

/// Sound of an open card (``CapturePCM``).
protocol SoundSource: ~Copyable, SendableMetatype {
    var layout: CapturePCM.Layout { get }
    /// Returns the descriptors to poll for the next frames.
    func pollDescriptors() -> [pollfd]
    /// Returns all available frames; nil if there are none.
    mutating func next() throws(CaptureError) -> RecordedSound?
}

extension CameraStream: PictureSource {}
extension CapturePCM: SoundSource {}

/// A device on the way to its thread.
final class Opened<Source: ~Copyable>: @unchecked Sendable {
    // Sendable because only one thread has it at a time.
    var source: Source?
    init(_ source: consuming Source) { self.source = consume source }
}
