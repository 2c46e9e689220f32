import CKioskALSA
import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

let log = Logger(label: "audio")

extension AudioDevice {
    /// Creates the output to play to. Never fails: without a card, the output is silent, logs the reason, and takes the card once there is
    /// one.
    ///
    /// `display` names the active connector (`HDMI-A-1`; text after a space is ignored), whose sound an automatic choice prefers. It
    /// returns nil while there is none, and is called on any thread. `session` says how the sound gets along with other programs and with
    /// plugs.
    package func makeOutput(
        session: AudioSession = AudioSession(), channels: AudioChannels = .stereo, delays: AudioDelays = AudioDelays(),
        display: @escaping @Sendable () -> String?
    ) -> any PCMOutput {
        self == .off ? SilentOutput() : ALSAOutput(device: self, session: session, channels: channels, delays: delays, display: display)
    }

    /// Returns the number of channels to render for this device. If the display decides it, reads the displays of the cards present now:
    /// the number does not change later.
    func renderedCount(_ channels: AudioChannels) -> Int {
        if let count = channels.count { return count }
        let mostChannels: Int? =
            switch self {
            case .automatic: AudioCard.displayChannelCount()
            case .pcm(let name): PCMName(name).cardIndex.flatMap { AudioCard.displayChannelCount(card: $0) }
            case .off: nil
            }
        return ChannelWish.usual(mostChannels ?? 2)
    }
}

extension AudioDevice {
    /// A PCM to try, and why.
    struct Candidate: Equatable {
        var name: String
        var reason: String
    }

    /// Returns the PCMs to try, best first. `route` is the target of the system's default, nil if it does not open; `displays` are the
    /// active ones.
    ///
    /// A default set by an administrator comes first, then the outputs of active displays. ALSA's own default is next, unless it is an
    /// output for a display with nothing connected. All others follow: real cards first, outputs without a display last.
    ///
    /// If plugs are followed, outputs with something plugged in come before the displays.
    ///
    /// If the default is ALSA's own software mixer on a card, the card itself is opened. No other program makes sound on most kiosks, and
    /// the mixer does not give frames back at a pause. If the session mixes with other programs, the mixer of each card comes before the
    /// card itself.
    func candidates(
        route: DefaultRoute?, cards: [AudioCard], displays: [ConnectedDisplay] = [], session: AudioSession = AudioSession()
    ) -> [Candidate] {
        let plain: [Candidate]
        switch self {
        case .off: plain = []
        case .pcm(let name): plain = [Candidate(name: name, reason: "configured")]
        case .automatic: plain = automaticCandidates(route: route, cards: cards, displays: displays, session: session)
        }
        guard session.mixesWithOthers else { return plain }
        var seen: Set<String> = []
        return plain.flatMap { $0.mixed + [$0] }.filter { seen.insert($0.name).inserted }
    }

    private func automaticCandidates(
        route: DefaultRoute?, cards: [AudioCard], displays: [ConnectedDisplay], session: AudioSession
    ) -> [Candidate] {
        let found = cards.flatMap { card in
            card.devices.map { device in
                Found(
                    card: card, device: device, standing: device.output.standing(among: displays),
                    isPlugged: session.route == .port && device.isPlugged == true)
            }
        }
        let ranked = found.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)

        var result: [Candidate] = []
        func add(_ found: Found, _ reason: String) { result += found.card.candidates(found.device, reason) }
        func addDefault(_ route: DefaultRoute) {
            if route.isPlainMixer, !session.mixesWithOthers, let hardware = route.hardware {
                // The device to which it plays, then the card's others.
                let card = ranked.filter { $0.card.index == hardware.card }
                for found in card where found.device.number == hardware.device { add(found, "the card of the system's default") }
                for found in card { add(found, "the card of the system's default") }
            }
            result.append(Candidate(name: "default", reason: "the system's default"))
        }

