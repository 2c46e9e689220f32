/// What encodes the pictures of a film.
package enum EncoderSetting: String, Hashable, Sendable, CaseIterable {
    /// The processor where FFmpeg has an encoder for that, else the hardware.
    case automatic = "auto"
    /// The processor.
    case software
    /// The hardware where a device can, else the processor, which is said.
    case hardware
}
