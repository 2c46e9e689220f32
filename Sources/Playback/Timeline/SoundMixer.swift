import KioskMedia
import KioskPlatform
import Synchronization

/// Mixes the sound of several players. It is a renderer for one output, and stands between that output and each player's renderer.
///
/// Each player's queue counts its own frames from when it joined. The mixer passes the card's position, and frames rendered but not heard,
/// to all queues, so that all have one clock. A pause or a seek of one player interrupts the card; the others render again the frames they
/// get back.
final class SoundMixer: AudioRenderer {
    private struct Member {
        var number: Int
        var renderer: any AudioRenderer
        /// The number of frames rendered since the player joined: no more can be taken back.
        var rendered: Int64 = 0
        /// The number of times in a row that the player was not ready.
        var refusals = 0
    }

    private struct State {
        var members: [Member] = []
        var lastNumber = 0
        var hasStarted = false
        /// The samples of one player before they are added to the others'.
        var scratch: [Float] = []
    }

    private let format: AudioFormat
    private let state = Mutex(State())

    init(_ format: AudioFormat) { self.format = format }

    var hasStarted: Bool { state.withLock { $0.hasStarted } }

    /// Adds a player. Returns its number, and whether it is the first ever.
    func add(_ renderer: any AudioRenderer) -> (number: Int, isFirst: Bool) {
        state.withLock { state in
            state.lastNumber += 1
            state.members.append(Member(number: state.lastNumber, renderer: renderer))
            defer { state.hasStarted = true }
            return (state.lastNumber, !state.hasStarted)
        }
    }

    /// Removes a player.
    func remove(_ number: Int) { state.withLock { $0.members.removeAll { $0.number == number } } }

    /// The number of refusals after which the mixer no longer waits for a player: about a second, because an output asks every five
    /// milliseconds. No player has more sound than that on its way, and one whose stream has stopped must not block the others. The mixer
    /// waits for the first player without limit, as for a single one.
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

/// A sound card that several players share through a ``SoundMixer``.
///
/// When the last player has gone, the card goes on in silence until ``stop(by:)`` or the end of the last reference.
package final class SharedSound: Sendable {
    package let output: any PCMOutput
    private let mixer: SoundMixer
    private let hasEnded = Atomic(false)

    /// Shares `output`, which must not have been started.
    package init(_ output: any PCMOutput) {
        self.output = output
        mixer = SoundMixer(output.format)
    }

    /// Returns a player's own output to the card.
    package func connect() -> any PCMOutput { MixedOutput(self, output, mixer) }

    /// Stops the card after all players have stopped. Returns false if that takes longer.
    @discardableResult
    package func stop(by deadline: HostTime = .now + .seconds(4)) -> Bool {
        if !mixer.hasStarted || hasEnded.exchange(true, ordering: .relaxed) { return true }
        return output.stop(by: deadline)
    }

    deinit { stop() }
}

/// A player's output to a card that others may share.
private final class MixedOutput: PCMOutput {
    // Keeps the card alive: it may end with its last holder.
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
