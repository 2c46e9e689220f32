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

    /// The buffer of a slot, 0…7; `make` makes it.
    mutating func buffer(
        _ size: Size, _ slot: Int, make: () throws(DeviceError) -> VideoBuffer
    ) throws(DeviceError) -> VideoBuffer {
        if sets.first?.size != size {
            if let index = sets.firstIndex(where: { $0.size == size }) {
                sets.swapAt(0, index)
            } else {
                if sets.count == Self.mostSizes { sets.removeLast() }
                sets.insert(Set(size: size, buffers: InlineArray(repeating: nil)), at: 0)
            }
        }
        if let buffer = sets[0].buffers[slot] { return buffer }
        let fresh = try make()
        sets[0].buffers[slot] = fresh
        return fresh
    }
}
