import ArgumentParser
import Glibc
import KioskConfiguration
import KioskDisplayCore
import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// `kiosk calibrate`: finds the calibration matrix of a touch screen, and writes it as a udev rule.
struct Calibrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Calibrate a touch screen to its display, and write a udev rule.",
        usage: "kiosk calibrate [<options>]",
        discussion: """
            kiosk shows five targets, one after the other, on the display that it would play on. Touch each where its lines cross. The \
            rule sets LIBINPUT_CALIBRATION_MATRIX, which kiosk and desktops read. Stop a playing kiosk first: it keeps the touch screen \
            to itself. Exit status: 0 with a matrix; 1 without a touch screen, after a minute without a touch, or if kiosk cannot write \
            the rule.
            """)

    @OptionGroup var settings: Settings

    @Option(
        help: ArgumentHelp(
            "Write the rule into this file.", discussion: "Default: print it. /etc/udev/rules.d/71-kiosk-touch.rules is a good place.",
            valueName: "file"),
        completion: .file())
    var output: String?

    /// How long to wait for a touch on a target.
    private static let patience = MediaTime.seconds(60)

    func run() throws {
        let configuration = try settings.load(orDefaults: true)
        startLog(.error)
        guard InputDevice.all(keys: []).contains(where: \.isTouchScreen) else {
            printError("there is no readable touch screen; kiosk devices lists the input devices")
            throw ExitCode(1)
        }
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        let display = DisplayOutput.open(DisplaySettings(configuration), offscreenWhenNoneIsFree: true)
        let seen = Monitor(Rotation.none)
        display.observeRotation { rotation in seen.signal { $0 = rotation } }
        var options = InputReader.Options(keys: [])
        options.isCalibrated = false
        let reader = InputReader(options)
        let touches = Monitor<[ContactEvent]>([])
        reader.start { [display] event in
            guard case .contact(let event) = event else { return }
            touches.signal { $0.append(event) }
            display.wake()
        }
        defer {
            reader.stop()
            display.close()
        }
        let rotation = seen.withLock { $0 }
        let screen = TargetScreen(display, rotation: rotation)
        var calibration = Calibration(rotation: rotation)
        printError("Touch the targets\(display.isOffscreen ? " in this order; no display is free to show them" : ""). Ctrl-C ends this.")
        instruct(calibration)
        var deadline = HostTime.now + Self.patience
        while true {
            screen.show(calibration.target)
            for touch in touches.signal({ touches in
                defer { touches = [] }; return touches
            }) {
                switch calibration.update(touch) {
                case .ignored: continue
                case .next: instruct(calibration)
                case .startedAgain:
                    printError("These touches do not fit together. Once more from the beginning.")
                    instruct(calibration)
                case .found(let matrix, let device):
                    return try write(matrix, of: reader.name(of: device) ?? ("", ""))
                }
                deadline = .now + Self.patience
            }
            if signals.wait(for: .zero) != nil { throw ExitCode(1) }
            if HostTime.now >= deadline {
                printError("no touch for a minute")
                throw ExitCode(1)
            }
        }
    }

    private func instruct(_ calibration: Calibration) {
        let places = [
            "near the top left corner", "near the top right corner", "near the bottom right corner", "near the bottom left corner",
            "in the middle",
        ]
        let number = calibration.count
        let how = number < 4 ? ": a tenth of the width and of the height away from it" : ""
        printError("\(number + 1) of \(places.count), \(places[number])\(how)")
    }

    private func write(_ matrix: CalibrationMatrix, of device: (name: String, place: String)) throws {
        // Touch screens of the same name are distinguished by their ports.
        let twins = InputDevice.all(keys: []).filter { $0.isTouchScreen && $0.name == device.name }
        let rule =
            "# \(device.name.printable), by kiosk calibrate\n"
            + matrix.udevRule(deviceName: device.name, place: twins.count > 1 ? device.place : nil) + "\n"
        guard let output else { return print(rule, terminator: "") }
        guard let file = Descriptor(opening: output, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666),
            Array(rule.utf8).withUnsafeBytes({ file.write($0) })
        else {
            printError("\(output) cannot be written: \(SystemError())")
            print(rule, terminator: "")
            throw ExitCode(1)
        }
        printError(
            "Written to \(output). To apply the rule: udevadm control --reload && udevadm trigger --subsystem-match=input; then start kiosk."
        )
    }
}

/// Shows a cross on an otherwise empty display. The thread that calls ``show(_:)`` is compositor and presenter.
private final class TargetScreen {
    private let display: DisplayOutput
    private var shown: (x: Double, y: Double)?
    private var prepared: PreparedScene?
    private var id: UInt64 = 0
    private let rotation: Rotation
    private let cross: Surface

    /// The width and height of the cross, in pixels.
    private static let size = 121

    init(_ display: DisplayOutput, rotation: Rotation) {
        (self.display, self.rotation) = (display, rotation)
        let (size, middle) = (Self.size, Self.size / 2)
        var pixels = [UInt32](repeating: 0, count: size * size)
        for y in 0..<size {
            for x in 0..<size where abs(x - middle) <= 1 || abs(y - middle) <= 1 { pixels[y * size + x] = 0xFFFF_FFFF }
        }
        cross = Surface(width: size, height: size, pixels: pixels)
    }

    /// Shows the cross at a place, then waits for a tenth of a second or until the display is woken.
    func show(_ place: (x: Double, y: Double)) {
        if shown.map({ $0 != place }) ?? true { prepare(place) }
        if let next = prepared {
            id += 1
            switch display.commit(next, id: id) {
            case .queued: prepared = nil
            case .busy: break
            case .stale: (prepared, shown) = (nil, nil)
            }
        }
        if case .changed = display.wait(until: .now + .milliseconds(100)) { (prepared, shown) = (nil, nil) }
    }

    private func prepare(_ place: (x: Double, y: Double)) {
        guard let mode = display.mode else { return }
        if let old = prepared.take() { display.discard(old) }
        let (width, height) = rotation.swapsAxes ? (mode.height, mode.width) : (mode.width, mode.height)
        let (x, y) = (Int((place.x * Double(width)).rounded()), Int((place.y * Double(height)).rounded()))
        let half = Self.size / 2
        _ = display.setOverlay(Overlay(pictures: [Overlay.Picture(surface: cross, x: x - half, y: y - half)]))
        if case .prepared(let next) = display.prepare(Scene(background: 0)) { (prepared, shown) = (next, place) }
    }
}
