/// The YUV memory of an output's slots: for each of the last two sizes of picture a buffer for each slot, made when it is first needed.
///
/// Belongs to the compositor thread.
struct VideoBuffers {
    /// What a buffer is made for.
    struct Size: Hashable {
        var format: VideoFormat
        var width: Int, height: Int
        var forScaling: Bool
    }

    private struct Set {
        var size: Size
        var buffers: InlineArray<8, VideoBuffer?>
    }

    /// What was used last comes first.
    private var sets: [Set] = []
    static let mostSizes = 2

    /// The buffer of a slot, 0…7; nil where there is none yet.
    func buffer(_ size: Size, _ slot: Int) -> VideoBuffer? {
        if let first = sets.first, first.size == size { return first.buffers[slot] }
        return sets.first { $0.size == size }?.buffers[slot]
    }

    /// Keeps a buffer for a slot, instead of those of the size that was used the longest ago where there are too many.
    mutating func keep(_ buffer: VideoBuffer, _ size: Size, _ slot: Int) {
        use(size)
        sets[0].buffers[slot] = buffer
    }

    /// A size is used now.
    mutating func use(_ size: Size) {
        if sets.first?.size == size { return }
        if let index = sets.firstIndex(where: { $0.size == size }) {
            sets.swapAt(0, index)
            return
        }
        if sets.count == Self.mostSizes { sets.removeLast() }
        sets.insert(Set(size: size, buffers: InlineArray(repeating: nil)), at: 0)
    }
}
