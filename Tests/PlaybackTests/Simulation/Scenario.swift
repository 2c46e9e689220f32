import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What is played, on what, and what happens to it.
struct Scenario {
    var seed: UInt64 = 0
    var seconds = 20.0
    var clips: [Clip] = []
    /// How many of them are on the playlist; nil is all.
    var listed: Int?
    /// Nominal Hz, and how many parts per million faster it is.
    var refreshRate = 60.0, displayError = 0.0
    /// Peak jitter of the vblanks' timestamps, in seconds.
    var vblankJitter = 0.0
    var buffers = 3
    /// How many parts per million faster than nominal the card plays, and in what steps it tells where it is.
    var cardError = 0.0, cardStep = 1
    var cardPeriod = 20, cardPeriods = 4
    /// Frames a second that it takes.
    var sampleRate = SimulatedCard.sampleRate
    /// Longest time to convert a picture, in seconds; and to decode one, as a share of its duration.
    var composeTime = 0.004, decodeShare = 0.5
    /// After a start or a jump so many pictures take this share of their duration to decode, instead.
    var slowPictures = 0, slowShare = 0.0
    /// What opening an item takes, in seconds, from the shortest to the longest.
    var openingTime = 0.01...0.01
    /// Clips that do not open like the others, by their numbers.
    var openings: [Int: Opening] = [:]
    /// Decoders that die; nil where none does.
    var deaths: Deaths?
    /// How long one clip fades into the next at most.
    var transition = MediaTime.zero
    /// In order.
    var events: [(time: Double, event: Event)] = []
    /// Whether the display has a plane for what lies over the pictures.
    var overlayWay = OverlayWay.blended

    /// Where the display shows what lies over the picture; `.both`: what is in scenes is another thing with every fourth overlay, and what is
    /// on a plane with each.
    enum OverlayWay: Sendable, CaseIterable { case plane, blended, both }

    /// What is to lie over them, and from when on, in order: numbers that grow, and 0 for nothing.
    var overlays: [(time: Double, value: Int)] = []

    /// From one vblank to the next as it is, in seconds.
    var refreshPeriod: Double { 1 / (refreshRate * (1 + displayError * 1e-6)) }

    /// A clip, by its pictures.
    struct Clip {
        /// When each begins, and where the last one ends, in seconds.
        var edges: [Double]
        /// The nominal rate, where there is one.
        var rate: Double?

        var count: Int { edges.count - 1 }
        /// The picture that is on at `time`, else the one nearest to it.
        func frame(at time: Double) -> Int { max(0, (edges.lastIndex { $0 <= time + 1e-9 } ?? 0)).clamped(to: 0...count - 1) }
    }

    /// What decoders die of.
    struct Deaths {
        /// Seconds from one death to the next, whatever is played.
        var interval: ClosedRange<Double>
        /// Which share of them happens while a clip is opened, and not in its middle.
        var shareOfOpenings: Double
        /// Each decoder of this clip dies of this picture.
        var badPicture: (clip: Int, frame: Int)?
    }

    /// How a clip opens; times are in seconds.
    struct Opening {
        /// Until `worksFrom` it fails, and takes so long for that.
        var failing = 0.0, worksFrom = 0.0
        /// What it takes from then on.
        var working = 0.01
        /// When it fails again.
        var worksUntil = Double.infinity

        func works(at time: Double) -> Bool { worksFrom <= time && time < worksUntil }
    }

    /// What happens; times are in seconds.
    enum Event {
        case decoderStalls(Double)
        case vblanksLost(Int)
        /// The next flip comes six vblanks late, and without an event: the output takes it for done then.
        case flipUnreported
        /// A vblank half-way between two, from which on they go on; and the next flip is reported twice.
        case vblankDoubled
        /// The driver turns out to count no vblanks.
        case vblanksUncounted
        case cardRunsDry(Double)
        /// Nobody gets to run for some seconds from the next commit on; the first thing told then is a wake.
        case everythingStops(Double)
        /// Nobody runs but display and card.
        case frozen(Double)
        case display(isConnected: Bool)
        case command(PlayerCommand)
    }
}

extension Scenario {
    private static let rates = [10, 12.5, 15, 24000.0 / 1001, 24, 25, 30000.0 / 1001, 30, 48, 50, 60000.0 / 1001, 60]
    private static let refreshRates = [24, 25, 30, 48, 50, 60000.0 / 1001, 60, 72, 75, 90, 100, 120, 144]

    /// A display, a card and a playlist like no other seed's.
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
        // Whoever converts and decodes keeps up.
        scenario.composeTime = number(0.0005...(0.6 / scenario.refreshRate))
        scenario.decodeShare = number(0.05...0.8)
        let rates = rates.filter { $0 <= scenario.refreshRate * 1.005 }
        // One rate for all items in half of the cases, so that the cadence has to hold across seams.
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
                // A key that is held down.
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
