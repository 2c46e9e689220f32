import CKioskALSA
import Glibc
import KioskAudioCore
import KioskPlatform
import KioskVocabulary

/// A capture device of a sound card.
package struct Microphone: Hashable, Sendable {
    /// The ALSA name for kiosk.conf: `hw:CARD=C525,DEV=0`.
    package var pcm: String
    /// The card's long name, and the driver's name of the device.
    package var name: String
    /// The kernel's number of the card.
    package var card: Int
    /// Whether it is a driver without hardware.
    package var isVirtual: Bool

    /// Returns this machine's microphones, in the kernel's order. The corresponding C function is `snd_card_next`.
    package static func all() -> [Microphone] {
        quietly {
            var found: [Microphone] = []
            var card: Int32 = -1
            while snd_card_next(&card) == 0, card >= 0 { found += devices(of: card) }
            return found
        }
    }

    /// Returns the capture devices of this machine that the process may not open. A card without permission is not among ``all()``.
    package static func refused() -> [String] {
        Folder.names(in: "/dev/snd").filter { $0.hasPrefix("pcmC") && $0.hasSuffix("c") }.map { "/dev/snd/\($0)" }
            .filter { access($0, R_OK | W_OK) != 0 && (errno == EACCES || errno == EPERM) }
    }

    /// Returns the real path of a device in /sys, for ``choose(_:beside:device:)``.
    package static func resolve(_ path: String) -> String? {
        realpath(path, nil).map { resolved in
            defer { free(resolved) }
            return String(cString: resolved)
        }
    }

    private static func devices(of card: Int32) -> [Microphone] {
        var control: OpaquePointer?
        guard snd_ctl_open(&control, "hw:\(card)", SND_CTL_READONLY) == 0, let control else { return [] }
        defer { snd_ctl_close(control) }
        var (info, pcm): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        snd_ctl_card_info_malloc(&info)
        snd_pcm_info_malloc(&pcm)
        defer {
            snd_ctl_card_info_free(info)
            snd_pcm_info_free(pcm)
        }
        guard snd_ctl_card_info(control, info) == 0 else { return [] }
        let (id, name) = (String(cString: snd_ctl_card_info_get_id(info)), String(cString: snd_ctl_card_info_get_name(info)))
        let driver = String(cString: snd_ctl_card_info_get_driver(info))
        var found: [Microphone] = []
        var number: Int32 = -1
        while snd_ctl_pcm_next_device(control, &number) == 0, number >= 0 {
            snd_pcm_info_set_device(pcm, UInt32(number))
            snd_pcm_info_set_subdevice(pcm, 0)
            snd_pcm_info_set_stream(pcm, SND_PCM_STREAM_CAPTURE)
            guard snd_ctl_pcm_info(control, pcm) == 0 else { continue }
            found.append(
                Microphone(
                    pcm: "hw:CARD=\(id),DEV=\(number)", name: "\(name), \(String(cString: snd_pcm_info_get_name(pcm)))", card: Int(card),
                    isVirtual: ["Dummy", "Loopback", "vivid"].contains(driver)))
        }
        return found
    }

    /// Returns the microphone of `camera`, else the first real one; nil if there is none.
    package static func choose(_ microphones: [Microphone], beside camera: Camera, device: (String) -> String?) -> Microphone? {
        let real = microphones.filter { !$0.isVirtual }
        // The camera and the card are interfaces of one USB device.
        func parent(_ path: String) -> String? { device(path).map { String($0[..<($0.lastIndex(of: "/") ?? $0.endIndex)]) } }
        let home = parent("/sys/class/video4linux/\(camera.path.dropFirst("/dev/".count))/device")
        return real.first { home != nil && parent("/sys/class/sound/card\($0.card)/device") == home } ?? real.first
    }
}

/// A piece of recorded sound.
struct RecordedSound: Sendable {
    /// Frames in the card's format.
    var bytes: [UInt8]
    var frameCount: Int
    /// The number of its first frame since the card was opened.
    var position: Int64
    /// The number of frames that had reached the microphone by `time`, as the card reports.
    var heard: Int64
    var time: HostTime
    /// Whether frames before it have been lost.
    var isInterrupted: Bool
}

/// An open capture device, configured once: non-blocking, interleaved, with timestamps on CLOCK_MONOTONIC. Belongs to one thread. The
/// corresponding C functions are those of `snd_pcm_t`.
struct CapturePCM: ~Copyable {
    /// Sample formats of a card, little-endian.
    enum Sample: CaseIterable, Hashable, Sendable {
        case s16, s32, float

