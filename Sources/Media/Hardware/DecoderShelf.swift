import CKioskFFmpeg
import Synchronization

/// The hardware decoders of the process: counts the ones in use and keeps one for the next item.
///
/// A hardware decoder has a driver context and a pool of some 35 surfaces. When a reader ends, it flushes its decoder and leaves it here.
/// The next item that opens takes the decoder if the parameters of both streams agree. HEVC continues with the same context and the same
/// surfaces. libavcodec's H.264 decoder recreates both after each flush, also after a seek. So the shelf keeps the decoder, but not its
/// memory. If the parameters differ, kiosk frees the decoder before it opens another. So there are never more decoders than open items. The
/// exception is the time from the end of one item to the opening of the next. kiosk opens an item while the one before it plays. So a loop
/// alternates between two decoders.
///
/// A device may have only one decoder. It then refuses the next item while the current one decodes. The item begins in software, and
/// retries as soon as a decoder is free (``VideoDecoder``). A refused item joins a queue. While the queue is not empty, later items also
/// begin in software and join its end. Otherwise the next item would take the decoder away from the item on the screen.
///
/// The shelf does not keep software decoders: opening one takes 0.03 ms, with four threads 0.2 ms.
enum DecoderShelf {
    /// The values that must agree before a decoder continues with another stream: all that libavcodec got when it opened the decoder.
    struct Identity: Hashable, Sendable {
        let way: DecoderChoice.Way
        /// The numbers in the stream's parameters, such as size and colours.
        private let numbers: [Int64]
        /// The parameter sets, in most containers.
        private let extradata: [UInt8]
        private let maxPixels: Int
        /// Whether the decoder makes pictures from the fields of interlaced frames.
        private let makesPictures: Bool

        init(_ parameters: AVCodecParameters, way: DecoderChoice.Way, maxPixels: Int, makesPictures: Bool) {
            (self.way, self.maxPixels, self.makesPictures) = (way, maxPixels, makesPictures)
            let signed = [
                parameters.profile, parameters.level, parameters.width, parameters.height, parameters.format,
                parameters.sample_aspect_ratio.num, parameters.sample_aspect_ratio.den, parameters.video_delay,
            ]
            let unsigned = [
                parameters.codec_id.rawValue, parameters.codec_tag, parameters.color_range.rawValue, parameters.color_primaries.rawValue,
                parameters.color_trc.rawValue, parameters.color_space.rawValue, parameters.chroma_location.rawValue,
                parameters.field_order.rawValue,
            ]
            numbers = signed.map { Int64($0) } + unsigned.map { Int64($0) }
            extradata = Array(UnsafeBufferPointer(start: parameters.extradata, count: Int(max(0, parameters.extradata_size))))
        }

        /// Whether the decoder can start again. FFmpeg's V4L2 decoders cannot, neither at the end of a stream nor at a seek.
        var isReusable: Bool { way.method != .v4l2 }
        /// Whether the device stays in use as long as any of its pictures: they are the decoder's own buffers.
        var lendsBuffers: Bool { way.method == .v4l2 }
    }

    /// A decoder on the shelf. Only the shelf owns it.
    private struct Kept: @unchecked Sendable {
        // Sendable because only the code that takes it out uses the pointer.
        var raw: UnsafeMutablePointer<AVCodecContext>
        var lease: Lease

        func free() { CodecContext.free(raw, of: lease.identity.way.driver) }
    }

    /// A decoder whose pictures are its own buffers; the last reference frees it. If the device is lost, FFmpeg's V4L2 decoder logs when a
    /// picture is freed. It logs under the decoder's name even after the decoder has been freed.
    final class Lender: @unchecked Sendable {
        // Sendable because it only frees the pointer.
        private let raw: UnsafeMutablePointer<AVCodecContext>
        private let driver: String
        fileprivate init(_ raw: UnsafeMutablePointer<AVCodecContext>, _ driver: String) { (self.raw, self.driver) = (raw, driver) }
        deinit { CodecContext.free(raw, of: driver) }
    }

    /// A count of one hardware decoder in use; releasing the last reference ends the use.
    final class Use: @unchecked Sendable {
        // Sendable because it does not change until deinit.
        private(set) var lender: Lender?
        /// Returns pictures to the decoder if they are its own buffers; nil otherwise.
        let returns: PictureReturns?

        fileprivate init(_ lender: Lender?) {
            (self.lender, returns) = (lender, lender == nil ? nil : PictureReturns())
            DecoderShelf.state.withLock { $0.inUse += 1 }
            DeviceNeighbours.shared?.begin()
        }

