/// The YUV memory of an output's slots: a buffer for each slot, for each of the last two picture sizes. Buffers are made at their first
/// use.
///
/// Belongs to the compositor thread.
struct VideoBuffers {
    /// The kind of picture that a buffer is for.
    struct Size: Hashable {
        var format: VideoFormat
        var width: Int, height: Int
        var forScaling: Bool
    }

    private struct Set {
        var size: Size
        var buffers: InlineArray<8, VideoBuffer?>
    }

    /// The most recently used first.
    private var sets: [Set] = []
    static let mostSizes = 2

    /// Returns the buffer of a slot, 0…7; nil if there is none yet.
    func buffer(_ size: Size, _ slot: Int) -> VideoBuffer? {
        if let first = sets.first, first.size == size { return first.buffers[slot] }
        return sets.first { $0.size == size }?.buffers[slot]
    }

    /// Keeps a buffer for a slot. Drops the buffers of the least recently used size if there are too many sizes.
    mutating func keep(_ buffer: VideoBuffer, _ size: Size, _ slot: Int) {
        use(size)
        sets[0].buffers[slot] = buffer
    }

    /// Marks a size as the most recently used.
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
