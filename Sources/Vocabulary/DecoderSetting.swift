/// The decoder for the pictures of an item.
package enum DecoderSetting: String, Hashable, Sendable, CaseIterable {
    /// The hardware if a device can, else software.
    case automatic = "auto"
    /// The processor.
    case software
    /// The same as ``automatic``, with a warning if no device can.
    case hardware
}