        var alsa: snd_pcm_format_t {
            switch self {
            case .s16: SND_PCM_FORMAT_S16_LE
            case .s32: SND_PCM_FORMAT_S32_LE
            case .float: SND_PCM_FORMAT_FLOAT_LE
            }
        }
        var byteCount: Int { self == .s16 ? 2 : 4 }
    }

    /// The format of the card's frames.
    struct Layout: Hashable, Sendable {
        var sample: Sample
        var sampleRate: Int
        var channelCount: Int
        var bytesPerFrame: Int { sample.byteCount * channelCount }
    }

    let device: String
    let layout: Layout
    private let handle: OpaquePointer
    private let status: OpaquePointer
    private let bufferSize: Int
    private var position: Int64 = 0
    private var isInterrupted = true

    private static let period = 0.02, buffer = 1.0

    /// Opens and starts `device`, an ALSA name; through ALSA's `plug` layer if it has another sample format. Does not wait for a busy card.
    static func open(_ device: String) throws(CaptureError) -> CapturePCM {
        do throws(CaptureError) { return try attempt(device) } catch {
            guard case .cannotConfigureMicrophone = error, device.hasPrefix("hw:") else { throw error }
            return try attempt("plug" + device)
        }
    }

    private static func attempt(_ device: String) throws(CaptureError) -> CapturePCM {
        var handle: OpaquePointer?
        let result = quietly { snd_pcm_open(&handle, device, SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK) }
        guard result >= 0, let handle else {
            throw .cannotOpenMicrophone(
                device, errno: -result, holder: result == -EBUSY ? CardHolder.find(device, records: true) : nil)
        }
        let (layout, bufferSize) = try configure(handle, device)
        let pcm = CapturePCM(device, layout, handle, bufferSize)
        let started = snd_pcm_start(handle)
        if started < 0 { throw .cannotConfigureMicrophone(device, step: "a start", errno: -started) }
        return pcm
    }

    private init(_ device: String, _ layout: Layout, _ handle: OpaquePointer, _ bufferSize: Int) {
        (self.device, self.layout, self.handle, self.bufferSize) = (device, layout, handle, bufferSize)
        var status: OpaquePointer?
        snd_pcm_status_malloc(&status)
        self.status = status!
    }

    deinit {
        snd_pcm_status_free(status)
        snd_pcm_close(handle)
    }

    private static func configure(_ handle: OpaquePointer, _ device: String) throws(CaptureError) -> (Layout, Int) {
        func check(_ step: String, _ result: Int32) throws(CaptureError) {
            if result < 0 { throw .cannotConfigureMicrophone(device, step: step, errno: -result) }
        }
        do throws(CaptureError) {
            var (hardware, software): (OpaquePointer?, OpaquePointer?) = (nil, nil)
            snd_pcm_hw_params_malloc(&hardware)
            snd_pcm_sw_params_malloc(&software)
            defer {
                snd_pcm_hw_params_free(hardware)
                snd_pcm_sw_params_free(software)
            }
            try check("any configuration", snd_pcm_hw_params_any(handle, hardware))
            try check("interleaved access", snd_pcm_hw_params_set_access(handle, hardware, SND_PCM_ACCESS_RW_INTERLEAVED))
            guard let sample = Sample.allCases.first(where: { snd_pcm_hw_params_test_format(handle, hardware, $0.alsa) == 0 }) else {
                throw CaptureError.cannotConfigureMicrophone(device, step: "16 bits, 32 bits and floats", errno: EINVAL)
            }
            try check("its sample format", snd_pcm_hw_params_set_format(handle, hardware, sample.alsa))
            var channels: UInt32 = 2
            try check("one or two channels", snd_pcm_hw_params_set_channels_near(handle, hardware, &channels))
            var rate: UInt32 = 48000
            try check("a rate near 48000 Hz", snd_pcm_hw_params_set_rate_near(handle, hardware, &rate, nil))
            var period = snd_pcm_uframes_t(Double(rate) * period), buffer = snd_pcm_uframes_t(Double(rate) * buffer)
            snd_pcm_hw_params_set_period_size_near(handle, hardware, &period, nil)
            snd_pcm_hw_params_set_buffer_size_near(handle, hardware, &buffer)
            try check("\(rate) Hz, \(channels) channels", quietly { snd_pcm_hw_params(handle, hardware) })
            snd_pcm_hw_params_get_period_size(hardware, &period, nil)
            snd_pcm_hw_params_get_buffer_size(hardware, &buffer)

            try check("software parameters", snd_pcm_sw_params_current(handle, software))
            try check("a wake-up at each period", snd_pcm_sw_params_set_avail_min(handle, software, max(period, 1)))
            try check("timestamps", snd_pcm_sw_params_set_tstamp_mode(handle, software, SND_PCM_TSTAMP_ENABLE))
            // Some plugins cannot set the clock; next() detects timestamps of another clock.
            snd_pcm_sw_params_set_tstamp_type(handle, software, SND_PCM_TSTAMP_TYPE_MONOTONIC)
            try check("its software parameters", snd_pcm_sw_params(handle, software))
            let layout = Layout(sample: sample, sampleRate: max(1, Int(rate)), channelCount: max(1, Int(channels)))
            return (layout, Int(buffer))
        } catch {
            snd_pcm_close(handle)
            throw error
        }
    }

