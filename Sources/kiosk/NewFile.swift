import ArgumentParser
import Glibc
import KioskPlatform

/// A new file for a person; an existing file of that name stays unchanged.
struct NewFile: ~Copyable {
    private let file: Descriptor
    private let path: String

    /// Creates the file.
    ///
    /// - Throws: ValidationError if that fails.
    init(_ path: String, mode: mode_t) throws {
        guard let file = Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: mode) else {
            let error = SystemError()
            throw ValidationError(
                "\(path) cannot be written: \(error.code == EEXIST ? "it exists already; name another file" : "\(error)")")
        }
        self.file = file
        self.path = path
    }

    func write(_ text: String) throws {
        guard Array(text.utf8).withUnsafeBytes({ file.write($0) }) else {
            throw ValidationError("\(path) cannot be written: \(SystemError())")
        }
    }
}
