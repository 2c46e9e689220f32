import CKioskPlatform
import CKioskWebPage
import Glibc
import KioskPlatform

/// The files of the page, which are in the program.
struct StaticPage: Sendable {
    private struct File: Sendable {
        var type: String
        var tag: String
        var bytes: [UInt8]

        init(_ name: String, _ bytes: [UInt8]) {
            (type, self.bytes) = (StaticPage.type(of: name), bytes)
            tag = "\"\(SHA256.hexadecimal(bytes).prefix(32))\""
        }
    }

    private let files: [String: File]
    /// Where files are read anew for each request; nil for those in the program.
    private let folder: String?

    init(folder: String? = nil) {
        self.folder = folder
        var files: [String: File] = [:]
        for index in 0..<(folder == nil ? kiosk_page_count : 0) {
            guard let file = kiosk_page_file(index)?.pointee else { continue }
            let bytes = Array(UnsafeRawBufferPointer(start: file.bytes, count: file.count))
            let name = String(cString: file.name)
            files[name] = File(name, bytes)
        }
        self.files = files
    }

    /// The names of the files.
    var names: [String] { files.keys.sorted() }

    fileprivate static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "webmanifest": "application/manifest+json"
        default: "application/octet-stream"
        }
    }

    private func read(_ name: String, in folder: String) -> File? {
        guard let root = Descriptor(opening: folder, O_RDONLY | O_DIRECTORY),
            let file = Descriptor(adopting: kiosk_open_beneath(root.raw, name)), let bytes = file.read(atMost: 4 << 20)
        else { return nil }
        return File(name, bytes)
    }

    /// Answers a request for a file; `/` is index.html.
    func answer(_ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        let name = request.path.isEmpty ? "index.html" : request.path.joined(separator: "/")
        guard let file = folder.map({ read(name, in: $0) }) ?? files[name] else {
            throw APIError(404, "no-such-path", "there is no such page")
        }
        guard !request.method.isUnsafe else { throw APIError(405, "wrong-method", "a page can only be read") }
        let isSame = request.header("if-none-match")?.split(separator: ",").contains { $0.drop { $0 == " " } == file.tag } ?? false
        // no-cache: a browser keeps it, and asks each time whether it is still the same.
        return HTTPResponse(isSame ? 304 : 200, file.type, isSame ? [] : file.bytes).header("ETag", file.tag).header(
            "Cache-Control", "no-cache")
    }
}
