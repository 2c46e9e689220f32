import Glibc

/// Owns a file descriptor.
struct Descriptor: ~Copyable {
    let raw: Int32

    init(adopting raw: Int32) { self.raw = raw }

    /// Opens a device, close-on-exec. The corresponding C function is `open`.
    static func open(_ path: String, _ flags: Int32 = O_RDWR) throws(DeviceError) -> Descriptor {
        let raw = Glibc.open(path, flags | O_CLOEXEC)
        guard raw >= 0 else { throw DeviceError("open \(path)") }
        return Descriptor(adopting: raw)
    }

    deinit { Glibc.close(raw) }
}

/// A call to a device that failed.
struct DeviceError: Error, CustomStringConvertible {
    /// What was being done to what.
    var action: String
    /// The C error number.
    var code: Int32

    /// With `errno`, or with the negative error number that libdrm's functions return.
    init(_ action: String, code: Int32 = errno) {
        self.action = action
        self.code = abs(code)
    }

    var description: String { "\(action): \(String(cString: strerror(code)))" }
}
