/// The one sound format from the decoders to the output, for the life of the process: interleaved 32-bit float, nominal range −1…1.
package struct AudioFormat: Hashable, Sendable {
    /// Frames (one sample for each channel) a second.
    package var sampleRate: Int
    /// Samples a frame; 2 is left and right.
    package var channelCount: Int

    /// Creates a format from its parts.
    package init(sampleRate: Int, channelCount: Int) {
        self.sampleRate = sampleRate
        self.channelCount = channelCount
    }
}
