internal import KioskMedia
internal import KioskPlatform
internal import KioskPlayback
internal import Synchronization

/// Mixes what several players have to be heard: it renders for one output, and is for each of them what the output is to one.
///
/// Each player's queue counts its own frames from when it came; where the card is, and what was rendered and not heard, is told to all, so that
/// all have one clock. A pause or a seek of one interrupts the card: the others render again what they have been given back.
final class PlayerMixer: AudioRenderer {
    private struct Member {
        var number: Int
        var renderer: any AudioRenderer
        /// Frames rendered since it came: no more can be taken back.
        var rendered: Int64 = 0
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

    func isReady(frames: Int) -> Bool { state.withLock { state in state.members.allSatisfy { $0.renderer.isReady(frames: frames) } } }

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
