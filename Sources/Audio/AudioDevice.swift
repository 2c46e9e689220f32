import CALSA
import Configuration
import Glibc
import Logging
import Platform
import Playback

let log = Logger(label: "audio")

extension AudioDevice {
    /// Makes the output to play to. Never fails: without a card the output is silent, says why in the log, and takes the card
    /// once there is one.
    public func makeOutput() -> any AudioOutput {
        self == .off ? SilentOutput() : ALSAOutput(device: self)
    }
}

extension AudioDevice {
    /// A PCM to try, and why.
    struct Candidate: Equatable {
        var name: String
        var reason: String
    }

    /// The PCMs to try, best first. `route` is where the system's default leads, nil when it does not open.
    ///
    /// A default that is ALSA's own software mixer on a card is passed by in favour of that card itself: nobody else makes sound on
    /// a kiosk, and what the mixer has accepted cannot be taken back at a pause.
    func candidates(route: DefaultRoute?, cards: [AudioCard]) -> [Candidate] {
        switch self {
        case .off: return []
        case .pcm(let name): return [Candidate(name: name, reason: "configured")]
        case .automatic: break
        }
        let playing = cards.filter { !$0.devices.isEmpty }
        let real = playing.filter { !$0.isVirtual }
        var result: [Candidate] = []
        if let route {
            let card = playing.first { $0.index == route.cardIndex }
            let leadsToVirtual = card?.isVirtual ?? false
            if !(leadsToVirtual && !real.isEmpty) {
                if route.isPlainMixer, let card {
                    result += card.candidates("the card of the system's default")
                }
                result.append(Candidate(name: "default", reason: "the system's default"))
            }
        }
        for card in real { result += card.candidates("the first card with playback that opens") }
        for card in playing where card.isVirtual { result += card.candidates("no real card opens") }
        var seen: Set<String> = []
        return result.filter { seen.insert($0.name).inserted }
    }

    /// Opens the first candidate that opens. Throws what the best of them said.
    func open(rate: PCM.Rate, buffer: MediaTime) throws(AudioError) -> OpenDevice {
        // libasound adds the configuration of a card's driver (`hdmi:`, `front:`, `sysdefault:`) to its own when that is first used, for
        // the cards there are then, and reads it again only when a file has changed. Freed, it is read anew, with the cards of now. The
        // call takes libasound's lock and drops one reference: an open PCM needs none, and whoever is opening something keeps its own.
        snd_config_update_free_global()
        var cards: [AudioCard] = []
        var route: DefaultRoute?
        if self == .automatic {
            cards = AudioCard.all()
            // Without a card the default leads nowhere, and libasound has a page to say about it.
            if !cards.isEmpty { route = DefaultRoute.find() }
        }
        var first: AudioError?
        for candidate in candidates(route: route, cards: cards) {
            do throws(AudioError) {
                return OpenDevice(pcm: try PCM.open(candidate.name, rate: rate, buffer: buffer), reason: candidate.reason)
            } catch {
                // "In use" and "no permission" can be put right; that some other name did not fit is a detail.
                if first == nil || (!first!.isActionable && error.isActionable) { first = error }
            }
        }
        throw Self.diagnose(first ?? .noCard)
    }

    /// libasound says "no such device" also where it may not look, and where it lacks its configuration; and "invalid argument" of a
    /// name with a card that is not there.
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
        // A card has a control device; the first 32 have these names.
        for index in 0..<32 {
            let path = "/dev/snd/controlC\(index)"
            if access(path, F_OK) == 0, access(path, R_OK | W_OK) != 0 {
                return .cannotOpen(device: path, errno: EACCES, holder: nil)
            }
        }
        return error
    }
}

/// A PCM, and why this one.
struct OpenDevice: ~Copyable {
    let pcm: PCM
    let reason: String
}

extension AudioError {
    fileprivate var isActionable: Bool {
        if case .cannotOpen(_, let error, _) = self { return error == EBUSY || error == EACCES || error == EPERM }
        return false
    }
}
