import CKioskALSA
import Glibc
import KioskMedia
import KioskPlatform

/// An open playback PCM, configured once: non-blocking, interleaved, started explicitly, with timestamps on CLOCK_MONOTONIC. Belongs to one
/// thread at a time. The corresponding C functions are those of `snd_pcm_t`.
struct PCM: ~Copyable {
    /// The required rate. ALSA resamples only as the last resort (``PCM/resampling``).
    enum Rate {
        /// The card's rate nearest to this one.
        case near(Int)
        /// This rate. If the card does not offer it, ALSA's `plug` layer resamples.
        case exactly(Int)
    }

    /// The requested period; a card may choose another. It is a whole number of frames at every usual rate. ALSA's resampler converts
    /// period by period, and would otherwise change the pitch by the rounding.
    static let period = MediaTime.milliseconds(20)
    /// The requested buffer at first. Its length adds no latency, since a pause drops its content. It is the sound lost when a card is
    /// unplugged.
    static let shortBuffer = MediaTime.milliseconds(120)
    /// The longest buffer requested after underruns: the emulated cards of virtual machines need this much.
    static let longBuffer = MediaTime.milliseconds(500)

    let device: String
    let layout: FrameLayout
    let sampleRate: Int
    /// In frames.
    let periodSize: Int
    /// In frames.
    let bufferSize: Int
    /// The kernel's PCM behind it; nil if there is none (a sound server, ALSA's null).
    let hardware: Hardware?
    /// Whether ALSA resamples from ``sampleRate`` to the card's own.
    let resampling: Bool
    /// How much later its sound is heard than on the card that needs the least delay (``DelayLine``).
    var delay = MediaTime.zero
    private let handle: OpaquePointer
    private let status: OpaquePointer

    /// Opens and configures `device`, an ALSA name such as `default` or `hw:CARD=PCH,DEV=0`, with the number of channels nearest to `wish`.
    /// Does not wait for a card in use. The corresponding C function is `snd_pcm_open`.
    static func open(
        _ device: String, rate: Rate, buffer: MediaTime, wish: ChannelWish = .stereo
    ) throws(AudioError) -> PCM {
        do throws(AudioError) {
            return try open(device, rate: rate, buffer: buffer, wish: wish, resampling: false)
        } catch {
            guard case .exactly = rate, case .cannotConfigure = error else { throw error }
            let plug = device.hasPrefix("hw:") ? "plug" + device : "plug:'\(device)'"
            return try open(plug, rate: rate, buffer: buffer, wish: wish, resampling: true)
        }
    }

    private static func open(
        _ device: String, rate: Rate, buffer: MediaTime, wish: ChannelWish, resampling: Bool
    ) throws(AudioError) -> PCM {
        var handle: OpaquePointer?
        // ALSA's plug would accept any number of channels, and mix them in its own way.
        let mode = wish.renderedCount > 2 ? SND_PCM_NONBLOCK | SND_PCM_NO_AUTO_CHANNELS : SND_PCM_NONBLOCK
        let result = quietly { snd_pcm_open(&handle, device, SND_PCM_STREAM_PLAYBACK, mode) }
        guard result >= 0, let handle else {
            throw .cannotOpen(device: device, errno: -result, holder: result == -EBUSY ? CardHolder.find(device) : nil)
        }
        // A null PCM accepts all frames at once. To find that out during playback would cost a second of pictures.
        if snd_pcm_type(handle) == SND_PCM_TYPE_NULL {
            snd_pcm_close(handle)
            throw .keepsNoTime(device: device)
        }
        let count = wish.count(of: Hardware(handle))
        return try configure(handle, device, rate: rate, buffer: buffer, channelCount: count, resampling: resampling)
    }

    /// Configures an open `snd_pcm_t`, and closes it if that fails.
    static func configure(
        _ handle: OpaquePointer, _ device: String, rate: Rate, buffer: MediaTime, channelCount: Int = 2, resampling: Bool
    ) throws(AudioError) -> PCM {
        do throws(AudioError) {
            var setup = Setup(handle: handle, device: device, channelCount: channelCount)
            try setup.negotiate(rate: rate, buffer: buffer, resampling: resampling)
            return PCM(handle: handle, setup: setup, resampling: resampling)
        } catch {
            snd_pcm_close(handle)
            throw error
        }
    }

    private init(handle: OpaquePointer, setup: Setup, resampling: Bool) {
        device = setup.device
        layout = FrameLayout(sample: setup.sample, speakers: Speaker.ofCard(handle, channelCount: setup.channelCount))
        sampleRate = setup.sampleRate
        periodSize = setup.periodSize
        bufferSize = setup.bufferSize
        self.resampling = resampling
        self.handle = handle
        hardware = Hardware(handle)
        var status: OpaquePointer?
        snd_pcm_status_malloc(&status)
        self.status = status!
    }

