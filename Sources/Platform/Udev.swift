import CKioskUdev
import Glibc

/// Reports that devices appear, disappear or change. The corresponding C type is `struct udev_monitor`.
///
/// If udevd runs, it receives udevd's events, which come after the permissions are set; otherwise the kernel's. Some containers have
/// neither, so the caller must also poll. Belongs to one thread.
package struct HotplugMonitor: ~Copyable {
    private let udev: OpaquePointer
    private let monitor: OpaquePointer

    /// Listens for devices of these subsystems (`drm`, `input`); nil without netlink.
    package static func open(subsystems: [String]) -> HotplugMonitor? {
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

    deinit {
        udev_monitor_unref(monitor)
        udev_unref(udev)
    }

    /// The descriptor to poll: readable if there is an event.
    package var descriptor: Int32 { udev_monitor_get_fd(monitor) }

    /// Takes all events; returns whether there were any. Does not wait.
    package func drain() -> Bool {
        var any = false
        while let device = udev_monitor_receive_device(monitor) {
            udev_device_unref(device)
            any = true
        }
        return any
    }
}

/// The properties of devices in udev's database. The corresponding C type is `struct udev_device`.
package enum DeviceProperties {
    /// Returns these properties of the character device at `path`; none if udevd does not run. nil if udevd runs, but has not processed the
    /// device yet: its event will follow (``HotplugMonitor``).
    package static func of(_ path: String, names: [String]) -> [String: String]? {
        guard let status = stat(at: path), let udev = udev_new() else { return [:] }
        defer { udev_unref(udev) }
        guard let device = udev_device_new_from_devnum(udev, CChar(UInt8(ascii: "c")), status.st_rdev) else { return [:] }
        defer { udev_device_unref(device) }
        if udev_device_get_is_initialized(device) <= 0, access("/run/udev/control", F_OK) == 0 { return nil }
        var properties: [String: String] = [:]
        for name in names {
            if let value = udev_device_get_property_value(device, name) { properties[name] = String(cString: value) }
        }
        return properties
    }
}
