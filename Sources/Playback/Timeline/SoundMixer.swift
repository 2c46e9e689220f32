import KioskMedia
import KioskPlatform
import Synchronization

/// Mixes what several players have to be heard: it renders for one output, and is for each of them what the output is to one.
///
/// Each player's queue counts its own frames from when it came; where the card is, and what was rendered and not heard, is told to all, so that
/// all have one clock. A pause or a seek of one interrupts the card: the others render again what they have been given back.
final class SoundMixer: AudioRenderer {
    private struct Member {
        var number: Int
        var renderer: any AudioRenderer
        /// Frames rendered since it came: no more can be taken back.
        var rendered: Int64 = 0
        /// How often it was asked whether it is ready since it last was.
        var refusals = 0
    }

    private struct State {
        var members: [Member] = []
        var lastNumber = 0
        var hasStarted = false
        /// What one of several has rendered.
        var scratch: [Float] = []
    }

    private let format: AudioFormat
    private let state = Mutex(State())

    init(_ format: AudioFormat) { self.format = format }

    var hasStarted: Bool { state.withLock { $0.hasStarted } }

    /// A player comes. Returns its number, and whether it is the first ever.
    func add(_ renderer: any AudioRenderer) -> (number: Int, isFirst: Bool) {
        state.withLock { state in
            state.lastNumber += 1
            state.members.append(Member(number: state.lastNumber, renderer: renderer))
            defer { state.hasStarted = true }
            return (state.lastNumber, !state.hasStarted)
        }
    }

    /// A player goes.
    func remove(_ number: Int) { state.withLock { $0.members.removeAll { $0.number == number } } }

    /// The first player is waited for as one alone is, and others for about a second, as an output asks each five milliseconds: more sound than that
    /// is on its way to none, and one whose stream has stopped must not keep the others' from the card.
    private static let mostRefusals = 200

    func isReady(frames: Int) -> Bool {
        state.withLock { state in
            var isReady = true
            for index in state.members.indices {
                if state.members[index].renderer.isReady(frames: frames) {
                    state.members[index].refusals = 0
                } else {
                    state.members[index].refusals += 1
                    if index == 0 || state.members[index].refusals <= Self.mostRefusals { isReady = false }
                }
            }
            return isReady
        }
    }

    func render(into samples: UnsafeMutableBufferPointer<Float>) {
        state.withLock { state in
            let frames = Int64(samples.count / format.channelCount)
            for index in state.members.indices { state.members[index].rendered += frames }
            guard let first = state.members.first else {
                unsafe samples.initialize(repeating: 0)
                return
            }
            unsafe first.renderer.render(into: samples)
            if state.members.count == 1 { return }
            if state.scratch.count < samples.count { state.scratch = [Float](repeating: 0, count: samples.count) }
            for index in 1..<state.members.count {
                let renderer = state.members[index].renderer
                unsafe state.scratch.withUnsafeMutableBufferPointer { scratch in
                    let part = unsafe UnsafeMutableBufferPointer(rebasing: scratch[0..<samples.count])
                    unsafe renderer.render(into: part)
                    for sample in 0..<samples.count { unsafe samples[sample] += part[sample] }
                }
            }
        }
    }

    func takeBack(frames: Int) {
        state.withLock { state in
            for index in state.members.indices {
                let own = min(Int64(frames), state.members[index].rendered)
                state.members[index].rendered -= own
                state.members[index].renderer.takeBack(frames: Int(own))
            }
        }
    }

    func report(unheard: Int, at time: HostTime) {
        state.withLock { state in for member in state.members { member.renderer.report(unheard: unheard, at: time) } }
    }
}

/// A sound card that several players have at the same time, by a ``SoundMixer``.
///
/// It goes on, in silence, when the last player has gone, until it is ended (``stop(by:)``) or nobody has it any more.
package final class SharedSound: Sendable {
    package let output: any PCMOutput
    private let mixer: SoundMixer
    private let hasEnded = Atomic(false)

    /// Shares `output`, which nobody has started.
    package init(_ output: any PCMOutput) {
        self.output = output
        mixer = SoundMixer(output.format)
    }

    /// A player's own way to the card.
    package func connect() -> any PCMOutput { MixedOutput(self, output, mixer) }

    /// Ends it, once all players have been stopped; false where that takes longer.
    @discardableResult
    package func stop(by deadline: HostTime = .now + .seconds(4)) -> Bool {
        if !mixer.hasStarted || hasEnded.exchange(true, ordering: .relaxed) { return true }
        return output.stop(by: deadline)
    }

    deinit { stop() }
}

/// A player's way to a card that others may have, too.
private final class MixedOutput: PCMOutput {
    // Held, as the card may end with the last who has it.
    private let owner: SharedSound
    private let output: any PCMOutput
    private let mixer: SoundMixer
    private let number = Mutex<Int?>(nil)

    init(_ owner: SharedSound, _ output: any PCMOutput, _ mixer: SoundMixer) {
        (self.owner, self.output, self.mixer) = (owner, output, mixer)
    }

    var format: AudioFormat { output.format }
    var name: String { output.name }
    var underruns: Int { output.underruns }

    func start(_ renderer: any AudioRenderer) {
        let (added, isFirst) = mixer.add(renderer)
        number.withLock { $0 = added }
        if isFirst { output.start(mixer) }
    }

    func interrupt() { output.interrupt() }
    func standIn() { output.standIn() }

    func stop(by deadline: HostTime) -> Bool {
        guard let number = number.withLock({ $0.take() }) else { return true }
        mixer.remove(number)
        output.interrupt()
        return true
    }
}
