import CKioskFFmpeg
import Synchronization

/// The hardware decoders of the process: how many are in use, and one that waits for the next item.
///
/// A hardware decoder has a context of its driver and a pool of some 35 surfaces. A reader that has ended leaves its decoder here, flushed. The
/// item that is opened next takes it where the parameters of both streams agree. With HEVC it goes on with the same context and the same
/// surfaces. libavcodec's H.264 decoder makes both anew after each flush, also after a seek: there the decoder is kept, and its memory is not.
/// Where they do not agree it is freed before another one is opened: so there are never more decoders than items that are open, but for the
/// time from the end of one item to the opening of the next. Since an item is opened while the one before it plays, a loop has two decoders
/// of which each follows the other.
///
/// A device may have one decoder only. There the next item is refused while the one before it is decoded. It begins in software, and asks again
/// as soon as a decoder has come free (``VideoDecoder``). Who was refused stands in line: while anybody does, the items that are opened later
/// begin in software, too, and stand behind. Else the item that comes next would take the decoder away from the one that is shown.
///
/// Software decoders are not kept: opening one takes 0.03 ms, with four threads 0.2 ms.
enum DecoderShelf {
    /// What has to agree for a decoder to go on with another stream: whatever libavcodec was told when it was opened.
    struct Identity: Hashable, Sendable {
        let way: DecoderChoice.Way
        /// What the stream's parameters have in numbers, such as size and colours.
        private let numbers: [Int64]
        /// Parameter sets, in most containers.
        private let extradata: [UInt8]
        private let maxPixels: Int
        /// Whether pictures are made of the fields of interlaced frames.
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

        /// Whether its decoder can begin anew. FFmpeg's V4L2 decoders cannot, neither at the end of a stream nor at a seek.
        var isReusable: Bool { way.method != .v4l2 }
        /// Whether its device is in use as long as any of its pictures is: they are the decoder's own buffers.
        var lendsBuffers: Bool { way.method == .v4l2 }
    }

    /// A decoder that waits here. It belongs to the shelf alone.
    private struct Kept: @unchecked Sendable {
        // Sendable because the pointer is reached only by who has taken it out.
        var raw: UnsafeMutablePointer<AVCodecContext>
        var lease: Lease

        func free() { CodecContext.free(raw, of: lease.identity.way.driver) }
    }

    /// A decoder whose pictures are its own buffers; it is freed with the last reference. FFmpeg's V4L2 decoder writes into the log in its name when a
    /// picture is freed and the device is lost, also when the decoder has been freed before.
    final class Lender: @unchecked Sendable {
        // Sendable because it only frees it.
        private let raw: UnsafeMutablePointer<AVCodecContext>
        private let driver: String
        fileprivate init(_ raw: UnsafeMutablePointer<AVCodecContext>, _ driver: String) { (self.raw, self.driver) = (raw, driver) }
        deinit { CodecContext.free(raw, of: driver) }
    }

    /// Somebody uses a hardware decoder; whoever lets go of the last reference has given it free.
    final class Use: @unchecked Sendable {
        // Sendable because it does not change before it is freed.
        private(set) var lender: Lender?
        /// Gives its pictures back, where they are its own buffers.
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

    /// What a hardware decoder in use has from here; ``CodecContext`` gives it back.
    struct Lease: Sendable {
        var identity: Identity
        /// What to call the decoder.
        var name: String
        /// Whether nothing has failed.
        var isSound = true
        /// Whether a call has not come back. The decoder is that call's then.
        var isHung = false
        /// How long a call may take once a picture has come out.
        var limit = DriverCall.limit
        /// Whether a packet has gone in, and a picture has come out.
        var hasSent = false, hasDrawn = false
        /// Whether interlaced frames, and what comes after them, are given out as they are, for the device's filter; and whether one has come.
        var deinterlaces = false, hasFields = false
        /// Counts it as in use; nil on the shelf.
        var use: Use?
    }

    private struct State {
        var kept: Kept?
        var inUse = 0
        var releases: UInt64 = 0
        /// The numbers of those who stand in line, in order.
        var line: [UInt64] = []
        var lastNumber: UInt64 = 0
    }

    /// A place in the line of those who wait for a decoder; whoever lets go of it leaves the line.
    final class Place: Sendable {
        private let number: UInt64
        /// How often a decoder had come free when it was taken, here and in other processes.
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

        /// Whether it is the first, and a decoder has come free since.
        var isCalled: Bool {
            let isOtherFree = otherReleases != DeviceNeighbours.shared?.releaseCount()
            return DecoderShelf.state.withLock { $0.line.first == number && ($0.releases != releases || isOtherFree) }
        }
    }

    private static let state = Mutex(State())

    /// How many hardware decoders of this process are in use.
    static var inUse: Int { state.withLock { $0.inUse } }

    /// Whether any is in use, be it another process's.
    static var isAnyInUse: Bool { inUse > 0 || DeviceNeighbours.shared?.isAnyInUse() == true }

    /// Whether anybody stands in line for a decoder.
    static var isAwaited: Bool { state.withLock { !$0.line.isEmpty } }

    /// A decoder with this name has been opened, and is in use from now on.
    static func begin(_ identity: Identity, name: String, _ raw: UnsafeMutablePointer<AVCodecContext>) -> Lease {
        Lease(identity: identity, name: name, use: Use(identity.lendsBuffers ? Lender(raw, identity.way.driver) : nil))
    }

    /// The decoder that waits, where it is `identity`'s; else that is freed. Its time base is still the last stream's.
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

    /// A decoder is not used any more: it waits for the next item where it can begin anew, else it is freed. It has come free when `lease` is gone.
    static func end(_ raw: UnsafeMutablePointer<AVCodecContext>, _ lease: Lease) {
        // Its last picture frees it.
        if lease.identity.lendsBuffers { return }
        // Who shares the device with other processes keeps nothing from them.
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
