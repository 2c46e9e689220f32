import Glibc

/// The machine of a run.
package struct Machine: Sendable {
    /// Connectors, each with a CRTC and planes of its own.
    package var displays = 1
    /// Overlay planes for each display.
    package var overlays = 2
    /// Additional unplugged connectors that can use only the first display's CRTC.
    package var spareConnectors = 0
    /// Whether planes may scale.
    package var planesScale = false
    /// CPUs of the guest. More than one would exclude virtual time.
    package let processors = 1
    /// Memory for the guest's kernel, the player and all other programs, in MB.
    package var memory = 3072
    /// The mode in kiosk's configuration. Refresh rates other than 60 Hz are added to the display's modes.
    package var mode = Mode()
    /// How time passes. The host cannot starve virtual time; processor time means nothing in it.
    package var time = Time.real
    /// Whether the guest's abilities are measured before the player starts (``Host``), which takes a second or two. If they are
    /// insufficient for judgements in real time, the run counts as starved.
    package var measuresHost = false
    /// The guest runs with real-time priority on the host, so other programs hardly disturb it. Needs root.
    package var isRealTime = geteuid() == 0
    /// Whether there is a touch screen from the start.
    package var hasTouchScreen = true
    /// Whether there is a keyboard from the start.
    package var hasKeyboard = true
    /// Whether numbers are read from the topmost plane instead of the picture beneath all overlays.
    package var readsTopmost = false
    /// Whether the loopback card is recorded, which keeps it busy.
    package var recordsSound = true
    /// The interval between looks at the player's memory.
    package var samplePeriod = Duration.seconds(10)
    /// More arguments for the kernel.
    package var kernelArguments = ""

    /// How time passes in the guest.
    package enum Time: Sendable {
        /// The host's time.
        case real
        /// Time passes only as long as computing takes.
        case virtual
        /// Computing takes no time: for results that must be the same every time. A program that polls the clock hangs in it.
        case free
    }

    /// A display mode.
    package struct Mode: Sendable, CustomStringConvertible {
        package var width: Int, height: Int, refresh: Int

        /// Creates a mode from pixels and Hz.
        package init(width: Int = 1280, height: Int = 720, refresh: Int = 60) {
            (self.width, self.height, self.refresh) = (width, height, refresh)
        }

        /// The mode as kiosk.conf and the kernel write it.
        package var description: String { "\(width)x\(height)@\(refresh)" }
    }

    /// Creates a machine with one display of 1280x720@60 and a sound card.
    package init() {}

    /// Creates the default machine with changes.
    package init(_ change: (inout Machine) -> Void) {
        self.init()
        change(&self)
    }

    /// A machine that is measured before each run, for judgements in real time.
    package static var measured: Machine { Machine { $0.measuresHost = true } }

    /// Whether the guest is measured. Virtual time needs no measurement: there the host is never an excuse.
    var isMeasured: Bool { measuresHost && time == .real }

    /// The options for Tests/Bed/run.
    var options: [String] {
        var options = ["-d", "\(displays)", "-o", "\(overlays)", "-m", "\(memory)M"]
        if spareConnectors > 0 { options += ["-x", "\(spareConnectors)"] }
        if planesScale { options.append("-S") }
        switch time {
        case .real: if isRealTime { options.append("-r") }
        case .virtual: options.append("-v")
        case .free: options.append("-V")
        }
        let video = mode.refresh == 60 ? [] : (1...max(1, displays)).map { "video=Virtual-\($0):\(mode)" }
        let kernel = (video + [kernelArguments]).filter { !$0.isEmpty }.joined(separator: " ")
        return kernel.isEmpty ? options : options + ["-k", kernel]
    }
}

/// A kiosk.conf, one table at a time; each text is lines of TOML. The machine's mode and sound card are added if the lines do not name any.
package struct KioskConfiguration: Sendable {
    package var display: String, audio: String, playback: String, input: String, control: String
    /// The bodies of the [[playlist]] tables; if there are none, the clips of the run.
    package var playlist: [String]

    /// Creates the default configuration with these lines added.
    package init(
        display: String = "", audio: String = "", playback: String = "", input: String = "", control: String = "", playlist: [String] = []
    ) {
        (self.display, self.audio, self.playback, self.input, self.control) = (display, audio, playback, input, control)
        self.playlist = playlist
    }

    /// Returns the file for `machine`, with `clips` as its playlist unless it has its own.
    func text(_ machine: Machine, _ clips: [NumberedClip]) -> String {
        let mode = display.contains("mode =") ? "" : "mode = \"\(machine.mode)\"\n"
        let device = audio.contains("device =") ? "" : "device = \"hw:Loopback,0,0\"\n"
        let items = playlist.isEmpty ? clips.map { "source = \"\($0.path)\"" } : playlist
        return
            "[display]\n\(mode)\(display)\n[audio]\n\(device)\(audio)\n[playback]\n\(playback)\n[input]\n\(input)\n[control]\n\(control)\n"
            + items.map { "[[playlist]]\n\($0)\n" }.joined()
    }
}

/// The program of a run.
package enum Program: Sendable {
    /// kiosk with a configuration and more arguments.
    case kiosk(KioskConfiguration = KioskConfiguration(), arguments: [String] = [])
    /// Any other program, by its name or path, unchanged.
    case command([String])
    /// A program under a tool such as strace: the tool's words come before the program's command.
    indirect case under([String], Program)
}