        let target = found.first { $0.card.index == route?.hardware?.card && $0.device.number == route?.hardware?.device }
        let isVirtual = target?.card.isVirtual ?? false
        let leadsAstray = isVirtual && found.contains { !$0.card.isVirtual }
        if let route, route.isSet, !leadsAstray { addDefault(route) }
        for found in ranked where found.isPlugged { add(found, "something is plugged into it") }
        for found in ranked where found.standing.isDisplay { add(found, found.displayReason(displays)) }
        // HDMI without a display, while another output can be heard.
        let isSilent = (target?.standing ?? .other) > .other && ranked.contains { $0.standing == .other && $0.card.isVirtual == isVirtual }
        if let route, !leadsAstray, !isSilent { addDefault(route) }
        for found in ranked { add(found, found.card.isVirtual ? "no real card opens" : "the first card with playback that opens") }
        if let route, isSilent, !leadsAstray { addDefault(route) }
        var seen: Set<String> = []
        return result.filter { seen.insert($0.name).inserted }
    }

    /// A playback device and its rank.
    private struct Found {
        var card: AudioCard
        var device: AudioCard.Device
        var standing: AudioCard.Output.Standing
        /// Whether it is preferred because something is plugged into it.
        var isPlugged: Bool

        /// Best first: a display's own sound, real cards, virtual ones.
        var rank: Int { standing.isDisplay ? standing.rawValue : (card.isVirtual ? 20 : 10) + standing.rawValue }

        func displayReason(_ displays: [ConnectedDisplay]) -> String {
            guard case .display(let monitor?) = device.output else { return "the display" }
            let display = displays.first { $0.monitor?.isSame(as: monitor) == true }
            let name = monitor.name.isEmpty ? "" : " \(monitor.name)"
            return display.map { "the sound of the display\(name) on \($0.connector)" } ?? "the display\(name) takes sound"
        }
    }

    /// Opens the first candidate that opens, for this number of rendered channels. `display` is the active connector.
    ///
    /// - Throws: the first error that a user can fix (in use, no permission); otherwise the error of the first candidate.
    func open(
        rate: PCM.Rate, buffer: MediaTime, channels: AudioChannels = .stereo, renderedCount: Int = 2,
        delays: AudioDelays = AudioDelays(), display: String?, session: AudioSession = AudioSession()
    ) throws(AudioError) -> OpenDevice {
        // At its first use, libasound adds the driver configuration of all present cards (`hdmi:`, `front:`, `sysdefault:`) to its own. It
        // reads that again only when a file has changed. Freed, it is read anew, with the cards of now. The call takes libasound's lock and
        // drops one reference. An open PCM needs none, and a thread that is opening one keeps its own.
        snd_config_update_free_global()
        let cards = AudioCard.all()
        var (route, displays): (DefaultRoute?, [ConnectedDisplay]) = (nil, [])
        // Without a card the default leads nowhere, and libasound prints a page about it.
        if self == .automatic, !cards.isEmpty { (route, displays) = (DefaultRoute.find(), ConnectedDisplay.find(display)) }
        let wish = ChannelWish(renderedCount: renderedCount, displays: channels == .automatic ? cards : nil)
        var first: AudioError?
        for candidate in candidates(route: route, cards: cards, displays: displays, session: session) {
            do throws(AudioError) {
                var pcm = try PCM.open(candidate.name, rate: rate, buffer: buffer, wish: wish)
                let extra = delays.extra(of: [pcm.device] + (pcm.hardware?.names(among: cards) ?? []))
                pcm.delay = .milliseconds(Int64(extra))
                let reason = candidate.reason + (delays.entries.isEmpty ? "" : ", delay \(delays.least + extra) ms")
                let mixer = pcm.hardware.flatMap { Mixer($0, cards: cards) }
                return OpenDevice(pcm: pcm, reason: reason, mixer: mixer)
            } catch {
                // A user can fix "in use" and "no permission"; that some other name did not fit is a detail.
                if first == nil || (!first!.isActionable && error.isActionable) { first = error }
            }
        }
        throw Self.diagnose(first ?? .noCard)
    }

    /// Corrects libasound's errors. It says "no such device" even if it has no permission or lacks its configuration. For a name with an
    /// absent card it says "invalid argument".
    private static func diagnose(_ error: AudioError) -> AudioError {
        var error = error
        if case .cannotOpen(let device, EINVAL, _) = error, PCMName(device).cardIndex.map({ $0 < 0 }) == true {
            error = .cannotOpen(device: device, errno: ENODEV, holder: nil)
        }
        switch error {
        case .noCard, .cannotOpen(_, ENOENT, _), .cannotOpen(_, ENODEV, _), .cannotOpen(_, ENXIO, _): break
        default: return error
        }
        if let text = snd_config_topdir(), getenv("ALSA_CONFIG_PATH") == nil, access(String(cString: text) + "/alsa.conf", R_OK) != 0 {
            return .noLibraryConfiguration(folder: String(cString: text))
        }
        // Every card has a control device; the first 32 have these names.
        for index in 0..<32 {
            let path = "/dev/snd/controlC\(index)"
            if access(path, F_OK) == 0, access(path, R_OK | W_OK) != 0 {
                return .cannotOpen(device: path, errno: EACCES, holder: nil)
            }
        }
        return error
    }
}

extension AudioDevice.Candidate {
    /// ALSA's software mixer on the same device; empty if the name does not stand for a device of the kernel.
    fileprivate var mixed: [AudioDevice.Candidate] {
        guard let colon = name.firstIndex(of: ":"), ["hw", "plughw"].contains(name[..<colon]) else { return [] }
        // Only the card and the device: dmix would take the subdevice for the sample format.
        let arguments = name[name.index(after: colon)...].split(separator: ",").prefix(2).filter { !$0.hasPrefix("SUBDEV=") }
        return [.init(name: "dmix:\(arguments.joined(separator: ","))", reason: "\(reason), mixed with other programs")]
    }
}

