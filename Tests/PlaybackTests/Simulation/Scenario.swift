import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A simulated run: the clips, the display, the sound card and the events.
struct Scenario {
    var seed: UInt64 = 0
    var seconds = 20.0
    var clips: [Clip] = []
    /// The number of clips on the playlist, from the first one on; nil for all.
    var listed: Int?
    /// The nominal refresh rate in Hz, and by how many parts per million the display runs faster.
    var refreshRate = 60.0, displayError = 0.0
    /// Peak jitter of the vblanks' timestamps, in seconds.
    var vblankJitter = 0.0
    var buffers = 3
    /// By how many parts per million the card plays fast; and the step in which it reports its position, in frames.
    var cardError = 0.0, cardStep = 1
    var cardPeriod = 20, cardPeriods = 4
    /// The card's nominal sample rate, in frames a second.
    var sampleRate = SimulatedCard.sampleRate
    /// The longest conversion of a picture, in seconds; and the longest decoding, as a share of the picture's duration.
    var composeTime = 0.004, decodeShare = 0.5
    /// The number of slow pictures after a start or a seek, and their decoding time as a share of their duration.
    var slowPictures = 0, slowShare = 0.0
    /// The time to open an item, in seconds, from the shortest to the longest.
    var openingTime = 0.01...0.01
    /// Clips with an opening of their own, by clip number.
    var openings: [Int: Opening] = [:]
    /// The decoder deaths; nil for none.
    var deaths: Deaths?
    /// The longest fade from one clip into the next.
    var transition = MediaTime.zero
    /// The events, in order of time.
    var events: [(time: Double, event: Event)] = []
    /// How the display shows the overlay.
    var overlayWay = OverlayWay.blended

    /// Where the display shows the overlay. With `.both`, the part in the scenes changes with every fourth overlay, and the part on the
    /// plane with each.
    enum OverlayWay: Sendable, CaseIterable { case plane, blended, both }

    /// The overlays, in order of time: growing numbers, and 0 for none.
    var overlays: [(time: Double, value: Int)] = []

    /// The true time from one vblank to the next, in seconds.
    var refreshPeriod: Double { 1 / (refreshRate * (1 + displayError * 1e-6)) }

    /// A clip, by its pictures.
    struct Clip {
        /// The start of each picture, and then the end of the last one, in seconds.
        var edges: [Double]
        /// The nominal rate; nil if the clip has none.
        var rate: Double?

        var count: Int { edges.count - 1 }
        /// Returns the picture at `time`, or the one nearest to it.
        func frame(at time: Double) -> Int { max(0, (edges.lastIndex { $0 <= time + 1e-9 } ?? 0)).clamped(to: 0...count - 1) }
    }

    /// The causes of decoder deaths.
    struct Deaths {
        /// Seconds from one death to the next, whichever clip plays.
        var interval: ClosedRange<Double>
        /// The share of the deaths that happen during an opening; the others happen in mid-clip.
        var shareOfOpenings: Double
        /// The picture that kills each decoder of its clip.
        var badPicture: (clip: Int, frame: Int)?
    }

    /// How a clip opens; times are in seconds.
    struct Opening {
        /// The time that a failed opening takes. Openings fail until `worksFrom`.
        var failing = 0.0, worksFrom = 0.0
        /// The time that a successful opening takes.
        var working = 0.01
        /// The time from which on openings fail again.
        var worksUntil = Double.infinity

        func works(at time: Double) -> Bool { worksFrom <= time && time < worksUntil }
    }

    /// An event; times are in seconds.
    enum Event {
        case decoderStalls(Double)
        case vblanksLost(Int)
        /// The next flip comes six vblanks late, without an event from the driver. The output then assumes that it is done.
        case flipUnreported
        /// The vblanks move to half-way between the old ones, and the next flip is reported twice.
        case vblankDoubled
        /// The driver turns out to count no vblanks.
        case vblanksUncounted
        case cardRunsDry(Double)
        /// No thread runs for some seconds from the next commit on. The presenter's next event is then a wake.
        case everythingStops(Double)
        /// The process stands; only the display and the card go on.
        case frozen(Double)
        case display(isConnected: Bool)
        case command(PlayerCommand)
    }
}

