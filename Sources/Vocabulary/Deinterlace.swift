/// The treatment of interlaced video, whose frames consist of two fields that were taken one after the other.
package enum Deinterlace: String, Sendable, CaseIterable {
    /// Makes a picture of each field: 25 frames a second become 50 pictures.
    case auto
    /// Shows the frames as they are, with combs at moving edges.
    case off
}
