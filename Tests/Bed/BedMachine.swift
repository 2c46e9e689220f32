import Glibc

/// The machine a run happens on.
package struct Machine: Sendable {
    /// Connectors, each with a CRTC and planes of its own.
    package var displays = 1
    /// Overlay planes a display.
    package var overlays = 2
    /// Connectors beyond those, unplugged, that have no CRTC but the first display's.
    package var spareConnectors = 0
    /// Whether planes may scale.
    package var planesScale = false
    /// CPUs of the guest; more would exclude virtual time.
    package let processors = 1
    /// What it has for its kernel, the player and whatever else runs, in MB.
    package var memory = 3072
    /// The mode that kiosk is told to use. Refresh rates other than 60 Hz are added to the modes the display offers.
    package var mode = Mode()
    /// How time passes. Virtual time cannot be starved by the host; processor time means nothing in it.
    package var time = Time.real
    /// Whether what the guest can do is measured before the player starts (``Host``), which takes a second or two; where it is too little
    /// for what is judged in real time, the run counts as starved.
    package var measuresHost = false
    /// The guest runs with real-time priority on the host, which other programs then hardly disturb. Only root may.
    package var isRealTime = geteuid() == 0
    /// Whether a touch screen is there from the beginning.
    package var hasTouchScreen = true
    /// Whether a keyboard is.
    package var hasKeyboard = true
    /// Whether numbers are read from what lies on top, and not from the picture beneath all that is drawn over it.
    package var readsTopmost = false
    /// Whether the loopback card is recorded, which keeps it busy.
    package var recordsSound = true
    /// How often the memory of the player is looked at.
    package var samplePeriod = Duration.seconds(10)
    /// More arguments for the kernel.
    package var kernelArguments = ""

    /// How time passes in the guest.
    package enum Time: Sendable {
        /// The host's.
        case real
        /// As long as computing takes it, and no longer.
        case virtual
        /// Computing takes none: for what must come out the same every time. A program that waits by looking at the clock again and again
        /// hangs in it.
        case free
    }

    /// A display mode.
    package struct Mode: Sendable, CustomStringConvertible {
        package var width: Int, height: Int, refresh: Int

        /// Pixels and Hz.
        package init(width: Int = 1280, height: Int = 720, refresh: Int = 60) {
            (self.width, self.height, self.refresh) = (width, height, refresh)
        }

        /// As kiosk.conf and the kernel write it.
        package var description: String { "\(width)x\(height)@\(refresh)" }
    }

    /// One display of 1280x720@60 and a sound card.
    package init() {}

    /// The same machine with changes.
    package init(_ change: (inout Machine) -> Void) {
        self.init()
        change(&self)
    }

    /// One that is measured before each run, for what is judged in real time.
    package static var measured: Machine { Machine { $0.measuresHost = true } }

    /// In virtual time the host is never an excuse.
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

/// A kiosk.conf, a table at a time: each text is lines of TOML. The mode of the machine and its sound card are added where they are not
/// named.
package struct KioskConfiguration: Sendable {
    package var display: String, audio: String, playback: String, input: String, control: String
    /// Tables of a [[playlist]], or what stands for them.
    package var playlist: [String]

    /// The defaults, with these lines.
    package init(
        display: String = "", audio: String = "", playback: String = "", input: String = "", control: String = "", playlist: [String] = []
    ) {
        (self.display, self.audio, self.playback, self.input, self.control) = (display, audio, playback, input, control)
        self.playlist = playlist
    }

    /// The file for `machine`, with `clips` as its playlist unless it has one of its own.
    func text(_ machine: Machine, _ clips: [NumberedClip]) -> String {
        let mode = display.contains("mode =") ? "" : "mode = \"\(machine.mode)\"\n"
        let device = audio.contains("device =") ? "" : "device = \"hw:Loopback,0,0\"\n"
        let items = playlist.isEmpty ? clips.map { "source = \"\($0.path)\"" } : playlist
        return
            "[display]\n\(mode)\(display)\n[audio]\n\(device)\(audio)\n[playback]\n\(playback)\n[input]\n\(input)\n[control]\n\(control)\n"
            + items.map { "[[playlist]]\n\($0)\n" }.joined()
    }
}

/// What is run.
package enum Program: Sendable {
    /// kiosk with a configuration and more arguments.
    case kiosk(KioskConfiguration = KioskConfiguration(), arguments: [String] = [])
    /// Any other program, by its name or path, as it stands.
    case command([String])
    /// Another program under a tool such as strace: the words that come before its command.
    indirect case under([String], Program)
}
