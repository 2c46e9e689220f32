import CKioskALSA
import Glibc
import KioskMedia
import KioskPlatform
import Synchronization

@testable import KioskAudioCore

/// A simulated sound card, made with ALSA's plugin interface. It plays to nobody at the pace of the clock, at 48 kHz in periods of 20 ms.
///
/// It has two channels by default, and fails as ``State`` says.
final class MadeUpCard: Sendable {
    struct State {
        /// The result of a start: 0 or a negative errno.
        var startResult: Int32 = 0
        /// Whether it has an underrun right after the start.
        var stopsAtOnce = false
        /// The time for which the process stops at the next look, like a suspended machine. The card is then suspended.
        var freeze: MediaTime?
        /// Whether the next start finds it suspended, once.
        var isSuspendedByStart = false
        /// The frames that it held when it was suspended.
        var frozenWith = 0
        /// Whether its calls hang; they return once this is false.
        var hangs = false
        /// The number of channels, and their map in ALSA's numbers; nil if it reports none.
        var channels: UInt32 = 2
        var map: [UInt32]?
        /// The first samples written to it, a tenth of a second in stereo.
        var heard: [Int16] = []
        /// The number of starts, and the position.
        var starts = 0
        var written = 0
        var played = 0
        var since: HostTime?
    }
    let state: Mutex<State>

    init(_ state: State = State()) { self.state = Mutex(state) }

    /// Opens the card as if by name.
    func open(rate: PCM.Rate, buffer: MediaTime, channelCount: Int = 2) throws(AudioError) -> OpenDevice {
        let plugin = Plugin(self)
        snd_pcm_ioplug_create(plugin.io, "made-up", SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
        func limit(_ type: Int, _ range: ClosedRange<UInt32>) {
            snd_pcm_ioplug_set_param_minmax(plugin.io, Int32(type), range.lowerBound, range.upperBound)
        }
        func choose(_ type: Int, _ value: UInt32) {
            withUnsafePointer(to: value) { _ = snd_pcm_ioplug_set_param_list(plugin.io, Int32(type), 1, $0) }
        }
        choose(SND_PCM_IOPLUG_HW_ACCESS, SND_PCM_ACCESS_RW_INTERLEAVED.rawValue)
        choose(SND_PCM_IOPLUG_HW_FORMAT, UInt32(SND_PCM_FORMAT_S16_LE.rawValue))
        let channels = state.withLock { $0.channels }
        limit(SND_PCM_IOPLUG_HW_CHANNELS, channels...channels)
        limit(SND_PCM_IOPLUG_HW_RATE, 48_000...48_000)
        limit(SND_PCM_IOPLUG_HW_PERIOD_BYTES, 1920 * channels...1920 * channels)
        limit(SND_PCM_IOPLUG_HW_BUFFER_BYTES, 3840 * channels...48_000 * channels)
        return OpenDevice(
            pcm: try PCM.configure(
                plugin.io.pointee.pcm, "made-up", rate: rate, buffer: buffer, channelCount: channelCount, resampling: false),
            reason: "a test")
    }

    fileprivate func prepare() {
        state.withLock { ($0.written, $0.played, $0.since) = (0, 0, nil) }
    }

    fileprivate func start() -> Int32 {
        state.withLock { state in
            state.starts += 1
            if state.isSuspendedByStart {
                defer { (state.startResult, state.isSuspendedByStart, state.freeze) = (0, false, .zero) }
                return state.startResult
            }
            if state.startResult == 0 { state.since = .now }
            return state.startResult
        }
    }

    fileprivate func stop() {
        _ = position()
        state.withLock { $0.since = nil }
    }

    /// Returns the frames played since it was prepared; nil after an underrun.
    fileprivate func position() -> Int? {
        state.withLock { state in
            guard let since = state.since else { return state.played }
            // It waits for a late writer, so that a busy machine makes no underruns. From look to look it advances by less than the
            // smallest buffer, as it reports a position in a ring to libasound.
            state.played = min(state.written, state.played + 1900, Int((HostTime.now - since).seconds * 48_000))
            return state.stopsAtOnce ? nil : state.played
        }
    }

    /// Stops as with a suspended machine, if that is due; returns whether it has.
    fileprivate func freeze() -> Bool {
        guard let time = state.withLock({ $0.freeze.take() }) else { return false }
        stop()
        state.withLock { $0.frozenWith = $0.written - $0.played }
        usleep(UInt32(time.nanoseconds / 1000))
        return true
    }
}

/// The callbacks for libasound.
private final class Plugin {
    let card: MadeUpCard
    let io = UnsafeMutablePointer<snd_pcm_ioplug_t>.allocate(capacity: 1)
    private let callbacks = UnsafeMutablePointer<snd_pcm_ioplug_callback_t>.allocate(capacity: 1)
    /// Always readable; `poll_revents` delays each poll a little.
    private let ready = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    private let name = strdup("made-up")!

