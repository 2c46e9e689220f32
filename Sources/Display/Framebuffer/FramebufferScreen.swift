import CKioskDisplay
import Glibc
import KioskPlatform
import KioskPlayback

/// An open, mapped framebuffer device (`/dev/fb0`), in a format to which kiosk can convert pictures.
struct FramebufferDevice: ~Copyable {
    let path: String
    let width: Int, height: Int
    let refresh: Double
    let format: ScanoutFormat
    /// Bytes per row.
    let stride: Int
    /// The number of screens that fit into the device's memory one below the other, for panning; at least 1.
    let pages: Int
    let base: UnsafeMutableRawPointer
    private let descriptor: Descriptor
    private let mapped: UnsafeMutableRawBufferPointer
    private var information: fb_var_screeninfo

    /// Opens and maps the device. `enlarging` makes room for panning if the driver has the memory.
    static func open(_ path: String, enlarging: Bool = true) throws(DeviceError) -> FramebufferDevice {
        let descriptor = try Descriptor.open(path)
        var screen = fb_var_screeninfo()
        var fixed = fb_fix_screeninfo()
        guard ioctl(descriptor.raw, UInt(FBIOGET_VSCREENINFO), &screen) == 0, ioctl(descriptor.raw, UInt(FBIOGET_FSCREENINFO), &fixed) == 0
        else { throw DeviceError("read the state of \(path)") }
        guard let format = ScanoutFormat(screen) else {
            throw DeviceError("use \(path), \(ScanoutFormat.reason(screen))", code: EOPNOTSUPP)
        }
        let (width, height, stride) = (Int(screen.xres), Int(screen.yres), Int(fixed.line_length))
        let bytes = Int(fixed.smem_len)
        guard width > 0, height > 0, stride >= width * format.bytesPerPixel, bytes >= stride * height else {
            throw DeviceError("use \(path), which describes no picture", code: EINVAL)
        }
        // The kernel maps whole pages, and the memory may begin in the middle of the first one. Firmware may align it to 4 KiB, and pages
        // can have 16 or 64.
        let margin = Int(fixed.smem_start % UInt(getpagesize()))
        guard let start = mmap(nil, margin + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.raw, 0), start != MAP_FAILED else {
            throw DeviceError("map \(path)")
        }
        if enlarging, fixed.ypanstep > 0, bytes / stride >= 2 * height, Int(screen.yres_virtual) < 2 * height {
            var larger = screen
            larger.yres_virtual = UInt32(min(bytes / stride / height, bufferCount) * height)
            if ioctl(descriptor.raw, UInt(FBIOPUT_VSCREENINFO), &larger) == 0 {
                _ = ioctl(descriptor.raw, UInt(FBIOGET_VSCREENINFO), &screen)
            }
        }
        let pages = fixed.ypanstep > 0 ? max(min(Int(screen.yres_virtual), bytes / stride) / height, 1) : 1
        return FramebufferDevice(
            path: path, width: width, height: height, refresh: refresh(screen), format: format, stride: stride, pages: pages,
            base: start + margin, descriptor: descriptor, mapped: UnsafeMutableRawBufferPointer(start: start, count: margin + bytes),
            information: screen)
    }

    deinit { munmap(mapped.baseAddress, mapped.count) }

    /// The first visible pixel.
    var offset: (x: Int, y: Int) { (Int(information.xoffset), Int(information.yoffset)) }
    /// The size of the display; nil if the driver states none or an implausible one.
    var measures: PhysicalMeasures? {
        let said = PhysicalMeasures(width: Double(information.width), height: Double(information.height))
        return PhysicalMeasures.believable([said], pixels: (width, height))
    }
    /// Whether the picture does not start at the first pixel of the memory.
    var isPanned: Bool { information.xoffset != 0 || information.yoffset != 0 }

    /// Switches the display on if the console has blanked it. The corresponding C call is `ioctl(FBIOBLANK)`; drivers that cannot blank
    /// refuse it.
    func unblank() { _ = ioctl(descriptor.raw, UInt(FBIOBLANK), Int32(FB_BLANK_UNBLANK)) }

    /// Switches the display off. The corresponding C call is `ioctl(FBIOBLANK)`.
    func powerDown() throws(DeviceError) {
        guard ioctl(descriptor.raw, UInt(FBIOBLANK), Int32(FB_BLANK_POWERDOWN)) == 0 else { throw DeviceError("switch \(path) off") }
    }

    /// Shows the memory from the pixel at `x`, `y` on. The corresponding C call is `ioctl(FBIOPAN_DISPLAY)`.
    mutating func pan(toX x: Int = 0, y: Int) throws(DeviceError) {
        (information.xoffset, information.yoffset) = (UInt32(x), UInt32(y))
        information.activate = UInt32(FB_ACTIVATE_VBL)
        guard ioctl(descriptor.raw, UInt(FBIOPAN_DISPLAY), &information) == 0 else { throw DeviceError("pan \(path)") }
    }

    /// Whether the device is still the opened one.
    func isAlive() -> Bool {
        var screen = fb_var_screeninfo()
        return ioctl(descriptor.raw, UInt(FBIOGET_VSCREENINFO), &screen) == 0 && screen.xres == information.xres
            && screen.yres == information.yres && screen.bits_per_pixel == information.bits_per_pixel
    }

