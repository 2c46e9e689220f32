import CUdev

/// Listens for the kernel's announcements that a card or a connector changed. They are heard straight from the kernel and not from
/// udevd, which need not be running; where there is no netlink either, ``DisplayOutput``'s poll finds out.
struct HotplugMonitor: ~Copyable {
    private let udev: OpaquePointer
    private let monitor: OpaquePointer

    /// nil where the system has no uevents (some containers).
    static func open() -> HotplugMonitor? {
        guard let udev = udev_new() else { return nil }
        guard let monitor = udev_monitor_new_from_netlink(udev, "kernel") else {
            udev_unref(udev)
            return nil
        }
        for subsystem in ["drm", "graphics"] { udev_monitor_filter_add_match_subsystem_devtype(monitor, subsystem, nil) }
        guard udev_monitor_enable_receiving(monitor) >= 0 else {
            udev_monitor_unref(monitor)
            udev_unref(udev)
            return nil
        }
        return HotplugMonitor(udev: udev, monitor: monitor)
    }

    private init(udev: OpaquePointer, monitor: OpaquePointer) {
        self.udev = udev
        self.monitor = monitor
    }

    deinit {
        udev_monitor_unref(monitor)
        udev_unref(udev)
    }

    var descriptor: Int32 { udev_monitor_get_fd(monitor) }

    /// Whether anything was announced since the last call.
    func drain() -> Bool {
        var any = false
        while let device = udev_monitor_receive_device(monitor) {
            udev_device_unref(device)
            any = true
        }
        return any
    }
}
