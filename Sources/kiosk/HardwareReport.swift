import Glibc
import KioskConfiguration
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders

/// The output of `kiosk devices --test`: the actual behaviour of this machine's planes and decoders, for developers without the machine.
/// docs/hardware.md explains it.
struct HardwareReport {
    let settings: DisplaySettings
    let sources: [String]
    /// The only decoder to test; nil for all.
    let device: String?

    /// Prints the machine: model, system, kernel, FFmpeg.
    func printMachine() { print("Machine\n\(Self.machine)\n") }

    static var machine: String {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) { $0.text }
        let machine = withUnsafeBytes(of: &name.machine) { $0.text }
        let models = ["/proc/device-tree/model", "/sys/class/dmi/id/product_name"].compactMap { SmallFile.text($0) }
        let model = models.first.map { String($0.filter { !$0.isNewline && $0 != "\0" }) } ?? "unknown"
        let systems = SmallFile.text("/etc/os-release")?.split(separator: "\n").compactMap { line in
            line.hasPrefix("PRETTY_NAME=") ? String(line.dropFirst(12).filter { $0 != "\"" }) : nil
        }
        return "  \(model.printable), \(machine)\n  \(systems?.first ?? "unknown system"), Linux \(release), FFmpeg \(ffmpegVersion)"
    }

    /// Shows test pictures by every picture path, for half a minute to a minute; false without a display.
    func printPlanes() -> Bool {
        print("\nPictures on the display: colour bars, a white line that moves evenly, a red square at the top left")
        let hasDisplay = DisplayTrial.showTestPictures(settings) { printTrial($0) }
        if !hasDisplay { print("  not tried: there is no display; plug one in, or name its connector with --display") }
        return hasDisplay
    }

    private func printTrial(_ trial: DisplayTrial) {
        print("  \(trial.title.printable)\(trial.mode.isEmpty ? "" : " on \(trial.mode)")\n      \(trial.line.printable)")
        let late = trial.countsVblanks ? "\(trial.late) vblanks late" : "the driver counts no vblanks"
        let (mean, worst) = (decimal(trial.preparing.seconds * 1000), decimal(trial.worst.seconds * 1000))
        print("      \(trial.shown) shown, \(late); \(mean) ms to prepare one, \(worst) ms at worst")
        if let problem = trial.problem { print("      ! \(problem.printable)") }
    }

    /// Decodes each file by hardware and by software, and shows the hardware's result if there is a display. Takes at most half a minute
    /// for each device and file.
    func printDecoders(hasDisplay: Bool) {
        print("\nDecoders")
        if sources.isEmpty { print("  not tried: name files, such as one of each codec you have") }
        // The kernel numbers render nodes from 128. Without one there may still be V4L2 decoders.
        let all: [String] = (128..<192).map { "/dev/dri/renderD\($0)" }
        let present = all.filter { access($0, F_OK) == 0 }
        let nodes: [String?] = if let device { [device] } else if present.isEmpty { [nil] } else { present }
        for source in sources {
            for node in nodes {
                print("  \(source.printable)\(node.map { ", \($0)" } ?? "")")
                printTrial(DecoderTrial.run(source, device: node))
                if hasDisplay { printTrial(DisplayTrial.showFile(source, device: node, settings)) }
            }
        }
    }

    private func printTrial(_ trial: DecoderTrial) {
        print("      decoded by \(trial.decoder.isEmpty ? "nothing" : trial.decoder.printable)")
        if trial.decoded > 0 {
            let (hardware, software) = (decimal(trial.hardwareTime.seconds * 1000), decimal(trial.softwareTime.seconds * 1000))
            let worst = decimal(trial.worst.seconds * 1000)
            print("      \(trial.decoded) pictures, \(hardware) ms each (\(worst) at worst); software \(software) ms each, on one core")
            let ratio = trial.ratio.map { "\(decimal($0)) dB" } ?? "equal"
            print("      \(trial.compared) compared with software's: \(ratio), greatest difference \(trial.difference ?? 0)")
            print("      surfaces: \(trial.surface ?? "ordinary memory"); \(trial.surfaces) different ones")
        }
        for problem in trial.problems { print("      ! \(problem.printable)") }
    }
}