    /// Returns the refresh rate of the device's own timings, in Hz; 60 if they are missing or implausible.
    static func refresh(_ screen: fb_var_screeninfo) -> Double {
        guard screen.pixclock > 0 else { return 60 }
        func sum(_ lengths: UInt32...) -> Double { lengths.reduce(0) { $0 + Double($1) } }
        let across = sum(screen.xres, screen.left_margin, screen.right_margin, screen.hsync_len)
        let down = sum(screen.yres, screen.upper_margin, screen.lower_margin, screen.vsync_len)
        let hertz = 1e12 / Double(screen.pixclock) / across / down
        return (20...250).contains(hertz) ? hertz : 60
    }
}

extension ScanoutFormat {
    /// Creates the format from the description of a device's pixels: their bits, and the position of the colours. nil if kiosk does not
    /// know it. Pure.
    init?(_ screen: fb_var_screeninfo) {
        let (red, green, blue) = (screen.red, screen.green, screen.blue)
        let lengths = (red.length, green.length, blue.length)
        switch (screen.bits_per_pixel, red.offset, green.offset, blue.offset) {
        case (32, 16, 8, 0) where lengths == (8, 8, 8): self = .xrgb8888
        case (32, 0, 8, 16) where lengths == (8, 8, 8): self = .xbgr8888
        case (16, 11, 5, 0) where lengths == (5, 6, 5): self = .rgb565
        default: return nil
        }
        guard screen.grayscale == 0, max(red.msb_right, green.msb_right, blue.msb_right) == 0 else { return nil }
    }

    /// Returns why kiosk cannot use a device, and the remedy.
    static func reason(_ screen: fb_var_screeninfo) -> String {
        func part(_ field: fb_bitfield) -> String { "\(field.length) at \(field.offset)" }
        let bits = screen.bits_per_pixel
        let depth = bits == 32 || bits == 16 ? "another layout" : "32 or 16 bits"
        return """
            whose pixels have \(bits) bits (red \(part(screen.red)), green \(part(screen.green)), blue \(part(screen.blue))); kiosk draws \
            32 bits with 8 a colour, red or blue first, and 16 with 5, 6, 5: set \(depth) with fbset or in the kernel's options
            """
    }
}

/// A framebuffer device as a screen. It reports no vblanks, so a timer paces it. It pans between pictures if its memory holds two or more;
/// else it copies finished pictures in.
final class FramebufferScreen: PacedScreen {
    let mode: DisplayMode
    let buffers: [ScanoutBuffer]
    let reportsVblank = false
    private let mapping: Mapping
    var paced: PacedFlip
    /// The former content of the device, and its first visible pixel.
    private var former: [UInt8]
    private let formerOffset: (x: Int, y: Int)

    /// The device, shared by the screen and its buffers.
    private final class Mapping {
        private(set) var device: FramebufferDevice
        init(_ device: consuming FramebufferDevice) { self.device = device }
        func pan(toX x: Int = 0, y: Int) throws(DeviceError) { try device.pan(toX: x, y: y) }
    }

    /// Takes the device over and shows the background colour.
    init(_ device: consuming FramebufferDevice, background: UInt32) {
        let (width, height, stride, format) = (device.width, device.height, device.stride, device.format)
        mode = DisplayMode(device.path, ConnectorMode(width: width, height: height, refresh: device.refresh), device.measures)
        paced = PacedFlip(VblankGrid(origin: .now, refresh: device.refresh))
        formerOffset = device.offset
        former = Array(UnsafeRawBufferPointer(start: device.base, count: stride * height * device.pages))
        let pages = device.pages
        let mapping = Mapping(device)
        self.mapping = mapping
        if pages > 1 {
            buffers = (0..<min(pages, bufferCount)).map { page in
                ScanoutBuffer(
                    pixels: PixelMemory(
                        base: mapping.device.base + page * stride * height, stride: stride, width: width, height: height, format: format),
                    owner: mapping)
            }
        } else {
            buffers = (0..<bufferCount).map { _ in MemoryBuffer(width: width, height: height, format: format) }
        }
        if pages == 1, mapping.device.isPanned { try? mapping.pan(y: 0) }
        buffers[0].clear(to: background)
        try? show(0)
        mapping.device.unblank()
    }

    /// Whether the device is still the opened one.
    var isAlive: Bool { mapping.device.isAlive() }

    func collect(at now: HostTime) -> ScreenReport? {
        guard let (buffer, flip) = paced.collect(at: now) else { return nil }
        do throws(DeviceError) {
            try show(buffer)
            return .flipped(Flip(id: flip.id, time: flip.time, sequence: nil))
        } catch { return .lost(error) }
    }

    /// Black first: a driver that cannot blank keeps showing the last picture.
    func turnOff() throws(DeviceError) {
        buffers[0].clear(to: 0)
        try show(0)
        try mapping.device.powerDown()
    }

    private func show(_ buffer: Int) throws(DeviceError) {
        let pixels = buffers[buffer].pixels
        guard buffers[buffer] is MemoryBuffer else { return try mapping.pan(y: buffer * pixels.height) }
        let row = pixels.width * pixels.format.bytesPerPixel
        for y in 0..<pixels.height { memcpy(mapping.device.base + y * mapping.device.stride, pixels.base + y * pixels.stride, row) }
    }

    func restore() {
        former.withUnsafeBytes { mapping.device.base.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
        if !(buffers[0] is MemoryBuffer) || formerOffset != (0, 0) { try? mapping.pan(toX: formerOffset.x, y: formerOffset.y) }
    }
}