/// The number of channels to request of a card.
struct ChannelWish: Sendable {
    /// The number of rendered channels.
    let renderedCount: Int
    private var counts: [Hardware: Int]?

    static let stereo = ChannelWish(renderedCount: 2)

    /// Requests the rendered channels. With the cards in `displays`, requests no more than the display on a card takes; two of a card
    /// without a display.
    init(renderedCount: Int, displays: [AudioCard]? = nil) {
        self.renderedCount = renderedCount
        guard let displays else { return }
        var counts: [Hardware: Int] = [:]
        for card in displays {
            for device in card.devices {
                counts[Hardware(card: card.index, device: device.number)] = device.displayChannelCount
            }
        }
        self.counts = counts
    }

    /// Returns the number to request of a card with this PCM; nil is a PCM without a known card.
    func count(of hardware: Hardware?) -> Int {
        guard let counts else { return renderedCount }
        return min(renderedCount, Self.usual(hardware.flatMap { counts[$0] } ?? 2))
    }

    /// Returns the most of 2, 6 and 8 channels that a display with this number takes.
    static func usual(_ most: Int) -> Int { most >= 8 ? 8 : most >= 6 ? 6 : 2 }
}

/// An open PCM, the reason for its choice, and the mixer of its card.
struct OpenDevice: ~Copyable {
    var pcm: PCM
    let reason: String
    var mixer: Mixer?
}

extension AudioError {
    fileprivate var isActionable: Bool {
        if case .cannotOpen(_, let error, _) = self { return error == EBUSY || error == EACCES || error == EPERM }
        return false
    }
}

/// The target of the PCM `default`.
struct DefaultRoute: Equatable {
    /// The kernel's PCM behind it; nil if there is none (a sound server).
    var hardware: Hardware?
    /// Whether it is ALSA's software mixer on a card, without a volume control of its own in between.
    var isPlainMixer: Bool
    /// Whether it was set by asound.conf, ~/.asoundrc, a sound server's package or $ALSA_CARD. Otherwise it is ALSA's own, the first card.
    var isSet: Bool

    /// Opens `default` to find its target, and closes it; nil if it does not open.
    static func find() -> DefaultRoute? {
        quietly {
            var handle: OpaquePointer?
            guard snd_pcm_open(&handle, "default", SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK) >= 0, let handle else { return nil }
            defer { snd_pcm_close(handle) }

            // libasound has no other call that shows the PCM behind a `plug`.
            var output: OpaquePointer?
            guard snd_output_buffer_open(&output) == 0 else { return nil }
            defer { snd_output_close(output) }
            snd_pcm_dump(handle, output)
            var text: UnsafeMutablePointer<CChar>?
            let count = snd_output_buffer_string(output, &text)
            let dump = text.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self) } ?? ""
            return DefaultRoute(
                hardware: Hardware(handle), isPlainMixer: dump.contains("Direct Stream Mixing") && !dump.contains("Soft"), isSet: isSet())
        }
    }

    /// Whether `pcm.default` or its target differs from libasound's own alsa.conf.
    private static func isSet() -> Bool {
        for name in ["ALSA_CARD", "ALSA_PCM_CARD", "ALSA_CONFIG_PATH"] where getenv(name) != nil { return true }
        var top: OpaquePointer?
        guard snd_config_update_ref(&top) >= 0 else { return false }
        defer { snd_config_unref(top) }
        func value(_ key: String) -> String? {
            var (node, text): (OpaquePointer?, UnsafeMutablePointer<CChar>?)
            guard snd_config_search(top, key, &node) == 0, snd_config_get_ascii(node, &text) == 0, let text else { return nil }
            defer { free(text) }
            return String(cString: text)
        }
        return value("pcm.default") != "cards.pcm.default" || value("defaults.pcm.card") != "0" || value("defaults.pcm.device") != "0"
    }
}

extension Hardware {
    /// Returns the names of the card and the device, as `kiosk devices` shows them.
    func names(among cards: [AudioCard]) -> [String] {
        guard let card = cards.first(where: { $0.index == card }) else { return [] }
        let devices = card.devices.filter { $0.number == device }
        let monitors = devices.compactMap { device in if case .display(let monitor?) = device.output { monitor.name } else { nil } }
        return [card.id, card.name] + devices.map(\.name) + monitors
    }

    /// Finds the kernel's PCM behind an open `snd_pcm_t`; nil if there is none.
    init?(_ handle: OpaquePointer) {
        var info: OpaquePointer?
        snd_pcm_info_malloc(&info)
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_info(handle, info) == 0, snd_pcm_info_get_card(info) >= 0 else { return nil }
        self.init(card: Int(snd_pcm_info_get_card(info)), device: Int(snd_pcm_info_get_device(info)))
    }
}
