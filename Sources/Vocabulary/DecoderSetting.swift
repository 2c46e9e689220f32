/// What decodes the pictures of an item.
package enum DecoderSetting: String, Hashable, Sendable, CaseIterable {
    /// The hardware where a device can, else software.
    case automatic = "auto"
    /// The processor.
    case software
    /// As ``automatic``, and a warning where no device can.
    case hardware
}
