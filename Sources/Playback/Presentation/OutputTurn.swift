/// A player's turn with an output. The compositor and the presenter hold it, and nobody else: when both have let go of it, whichever way they
/// ended, what they had prepared and not committed goes back to the output, and another player may have it.
final class OutputTurn: Sendable {
    let output: any VideoOutput

    init(_ output: any VideoOutput) { self.output = output }

    deinit { output.endTurn() }
}