extension Scenario {
    private static let rates = [10, 12.5, 15, 24000.0 / 1001, 24, 25, 30000.0 / 1001, 30, 48, 50, 60000.0 / 1001, 60]
    private static let refreshRates = [24, 25, 30, 48, 50, 60000.0 / 1001, 60, 72, 75, 90, 100, 120, 144]

    /// Returns the random display, card and playlist of a seed; if `rough`, with random events.
    static func random(_ seed: UInt64, rough: Bool) -> Scenario {
        var random = SeededRandom(seed: seed)
        for _ in 0..<8 { _ = random.unit() }
        func number(_ range: ClosedRange<Double>) -> Double {
            range.lowerBound + (random.unit() + 1) / 2 * (range.upperBound - range.lowerBound)
        }
        func choice<Element>(_ elements: [Element]) -> Element {
            elements[min(elements.count - 1, Int(number(0...Double(elements.count))))]
        }
        var scenario = Scenario(seed: seed)
        scenario.refreshRate = choice(refreshRates)
        scenario.displayError = number(-200...200)
        scenario.vblankJitter = number(0...0.0005)
        scenario.cardError = number(-300...300)
        scenario.cardPeriod = Int(number(10...40))
        // Up to half a second, as the cards of virtual machines need.
        scenario.cardPeriods = random.unit() > 0.5 ? 1000 / scenario.cardPeriod : Int(number(3...8))
        scenario.cardStep = choice([1, 1, scenario.cardPeriod / 2, scenario.cardPeriod])
        // Conversion and decoding keep up.
        scenario.composeTime = number(0.0005...(0.6 / scenario.refreshRate))
        scenario.decodeShare = number(0.05...0.8)
        let rates = rates.filter { $0 <= scenario.refreshRate * 1.005 }
        // Half of the cases have one rate for all items, so the cadence has to hold across seams.
        let rate = choice(rates)
        let isUniform = random.unit() > 0
        for _ in 0..<Int(number(1...6)) {
            let count = random.unit() > 0.5 ? Int(number(1...5)) : Int(number(5...120))
            let isVariable = !isUniform && random.unit() > 0.6
            let itsRate = isUniform ? rate : choice(rates)
            var edges = [0.0]
            for frame in 0..<count {
                edges.append(isVariable ? edges[frame] + number((1 / scenario.refreshRate)...0.2) : Double(frame + 1) / itsRate)
            }
            scenario.clips.append(.init(edges: edges, rate: isVariable ? nil : itsRate))
        }
        guard rough else { return scenario }
        scenario.buffers = choice([2, 3, 3, 4])
        var time = number(0.1...3)
        while time < scenario.seconds - 3 {
            let length = number(0.05...1)
            switch Int(number(0...9)) {
            case 0: scenario.events.append((time, .decoderStalls(length)))
            case 1: scenario.events.append((time, .vblanksLost(Int(number(1...20)))))
            case 2: scenario.events.append((time, .cardRunsDry(length)))
            case 3: scenario.events += [(time, .display(isConnected: false)), (time + length, .display(isConnected: true))]
            case 4: scenario.events += [(time, .command(.pause)), (time + length, .command(.play))]
            case 5: scenario.events.append((time, .command(.seekTo(.seconds(number(0...5))))))
            case 6: scenario.events.append((time, .vblankDoubled))
            case 7: scenario.events.append((time, .command(choice([.nextItem, .previousItem, .restartItem]))))
            default:
                // A key held down.
                for step in 0..<5 { scenario.events.append((time + Double(step) * 0.04, .command(.seekBy(.seconds(number(-1...1)))))) }
            }
            time += length + number(0.2...4)
        }
        return scenario
    }
}

extension Comparable {
    fileprivate func clamped(to range: ClosedRange<Self>) -> Self { min(max(self, range.lowerBound), range.upperBound) }
}
