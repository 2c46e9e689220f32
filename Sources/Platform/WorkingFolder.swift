import Glibc

/// The folder that relative paths are relative to; `/` where it has been deleted. The corresponding C function is `getcwd`.
package var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "/" }
    defer { free(path) }
    return String(cString: path)
}