    deinit {
        snd_pcm_status_free(status)
        snd_pcm_close(handle)
    }

    /// `hw:1,0 S16_LE 48000 Hz stereo, buffer 85 ms`.
    var summary: String {
        let milliseconds = (bufferSize * 1000 + sampleRate / 2) / sampleRate
        return "\(device) \(layout.sample.name) \(sampleRate) Hz \(layout.channelName), buffer \(milliseconds) ms"
            + (resampling ? ", resampled by ALSA" : "")
    }

    /// A reading of the card's position.
    struct Position {
        var state: snd_pcm_state_t
        /// The frames that can be written.
        var space: Int
        /// The frames written and not yet at the speaker at `time`.
        var delay: Int
        var time: HostTime
    }

    /// Reads the position. The corresponding C function is `snd_pcm_status`.
    func position() throws(AudioError) -> Position {
        let result = snd_pcm_status(handle, status)
        guard result >= 0 else { throw .lost(device: device, operation: "snd_pcm_status", errno: -result) }
        let state = snd_pcm_status_get_state(status)
        var delay = Int(snd_pcm_status_get_delay(status))
        var stamp = timespec()
        snd_pcm_status_get_htstamp(status, &stamp)
        var time = HostTime(stamp)
        let now = HostTime.now
        // Plugins that keep no timestamp leave 0; some use CLOCK_REALTIME regardless of the requested type.
        let longestAge = MediaTime(nanoseconds: 2 * Int64(periodSize) * 1_000_000_000 / Int64(sampleRate))
        if state == SND_PCM_STATE_RUNNING, time > now || now - time > longestAge {
            var fresh = snd_pcm_sframes_t()
            if snd_pcm_delay(handle, &fresh) >= 0 { delay = Int(fresh) }
            time = .now
        }
        return Position(state: state, space: Int(snd_pcm_status_get_avail(status)), delay: delay, time: time)
    }

    /// Writes up to `frames` frames. Returns the number taken, or a negative errno. The corresponding C function is `snd_pcm_writei`.
    func write(_ bytes: UnsafeRawPointer, frames: Int) -> Int { Int(snd_pcm_writei(handle, bytes, snd_pcm_uframes_t(frames))) }

    /// Makes ``pollDescriptors()`` ready once this number of frames can be written; no effect if ALSA refuses. The corresponding C function
    /// is `snd_pcm_sw_params_set_avail_min`.
    func wake(atSpace frames: Int) {
        var parameters: OpaquePointer?
        snd_pcm_sw_params_malloc(&parameters)
        defer { snd_pcm_sw_params_free(parameters) }
        guard snd_pcm_sw_params_current(handle, parameters) >= 0,
            snd_pcm_sw_params_set_avail_min(handle, parameters, snd_pcm_uframes_t(frames)) >= 0
        else { return }
        snd_pcm_sw_params(handle, parameters)
    }

    /// Starts to play the frames written. Returns 0 or a negative errno, like all below.
    func start() -> Int32 { snd_pcm_start(handle) }
    /// Stops at once and drops the frames written.
    func drop() -> Int32 { snd_pcm_drop(handle) }
    /// Makes the PCM writable again, after a drop, an underrun or a suspension.
    func prepare() -> Int32 { snd_pcm_prepare(handle) }
    /// Resumes after a suspension; -EAGAIN while the card is not back yet, -ENOSYS if it has to be prepared instead.
    func resume() -> Int32 { snd_pcm_resume(handle) }

    /// Returns the descriptors that become ready when a period can be written.
    func pollDescriptors() -> [pollfd] {
        var descriptors = [pollfd](repeating: pollfd(), count: Int(max(0, snd_pcm_poll_descriptors_count(handle))))
        let count = snd_pcm_poll_descriptors(handle, &descriptors, UInt32(descriptors.count))
        return Array(descriptors.prefix(Int(max(0, count))))
    }

    /// Passes the result of poll(2) to ALSA: plugins clear their timers here. The corresponding C function is
    /// `snd_pcm_poll_descriptors_revents`.
    func acknowledge(_ descriptors: inout ArraySlice<pollfd>) {
        var events: UInt16 = 0
        descriptors.withUnsafeMutableBufferPointer {
            _ = snd_pcm_poll_descriptors_revents(handle, $0.baseAddress, UInt32($0.count), &events)
        }
    }
}

/// The steps from an open PCM to a configured one.
private struct Setup {
    let handle: OpaquePointer
    let device: String
    /// The requested number, then the number in use.
    var channelCount: Int
    var sample = SampleFormat.s16
    var sampleRate = 0
    var periodSize = 0
    var bufferSize = 0