        deinit {
            lender = nil
            DecoderShelf.state.withLock { state in
                state.inUse -= 1
                state.releases += 1
            }
            DeviceNeighbours.shared?.end()
        }
    }

    /// The state of a hardware decoder in use; ``CodecContext`` returns it to the shelf.
    struct Lease: Sendable {
        var identity: Identity
        /// The decoder's name for messages.
        var name: String
        /// Whether no call has failed.
        var isSound = true
        /// Whether a call has not returned. The decoder then belongs to that call.
        var isHung = false
        /// The time limit of a call after the first picture.
        var limit = DriverCall.limit
        /// Whether a packet has gone in, and whether a picture has come out.
        var hasSent = false, hasDrawn = false
        /// Whether the decoder passes interlaced frames, and all later ones, unchanged to the device's filter; and whether an interlaced
        /// frame has come.
        var deinterlaces = false, hasFields = false
        /// Counts the decoder as in use; nil on the shelf.
        var use: Use?
    }

    private struct State {
        var kept: Kept?
        var inUse = 0
        var releases: UInt64 = 0
        /// The numbers of the waiting places, in order.
        var line: [UInt64] = []
        var lastNumber: UInt64 = 0
    }

    /// A place in the queue for a decoder; releasing the last reference leaves the queue.
    final class Place: Sendable {
        private let number: UInt64
        /// The number of releases when the place was taken, here and in other processes.
        private let releases: UInt64
        private let otherReleases = DeviceNeighbours.shared?.releaseCount()

        init() {
            (number, releases) = DecoderShelf.state.withLock { state in
                state.lastNumber += 1
                state.line.append(state.lastNumber)
                return (state.lastNumber, state.releases)
            }
        }

        deinit {
            DecoderShelf.state.withLock { state in state.line.removeAll { $0 == number } }
        }

        /// Whether the place is first, and a decoder has become free since it was taken.
        var isCalled: Bool {
            let isOtherFree = otherReleases != DeviceNeighbours.shared?.releaseCount()
            return DecoderShelf.state.withLock { $0.line.first == number && ($0.releases != releases || isOtherFree) }
        }
    }

    private static let state = Mutex(State())

    /// The number of hardware decoders of this process in use.
    static var inUse: Int { state.withLock { $0.inUse } }

    /// Whether any process uses a hardware decoder.
    static var isAnyInUse: Bool { inUse > 0 || DeviceNeighbours.shared?.isAnyInUse() == true }

    /// Whether the queue for a decoder is not empty.
    static var isAwaited: Bool { state.withLock { !$0.line.isEmpty } }

    /// Counts a newly opened decoder as in use, under this name.
    static func begin(_ identity: Identity, name: String, _ raw: UnsafeMutablePointer<AVCodecContext>) -> Lease {
        Lease(identity: identity, name: name, use: Use(identity.lendsBuffers ? Lender(raw, identity.way.driver) : nil))
    }

    /// Takes the decoder from the shelf if it matches `identity`, and otherwise frees it. Its time base is still that of the last stream.
    static func take(_ identity: Identity) -> CodecContext? {
        guard let kept = state.withLock({ $0.kept.take() }) else { return nil }
        guard kept.lease.identity == identity else {
            kept.free()
            return nil
        }
        var lease = begin(identity, name: kept.lease.name, kept.raw)
        lease.deinterlaces = kept.lease.deinterlaces
        return CodecContext(raw: kept.raw, lease: lease)
    }

    static func clear() { state.withLock { $0.kept.take() }?.free() }

    /// Ends the use of a decoder: keeps it for the next item if it can start again, and otherwise frees it. It counts as free when `lease`
    /// is gone.
    static func end(_ raw: UnsafeMutablePointer<AVCodecContext>, _ lease: Lease) {
        // Its last picture frees the decoder.
        if lease.identity.lendsBuffers { return }
        // A process that shares the device keeps no decoder from the others.
        let isReusable = lease.isSound && lease.identity.isReusable && DeviceNeighbours.shared == nil
        var former: Kept? = Kept(raw: raw, lease: lease)
        former?.lease.use = nil
        if isReusable {
            guard CodecContext.flush(raw, of: lease.identity.way.driver) else { return }
            shim_codec_forget_timestamps(raw)
            raw.pointee.skip_frame = AVDISCARD_DEFAULT
            former = state.withLock { [former] state in
                let other = state.kept
                state.kept = former
                return other
            }
        }
        former?.free()
    }
}
