import CKioskALSA
import CKioskAudio
import Glibc
import KioskPlatform
import KioskVocabulary
import Logging

/// A sound card as ALSA lists it, with its playback devices.
package struct AudioCard: Hashable, Sendable {
    /// The kernel's number; it may differ at the next boot.
    package var index: Int
    /// The short name that ALSA device names use: `PCH`.
    package var id: String
    /// The long name: `HDA Intel PCH`.
    package var name: String
    /// The kernel driver: `HDA-Intel`.
    package var driver: String
    /// Its playback devices; empty for a microphone.
    package var devices: [Device]

    /// A playback device of a card.
    package struct Device: Hashable, Sendable {
        /// Its number on the card.
        package var number: Int
        /// The ALSA name to put into kiosk.conf: `hw:CARD=PCH,DEV=0`.
        package var pcm: String
        /// The driver's name for it: `ALC269 Analog`.
        package var name: String
        /// The output to which it is connected.
        package var output: Output
        /// The most channels that its display takes; nil without a display.
        package var displayChannelCount: Int?
        /// Whether something is plugged into it, headphones or a line; nil if no jack reports it.
        package var isPlugged: Bool?

        /// Creates a device from its parts.
        package init(
            number: Int, pcm: String, name: String, output: Output = .other, displayChannelCount: Int? = nil, isPlugged: Bool? = nil
        ) {
            self.isPlugged = isPlugged
            self.displayChannelCount = displayChannelCount
            self.number = number
            self.pcm = pcm
            self.name = name
            self.output = output
        }
    }

    /// Creates a card from its parts.
    package init(index: Int, id: String, name: String, driver: String, devices: [Device]) {
        self.index = index
        self.id = id
        self.name = name
        self.driver = driver
        self.devices = devices
    }

    /// Whether the card has a driver without a loudspeaker.
    package var isVirtual: Bool { driver == "Dummy" || driver == "Loopback" || driver == "vivid" }

    /// The cards of this machine, in the kernel's order; empty if this process can open none. The corresponding C function is
    /// `snd_card_next`.
    package static func all() -> [AudioCard] {
        quietly {
            var cards: [AudioCard] = []
            var index: Int32 = -1
            while snd_card_next(&index) == 0, index >= 0 {
                if let card = AudioCard(index: index) { cards.append(card) }
            }
            return cards
        }
    }

    private init?(index: Int32) {
        var control: OpaquePointer?
        guard snd_ctl_open(&control, "hw:\(index)", SND_CTL_READONLY) == 0, let control else { return nil }
        defer { snd_ctl_close(control) }
        var info: OpaquePointer?
        snd_ctl_card_info_malloc(&info)
        defer { snd_ctl_card_info_free(info) }
        guard snd_ctl_card_info(control, info) == 0 else { return nil }
        let id = String(cString: snd_ctl_card_info_get_id(info))
        self.init(
            index: Int(index), id: id, name: String(cString: snd_ctl_card_info_get_name(info)),
            driver: String(cString: snd_ctl_card_info_get_driver(info)), devices: [])

        let controls = CardControl.all(of: control)
        let outputs = Self.outputs(of: control, among: controls)
        let jacks = Jack.all(of: control, among: controls)
        var pcm: OpaquePointer?
        snd_pcm_info_malloc(&pcm)
        defer { snd_pcm_info_free(pcm) }
        var number: Int32 = -1
        while snd_ctl_pcm_next_device(control, &number) == 0, number >= 0 {
            snd_pcm_info_set_device(pcm, UInt32(number))
            snd_pcm_info_set_subdevice(pcm, 0)
            snd_pcm_info_set_stream(pcm, SND_PCM_STREAM_PLAYBACK)
            guard snd_ctl_pcm_info(control, pcm) == 0 else { continue }
            let name = String(cString: snd_pcm_info_get_name(pcm))
            let device = Int(number)
            let (output, channelCount) = outputs[device] ?? (.other, nil)
            let isFirst = !devices.contains { $0.output == .other }
            devices.append(
                Device(
                    number: device, pcm: "hw:CARD=\(id),DEV=\(device)", name: name, output: output, displayChannelCount: channelCount,
                    isPlugged: output == .other ? Jack.isPlugged(jacks, device: device, isFirst: isFirst) : nil))
        }
    }

    /// Returns the index of a device among the card's HDMI and DisplayPort outputs; nil for other devices. This is the DEV of ALSA's
    /// `hdmi:` and the index of the device's IEC958 switch.
    func displayIndex(of device: Int) -> Int? {
        devices.filter { $0.output != .other }.firstIndex { $0.number == device }
    }

    /// Returns the PCM names to try for a device: the kernel's, then those of ALSA's configuration for the card. Some HDMI cards take only
    /// IEC 958 frames, which that configuration makes.
    func candidates(_ device: Device, _ reason: String) -> [AudioDevice.Candidate] {
        var names = [device.pcm]
        if let index = displayIndex(of: device.number) { names.append("hdmi:CARD=\(id),DEV=\(index)") }
        if device == devices.first { names.append("sysdefault:CARD=\(id)") }
        return names.map { AudioDevice.Candidate(name: $0, reason: reason) }
    }
}

extension AudioCard.Device {
    /// The abilities of a device without conversion.
    package struct Capabilities: Hashable, Sendable {
        /// The sample formats of the device that this module can convert to, by the kernel's names.
        package var formats: [String]
        /// Frames per second.
        package var sampleRates: ClosedRange<Int>
        /// Samples per frame.
        package var channelCounts: ClosedRange<Int>
    }