    /// Returns the descriptors to poll for the next frames.
    func pollDescriptors() -> [pollfd] {
        var descriptors = [pollfd](repeating: pollfd(), count: Int(max(0, snd_pcm_poll_descriptors_count(handle))))
        let count = snd_pcm_poll_descriptors(handle, &descriptors, UInt32(descriptors.count))
        return Array(descriptors.prefix(Int(max(0, count))))
    }

    /// Returns all available frames; nil if there are none. Recovers from overruns.
    mutating func next() throws(CaptureError) -> RecordedSound? {
        // Plugins clear their timers here.
        var descriptors = pollDescriptors()
        var events: UInt16 = 0
        snd_pcm_poll_descriptors_revents(handle, &descriptors, UInt32(descriptors.count), &events)
        let result = snd_pcm_status(handle, status)
        if result == -ENODEV { throw .cannotOpenMicrophone(device, errno: ENODEV, holder: nil) }
        if result < 0 { return try recover(result) }
        let state = snd_pcm_status_get_state(status)
        if state == SND_PCM_STATE_DISCONNECTED { throw .cannotOpenMicrophone(device, errno: ENODEV, holder: nil) }
        if state == SND_PCM_STATE_XRUN { return try recover(-EPIPE) }
        if state == SND_PCM_STATE_SUSPENDED { return try recover(-ESTRPIPE) }
        // A loopback card stops the recorder when the playback changes.
        if state != SND_PCM_STATE_RUNNING, state != SND_PCM_STATE_DRAINING { return try recover(-EPIPE) }
        let available = min(Int(snd_pcm_status_get_avail(status)), bufferSize)
        guard available > 0 else { return nil }
        let delay = max(Int(snd_pcm_status_get_delay(status)), available)
        var stamp = timespec()
        snd_pcm_status_get_htstamp(status, &stamp)
        var time = HostTime(stamp)
        let now = HostTime.now
        // Plugins without timestamps leave 0; some ignore the setting and use CLOCK_REALTIME.
        if time > now || now - time > .milliseconds(100) { time = now }

        var bytes = [UInt8](repeating: 0, count: available * layout.bytesPerFrame)
        let read = bytes.withUnsafeMutableBytes { snd_pcm_readi(handle, $0.baseAddress, snd_pcm_uframes_t(available)) }
        if read == -Int(EAGAIN) { return nil }
        if read < 0 { return try recover(Int32(read)) }
        let count = Int(read)
        if count < available { bytes.removeLast((available - count) * layout.bytesPerFrame) }
        defer {
            position += Int64(count)
            isInterrupted = false
        }
        return RecordedSound(
            bytes: bytes, frameCount: count, position: position, heard: position + Int64(delay), time: time, isInterrupted: isInterrupted)
    }

    private mutating func recover(_ code: Int32) throws(CaptureError) -> RecordedSound? {
        isInterrupted = true
        let recovered = quietly { snd_pcm_recover(handle, code, 1) }
        let started = recovered < 0 ? recovered : snd_pcm_start(handle)
        // snd_pcm_recover may have started it already.
        if recovered < 0 { throw .cannotOpenMicrophone(device, errno: -recovered, holder: nil) }
        if started < 0, started != -EBADFD { throw .cannotOpenMicrophone(device, errno: -started, holder: nil) }
        return nil
    }
}
