import CUdev
import Glibc

/// Says when devices come, go or change. The corresponding C type is `struct udev_monitor`.
///
/// Where udevd runs, its own announcements are heard: they come when the permissions are set. Without it, the kernel's. In some containers
/// there is neither, so whoever listens must look by himself every now and then, too. Belongs to one thread.
public struct HotplugMonitor: ~Copyable {
    private let udev: OpaquePointer
    private let monitor: OpaquePointer

    /// Begins to listen for devices of these subsystems (`drm`, `input`); nil where there is no netlink to listen on.
    public static func open(subsystems: [String]) -> HotplugMonitor? {
        guard let udev = udev_new() else { return nil }
        let source = access("/run/udev/control", F_OK) == 0 ? "udev" : "kernel"
        guard let monitor = udev_monitor_new_from_netlink(udev, source) else {
            udev_unref(udev)
            return nil
        }
        let opened = HotplugMonitor(udev: udev, monitor: monitor)
        for subsystem in subsystems { udev_monitor_filter_add_match_subsystem_devtype(monitor, subsystem, nil) }
        guard udev_monitor_enable_receiving(monitor) >= 0 else { return nil }
        return opened
    }

    private init(udev: OpaquePointer, monitor: OpaquePointer) {
        self.udev = udev
        self.monitor = monitor
    }

    deinit {
        udev_monitor_unref(monitor)
        udev_unref(udev)
    }

    /// Readable when there is an announcement.
    public var descriptor: Int32 { udev_monitor_get_fd(monitor) }

    /// Takes the announcements; whether there were any.
    public func drain() -> Bool {
        var any = false
        while let device = udev_monitor_receive_device(monitor) {
            udev_device_unref(device)
            any = true
        }
        return any
    }
}
