import ArgumentParser
import KioskAudioCore
import KioskCaptureCore
import KioskConfiguration
import KioskDisplayCore
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Logging

/// `kiosk devices`: lists displays, sound cards, microphones, cameras and input devices.
struct Devices: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List displays, sound outputs, input devices, cameras and encoders, and the choices of kiosk.",
        usage: "kiosk devices [<options>] [--test [<file> ...]]",
        discussion: """
            kiosk opens a device only for a short query, and does not disturb a running player. With --test it takes the display for a \
            minute or two, and fails if another program has the display.
            """)

    @OptionGroup var settings: Settings

    @Flag(help: "Try the display's planes and, with files, the hardware decoders, and write a report to send to kiosk's developers.")
    var test = false

    @Argument(help: ArgumentHelp("Videos for the decoders to decode, one of each codec.", valueName: "file"), completion: .file())
    var files: [String] = []

    func validate() throws {
        if !test, !files.isEmpty { throw ValidationError("files are for --test") }
    }

    func run() throws {
        let configuration = try settings.load(orDefaults: true)
        let keyMap = try settings.keyMap(configuration)
        startLog(test ? .warning : .error)
        if test {
            let report = HardwareReport(
                settings: DisplaySettings(configuration), sources: files, device: configuration.playback.decoderDevice)
            if let obstacle = DisplayTrial.obstacle(report.settings) {
                printError("the display is not free: \(obstacle); stop it first, such as with systemctl stop kiosk")
                throw ExitCode(1)
            }
            report.printMachine()
            _ = listDisplays(configuration)
            let hasDisplay = report.printPlanes()
            report.printDecoders(hasDisplay: hasDisplay)
            return
        }
        let display = listDisplays(configuration)
        listSound(configuration, display: display)
        listInput(configuration, keyMap, display: display)
        listCapture()
        listEncoders(device: configuration.playback.decoderDevice)
    }

    private func listCapture() {
        print("\nCameras")
        let (cameras, refused) = Camera.all()
        for camera in cameras {
            print("  \(camera.path)  \(camera.name)\(camera.position.map { ", \($0.rawValue)" } ?? "")  at \(camera.bus)")
            for line in camera.offers { print("      \(line)") }
        }
        for refusal in refused { print("  \(CaptureError.cannotOpenCamera(refusal.path, errno: refusal.errno, holders: []))") }
        if cameras.isEmpty, refused.isEmpty { print("  none: no /dev/video* that gives pictures") }
        print("\nMicrophones")
        let microphones = Microphone.all()
        for microphone in microphones { print("  \(microphone.pcm)  \(microphone.name)") }
        if microphones.isEmpty { print("  no microphone") }
    }

    private func listEncoders(device: String?) {
        print("\nEncoders")
        let encoders = EncoderInventory.entries(device: device)
        for encoder in encoders {
            print("  \(encoder.codec)  \(encoder.title)\(encoder.problem.map { "  not used: \($0.printable)" } ?? "")")
        }
        if !encoders.contains(where: { $0.problem == nil }) { print("  none: kiosk cannot record or export films") }
    }

    /// Prints the displays; returns the one that kiosk would use.
    private func listDisplays(_ configuration: Configuration) -> String? {
        let survey = DisplayDevices.survey(DisplaySettings(configuration), asksPaths: true)
        print("Displays")
        for card in survey.cards {
            print("  \(card.path)  \(card.driver), \(card.isAtomic ? "atomic" : "legacy") mode setting")
            for user in card.users { print("      in use by \(user)") }
            for connector in card.connectors {
                print("    \(connector.name)  \(connector.status)\(connector.isNonDesktop ? ", a headset" : "")")
                if !connector.modes.isEmpty { print(wrapped(connector.modes.map(\.name), indent: 6)) }
                if let formats = card.videoFormats[connector.name], !formats.isEmpty {
                    print("      video on planes: \(formats.joined(separator: " "))")
                }
                for line in card.paths[connector.name] ?? [] { print("        \(line)") }
            }
            for plane in card.planes {
                print("    plane \(plane.id) (\(plane.kind))")
                print(wrapped(plane.formats, indent: 6))
            }
        }
        for framebuffer in survey.framebuffers {
            let panning = framebuffer.canPan ? ", can pan" : ""
            print("  \(framebuffer.path)  \(framebuffer.width)×\(framebuffer.height), \(framebuffer.bitsPerPixel) bits a pixel\(panning)")
        }
        for problem in survey.problems { print("  \(problem)") }
        if survey.cards.isEmpty && survey.framebuffers.isEmpty { print("  none: no /dev/dri/card* and no /dev/fb*") }
        print("  → \(survey.choice ?? "none"): \(survey.reason)")
        return survey.choice
    }

    private func listSound(_ configuration: Configuration, display: String?) {
        print("\nSound")
        let cards = AudioCard.all()
        for card in cards {
            print("  card \(card.index) \(card.id)  \(card.name) (\(card.driver))")
            for device in card.devices {
                print("    \(device.pcm)  \(device.name)\(monitor(on: device))")
                switch device.capabilities() {
                case .success(let abilities):
                    print(
                        "      \(abilities.formats.joined(separator: " ")), \(range(abilities.sampleRates)) Hz, "
                            + "\(range(abilities.channelCounts)) channels")
                case .failure(let refusal): print("      \(refusal.description)")
                }
            }
        }
        if cards.isEmpty { print("  no sound card") }
        let audio = configuration.audio
        print("  → \(audio.device): \(audio.device.trial(display: display, session: audio.session, channels: audio.channels))")
    }

    private func monitor(on device: AudioCard.Device) -> String {
        switch device.output {
        case .other: ""
        case .display(nil): ", no display that takes sound"
        case .display(let monitor?):
            ", a display that takes sound" + (monitor.name.isEmpty ? "" : ": \(monitor.name)")
                + (device.displayChannelCount.map { ", up to \($0) channels" } ?? "")
        }
    }

    private func listInput(_ configuration: Configuration, _ keyMap: KeyMap, display: String?) {
        print("\nInput")
        let devices = InputDevice.all(keys: keyMap.keys)
        for device in devices {
            print("  \(device.path)  \(device.name ?? "?")  \(device.abilities)  → \(use(of: device, configuration, display: display))")
            let place = device.identity.dropFirst((device.name ?? "").count + 1)
            if device.isTouchScreen, !place.isEmpty { print("      at \(place)") }
            if configuration.input.lock.allowed != nil, let parts = device.parts {
                let id = [parts.vendor, parts.product].map { String(UInt32($0) + 0x10000, radix: 16).dropFirst() }.joined(separator: ":")
                print("      for [input] allow: \(parts.place.isEmpty ? "" : "\"place \(parts.place)\" or ")\"id \(id)\"")
            }
            if let calibration = device.calibration { print("      calibration matrix \(calibration)") }
        }
        if devices.isEmpty { print("  no /dev/input/event*") }
    }

    /// Returns how kiosk uses an input device.
    private func use(of device: InputDevice, _ configuration: Configuration, display: String?) -> String {
        if let refusal = device.refusal { return refusal }
        let name = device.identity
        guard device.isUsed else { return "not used" }
        if let parts = device.parts, !configuration.input.lock.allows(parts) { return "not used: [input] allow lists other devices" }
        guard device.isTouchScreen else { return "used" }
        let map = DisplayMap(configuration.input.map.map { ($0.device, $0.connector) })
        guard map.isOurs(name, output: device.output, present: display.flatMap(DisplayConnector.init)) else {
            return "not used: it lies on \(map.connector(of: name, output: device.output)?.description ?? "another display")"
        }
        return configuration.input.usesTouch ? "used" : "its keys are used"
    }

    private func range(_ values: ClosedRange<Int>) -> String {
        values.lowerBound == values.upperBound ? "\(values.lowerBound)" : "\(values.lowerBound)–\(values.upperBound)"
    }

    /// Returns words in lines of at most 100 columns.
    private func wrapped(_ words: [String], indent: Int) -> String {
        var lines: [String] = [String(repeating: " ", count: indent)]
        for word in words {
            if lines[lines.count - 1].count + word.count > 100 { lines.append(String(repeating: " ", count: indent)) }
            lines[lines.count - 1] += (lines[lines.count - 1].count > indent ? "  " : "") + word
        }
        return lines.joined(separator: "\n")
    }
}
