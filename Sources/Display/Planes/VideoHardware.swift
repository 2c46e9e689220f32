import KioskMedia
import KioskPlayback

/// What planes for video need of a card: ``KMSPlanes``. Compositor thread, but where it says otherwise.
protocol VideoHardware: AnyObject, Sendable {
    /// The driver's name.
    var driver: String { get }
    /// Pixels of the screen.
    var width: Int { get }
    var height: Int { get }
    /// Which planes there are now for the picture and what lies behind it, besides those that drawn pictures have.
    func planner(besides taken: [PlaneID]) -> PlanePlanner
    /// The properties of a plane.
    func properties(of plane: PlaneID) -> PlaneProperties
    /// Memory for pictures of this size. With `forScaling` libswscale may write there. Any thread.
    func makeBuffer(_ format: VideoFormat, width: Int, height: Int, forScaling: Bool) throws(DeviceError) -> VideoBuffer
    /// A whole screen of one colour.
    func makeBackground(_ colour: UInt32) throws(DeviceError) -> BackgroundBuffer
    /// Makes a hardware decoder's memory a framebuffer, which keeps it alive.
    func importSurface(_ frame: borrowing VideoFrame) throws(DeviceError) -> ImportedSurface
    /// Asks the driver whether it would show a picture without a modeset.
    func test(_ show: VideoShow) throws(DeviceError)
    /// Pictures are shown so from now on; nil: converted. The planes `former` show other ones still.
    func shows(_ arrangement: VideoArrangement?, besides former: [PlaneID])
}