    /// Opens the device, reads its capabilities, and closes it.
    package func capabilities() -> Result<Capabilities, Refusal> {
        quietly {
            var handle: OpaquePointer?
            let result = snd_pcm_open(&handle, pcm, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
            guard result >= 0, let handle else {
                let holder = result == -EBUSY ? CardHolder.find(pcm) : nil
                return .failure(Refusal(AudioError.cannotOpen(device: pcm, errno: -result, holder: holder)))
            }
            defer { snd_pcm_close(handle) }
            var parameters: OpaquePointer?
            snd_pcm_hw_params_malloc(&parameters)
            defer { snd_pcm_hw_params_free(parameters) }
            let any = snd_pcm_hw_params_any(handle, parameters)
            guard any >= 0 else {
                return .failure(Refusal(.cannotConfigure(device: pcm, step: "any configuration", errno: -any)))
            }
            var (lowest, highest): (UInt32, UInt32) = (0, 0)
            snd_pcm_hw_params_get_rate_min(parameters, &lowest, nil)
            snd_pcm_hw_params_get_rate_max(parameters, &highest, nil)
            var (fewest, most): (UInt32, UInt32) = (0, 0)
            snd_pcm_hw_params_get_channels_min(parameters, &fewest)
            snd_pcm_hw_params_get_channels_max(parameters, &most)
            let formats = SampleFormat.allCases.filter { snd_pcm_hw_params_test_format(handle, parameters, $0.alsa) == 0 }
            return .success(
                Capabilities(
                    formats: formats.map(\.name), sampleRates: Int(lowest)...Int(max(lowest, highest)),
                    channelCounts: Int(fewest)...Int(max(fewest, most))))
        }
    }

    /// Why a device could not be opened.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// The failure and its remedy.
        package let description: String

        init(_ error: AudioError) { description = error.description }
    }
}

extension AudioDevice {
    /// Returns the result of opening this device now, for listings, or why it would be silent. An example is
    /// `hw:1,0 S16_LE 48000 Hz stereo, buffer 85 ms (the system's default)`. Closes the device again.
    ///
    /// `display` is the active connector: `HDMI-A-1`.
    package func trial(display: String?, session: AudioSession = AudioSession(), channels: AudioChannels = .stereo) -> String {
        if self == .off { return "silent: turned off" }
        do throws(AudioError) {
            let opened = try open(
                rate: .near(ALSAOutput.preferredRate), buffer: PCM.shortBuffer, channels: channels, renderedCount: renderedCount(channels),
                display: display, session: session)
            let silencers = opened.mixer?.silencers() ?? []
            return (["\(opened.pcm.summary) (\(opened.reason))"] + silencers.map(\.description)).joined(separator: "; ")
        } catch {
            return "silent: \(error)"
        }
    }
}

/// Runs `body` without libasound's own messages on standard error, as a probe expects errors. Applies to the calling thread. If the process
/// captures libasound's lines, they still go to its log. The corresponding C function is `snd_lib_error_set_local`.
package func quietly<Result>(_ body: () -> Result) -> Result {
    let previous = snd_lib_error_set_local { _, _, _, _, _, _ in }
    defer { snd_lib_error_set_local(previous) }
    return body()
}

/// The card and the device in the name of a PCM: `hw:CARD=PCH,DEV=3`, `hw:0,3`, `front:PCH`.
struct PCMName: Equatable {
    /// The card as in the name, an id or a number; nil for a name without a card.
    var card: String?
    /// The device; 0 if the name has none. With `hdmi:` and similar names it is the index among those outputs, not the kernel's number.
    var device: Int

    init(_ name: String) {
        device = 0
        // A slave in quotes has a name of its own.
        guard let colon = name.firstIndex(of: ":"), !name.contains(where: { "'\"{".contains($0) }) else { return }
        for (place, argument) in name[name.index(after: colon)...].split(separator: ",").enumerated() {
            let parts = argument.split(separator: "=", maxSplits: 1)
            let value = parts.last.map(String.init) ?? ""
            switch parts.count == 2 ? parts[0] : place == 0 ? "CARD" : place == 1 ? "DEV" : "" {
            case "CARD": card = value
            case "DEV": device = Int(value) ?? 0
            default: break
            }
        }
    }

    /// The kernel's number of the card, negative if no card has that name; nil for a name without a card.
    var cardIndex: Int? { card.map { Int(snd_card_get_index($0)) } }
}

/// Finds the process that has a hardware PCM open, in /proc.
package enum CardHolder {
    /// Returns the process that uses the device of this ALSA name for playback, or for recording: `arecord (pid 212)`. Returns nil if none
    /// is visible.
    package static func find(_ device: String, records: Bool = false) -> String? {
        let name = PCMName(device)
        guard let index = name.cardIndex else { return nil }
        let path = "/proc/asound/card\(index)/pcm\(name.device)\(records ? "c" : "p")/sub0/status"
        let owner = SmallFile.text(path)?.split(separator: "\n").first { $0.hasPrefix("owner_pid") }
        return owner?.split(separator: ":").last.flatMap { Int($0.drop { $0 == " " }) }.map { DeviceHolder.name(ofProcess: $0) }
    }
}

private let alsaLog = Logger(label: "alsa")

/// The log of libasound.
package enum ALSALog {
    /// Logs libasound's lines at `debug` with the label `alsa` for the rest of the process, instead of on standard error. Call after
    /// swift-log is bootstrapped. The corresponding C function is `snd_lib_error_set_handler`.
    package static func capture() { kiosk_capture_alsa_log { alsaLog.debug("\(String(cString: $0))") } }
}