    init(_ card: MadeUpCard) {
        self.card = card
        callbacks.initialize(to: snd_pcm_ioplug_callback_t())
        callbacks.pointee.start = { Plugin.of($0).card.start() }
        callbacks.pointee.stop = {
            Plugin.of($0).card.stop()
            return 0
        }
        callbacks.pointee.prepare = {
            Plugin.of($0).card.prepare()
            return 0
        }
        callbacks.pointee.resume = { snd_pcm_ioplug_set_state($0, SND_PCM_STATE_PREPARED) }
        callbacks.pointee.pointer = { io in
            let card = Plugin.of(io).card
            while card.state.withLock({ $0.hangs }) { usleep(1000) }
            if card.freeze() { snd_pcm_ioplug_set_state(io, SND_PCM_STATE_SUSPENDED) }
            return card.position().map { $0 % Int(io!.pointee.buffer_size) } ?? Int(-EPIPE)
        }
        callbacks.pointee.transfer = { io, areas, offset, size in
            Plugin.of(io).card.state.withLock { state in
                state.written += Int(size)
                let channels = Int(state.channels)
                // libasound passes the areas of the written frames: never nil.
                let frame = areas!.pointee.addr!.assumingMemoryBound(to: Int16.self) + Int(offset) * channels
                state.heard += UnsafeBufferPointer(start: frame, count: min(Int(size) * channels, max(0, 9600 - state.heard.count)))
            }
            return snd_pcm_sframes_t(size)
        }
        if card.state.withLock({ $0.map != nil }) {
            callbacks.pointee.get_chmap = { io in
                // The caller frees it.
                let positions = Plugin.of(io).card.state.withLock { $0.map! }
                let memory = malloc(4 + 4 * positions.count)!
                memory.storeBytes(of: UInt32(positions.count), as: UInt32.self)
                for (index, position) in positions.enumerated() {
                    memory.storeBytes(of: position, toByteOffset: 4 + 4 * index, as: UInt32.self)
                }
                return memory.assumingMemoryBound(to: snd_pcm_chmap_t.self)
            }
        }
        callbacks.pointee.poll_revents = { _, _, _, events in
            usleep(5000)
            events!.pointee = UInt16(POLLOUT)
            return 0
        }
        callbacks.pointee.close = {
            let plugin = Plugin.of($0)
            Unmanaged.passUnretained(plugin).release()
            return 0
        }
        io.initialize(to: snd_pcm_ioplug_t())
        io.pointee.version = 1 << 16 | 2
        io.pointee.name = UnsafePointer(name)
        io.pointee.flags = 1 << 1  // SND_PCM_IOPLUG_FLAG_MONOTONIC
        io.pointee.poll_fd = ready
        io.pointee.poll_events = UInt32(POLLIN)
        io.pointee.callback = UnsafePointer(callbacks)
        io.pointee.private_data = Unmanaged.passRetained(self).toOpaque()
    }

    deinit {
        close(ready)
        io.deallocate()
        callbacks.deallocate()
        free(name)
    }

    private static func of(_ io: UnsafeMutablePointer<snd_pcm_ioplug_t>?) -> Plugin {
        Unmanaged<Plugin>.fromOpaque(io!.pointee.private_data).takeUnretainedValue()
    }
}