    mutating func negotiate(rate: PCM.Rate, buffer: MediaTime, resampling: Bool) throws(AudioError) {
        var parameters: OpaquePointer?
        snd_pcm_hw_params_malloc(&parameters)
        defer { snd_pcm_hw_params_free(parameters) }
        try check("any configuration", snd_pcm_hw_params_any(handle, parameters))
        try check("\(resampling ? "" : "no ")resampling", snd_pcm_hw_params_set_rate_resample(handle, parameters, resampling ? 1 : 0))
        try check("interleaved access", snd_pcm_hw_params_set_access(handle, parameters, SND_PCM_ACCESS_RW_INTERLEAVED))

        let formats = SampleFormat.allCases
        guard let format = formats.first(where: { snd_pcm_hw_params_test_format(handle, parameters, $0.alsa) == 0 }) else {
            throw .noUsableFormat(device: device)
        }
        sample = format
        try check(format.name, snd_pcm_hw_params_set_format(handle, parameters, format.alsa))

        var channels = UInt32(channelCount)
        try check("\(channelCount) channels", snd_pcm_hw_params_set_channels_near(handle, parameters, &channels))
        channelCount = Int(channels)

        switch rate {
        case .near(let wanted):
            var hertz = UInt32(wanted)
            try check("\(wanted) Hz", snd_pcm_hw_params_set_rate_near(handle, parameters, &hertz, nil))
            sampleRate = Int(hertz)
        case .exactly(let wanted):
            try check("\(wanted) Hz", snd_pcm_hw_params_set_rate(handle, parameters, UInt32(wanted), 0))
            sampleRate = wanted
        }

        // With a single period there would be no time to write the next one. A card that offers nothing else fails below.
        var fewestPeriods: UInt32 = 2
        snd_pcm_hw_params_set_periods_min(handle, parameters, &fewestPeriods, nil)
        let step = "\(format.name) \(sampleRate) Hz \(channels) channels"
        try check(step, commit(parameters, period: frames(PCM.period), buffer: frames(buffer)))
        var (bufferFrames, periodFrames) = (snd_pcm_uframes_t(), snd_pcm_uframes_t())
        snd_pcm_hw_params_get_buffer_size(parameters, &bufferFrames)
        snd_pcm_hw_params_get_period_size(parameters, &periodFrames, nil)
        bufferSize = Int(bufferFrames)
        periodSize = Int(min(periodFrames, bufferFrames / 2))
        try configureSoftware()
    }

    /// Sets the sizes and applies the configuration. `set_…_near` chooses one parameter at a time, so the first choice may leave none for
    /// the second. Most cards need a whole number of periods, some have a fixed buffer. The function then tries the other order, and at
    /// last the card's own choice.
    private func commit(_ parameters: OpaquePointer?, period: snd_pcm_uframes_t, buffer: snd_pcm_uframes_t) -> Int32 {
        var saved: OpaquePointer?
        snd_pcm_hw_params_malloc(&saved)
        defer { snd_pcm_hw_params_free(saved) }
        snd_pcm_hw_params_copy(saved, parameters)

        var result: Int32 = 0
        func setPeriod() {
            var frames = period
            snd_pcm_hw_params_set_period_size_near(handle, parameters, &frames, nil)
        }
        func setBuffer() {
            var frames = buffer
            snd_pcm_hw_params_set_buffer_size_near(handle, parameters, &frames)
        }
        for order in [[setPeriod, setBuffer], [setBuffer, setPeriod], [setBuffer], []] {
            snd_pcm_hw_params_copy(parameters, saved)
            for set in order { set() }
            result = quietly { snd_pcm_hw_params(handle, parameters) }
            if result != -EINVAL { break }
        }
        return result
    }

    private func configureSoftware() throws(AudioError) {
        var parameters: OpaquePointer?
        snd_pcm_sw_params_malloc(&parameters)
        defer { snd_pcm_sw_params_free(parameters) }
        try check("software parameters", snd_pcm_sw_params_current(handle, parameters))
        var boundary: snd_pcm_uframes_t = 0
        snd_pcm_sw_params_get_boundary(parameters, &boundary)
        try check("an explicit start", snd_pcm_sw_params_set_start_threshold(handle, parameters, boundary))
        try check("a wake-up at each period", snd_pcm_sw_params_set_avail_min(handle, parameters, snd_pcm_uframes_t(periodSize)))
        try check("timestamps", snd_pcm_sw_params_set_tstamp_mode(handle, parameters, SND_PCM_TSTAMP_ENABLE))
        // Not every plugin knows about clocks; position() notices a clock that is not monotonic.
        snd_pcm_sw_params_set_tstamp_type(handle, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        try check("its software parameters", snd_pcm_sw_params(handle, parameters))
    }

    private func frames(_ span: MediaTime) -> snd_pcm_uframes_t {
        snd_pcm_uframes_t(span.nanoseconds * Int64(sampleRate) / 1_000_000_000)
    }

    private func check(_ step: String, _ result: Int32) throws(AudioError) {
        if result < 0 { throw .cannotConfigure(device: device, step: step, errno: -result) }
    }
}
