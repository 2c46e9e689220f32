import CKioskUdev
import Glibc

/// What udev knows of a device. The corresponding C type is `struct udev_device`.
package enum DeviceProperties {
    /// The properties of these names of the character device at `path`, as udev's database has them; none where udevd does not run. nil
    /// where it does and has not come to the device yet: then it will be announced (``HotplugMonitor``).
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
