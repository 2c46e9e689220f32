/// What becomes of interlaced video, whose frames consist of two fields that were taken one after the other.
package enum Deinterlace: String, Sendable, CaseIterable {
    /// A picture is made of each field: 25 frames a second are shown as 50 pictures.
    case auto
    /// The frames are shown as they are, with combs where something moves.
    case off
}
