import CUdev
import Glibc

/// The evdev nodes of /dev/input, looked at again and again.
enum InputFolder {
    static let path = "/dev/input"

    /// A node at a moment: another device, or other permissions, make another node of the same path.
    struct Node: Hashable {
        var path: String
        var inode: UInt
        var changed: Int64

        /// The number in `event7`, by which nodes are sorted.
        var number: Int { Int(path.drop { !$0.isNumber }) ?? 0 }
    }

    /// The nodes there are now; none where there is no such folder.
    static func nodes() -> [Node] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var result: [Node] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.hasPrefix("event") else { continue }
            var status = stat()
            guard stat("\(path)/\(name)", &status) == 0 else { continue }
            let changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
            result.append(Node(path: "\(path)/\(name)", inode: UInt(status.st_ino), changed: changed))
        }
        return result.sorted { $0.number < $1.number }
    }
}

/// Says when input devices come and go. The corresponding C type is `struct udev_monitor`.
///
/// Where udevd runs, its own announcements are heard: they come when the permissions are set. Without it, the kernel's. In a
/// container neither may arrive; the folder is looked at every two seconds anyway.
struct HotplugMonitor: ~Copyable {
    private let context: OpaquePointer?
    private let monitor: OpaquePointer?

    /// Begins to listen; where there is no netlink to listen on, it never hears anything.
    init() {
        let context = udev_new()
        let source = access("/run/udev/control", F_OK) == 0 ? "udev" : "kernel"
        let monitor = context == nil ? nil : udev_monitor_new_from_netlink(context, source)
        self.context = context
        self.monitor = monitor
        if monitor != nil {
            udev_monitor_filter_add_match_subsystem_devtype(monitor, "input", nil)
            udev_monitor_enable_receiving(monitor)
        }
    }

    deinit {
        if monitor != nil { udev_monitor_unref(monitor) }
        if context != nil { udev_unref(context) }
    }

    /// Ready to be read when something came or went; -1 where nothing is heard.
    var descriptor: Int32 { monitor == nil ? -1 : udev_monitor_get_fd(monitor) }

    /// Takes the announcements; whether there were any.
    func drain() -> Bool {
        guard monitor != nil else { return false }
        var any = false
        while let device = udev_monitor_receive_device(monitor) {
            udev_device_unref(device)
            any = true
        }
        return any
    }
}
