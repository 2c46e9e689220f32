/// The encoder for the pictures of a film.
package enum EncoderSetting: String, Hashable, Sendable, CaseIterable {
    /// The processor if FFmpeg has an encoder for it, else the hardware.
    case automatic = "auto"
    /// The processor.
    case software
    /// The hardware if a device can, else the processor, with a note.
    case hardware
}
