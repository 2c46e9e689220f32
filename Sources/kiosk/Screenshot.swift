import ArgumentParser
import Glibc
import KioskConfiguration
import KioskDisplayCore
import KioskPlatform
import KioskVocabulary
import Remote
import RemoteClient

/// `kiosk screenshot FILE`: writes a picture of a running player's screen.
struct Screenshot: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Save the screen of a running player as a PNG file.",
        usage: "kiosk screenshot [<options>] <file>",
        discussion: """
            The file has the picture and all that lies over it, as a viewer sees them: upright, even on a rotated display. kiosk asks \
            the player on its control socket, which the player's user and group may use. Exit status: 0 with a file; else 1, without a \
            file.
            """)

    @OptionGroup var address: SocketAddressOptions

    @Argument(help: "The PNG file to write; - is standard output.", completion: .file(extensions: ["png"]))
    var file: String

    func validate() throws {
        let name = file.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return }
        let suffix = name[name.index(after: dot)...].lowercased()
        if suffix != "png", FileExtensions.all.contains(suffix) {
            throw ValidationError("\(file): screenshots are PNG: name it \(file.dropLast(suffix.count))png")
        }
    }

    func run() throws {
        do throws(Unanswered) {
            let place = try address.place()
            let png: [UInt8]
            do throws(ControlError) { png = try ControlClient.screenshot(place.path) } catch { throw place.unanswered(error) }
            do throws(ControlError) { try write(png) } catch { throw Unanswered(error) }
            place.mentionMistakes()
        } catch { throw error.told(asJSON: false) }
    }

    /// Writes the PNG. A regular file is replaced atomically. A device, a pipe or the target of a link is written directly.
    private func write(_ png: [UInt8]) throws(ControlError) {
        if file == "-" || stat(at: file, followsLinks: false).map({ !$0.isFile }) ?? false {
            let place = file == "-" ? dup(STDOUT_FILENO) : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            guard let place = Descriptor(adopting: place), png.withUnsafeBytes({ place.write($0) }) else {
                throw ControlError("write \(file)", code: errno)
            }
        } else if let error = AtomicFile.write(file, png, mode: nil, draft: "\(file).\(getpid())") {
            throw ControlError("write \(file)", code: error.code)
        }
    }
}
