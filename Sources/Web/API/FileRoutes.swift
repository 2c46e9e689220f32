import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import KioskVocabulary

/// The files of the content folder, and uploads to it.
struct FileRoutes: Sendable {
    /// Returns the configuration that holds now.
    let configuration: @Sendable () -> Configuration
    let player: PlayerLink
    let kiosk: KioskProgram
    let uploads: Uploads
    let thumbnails: Thumbnails

    /// `thumbnails` is the folder that keeps these; nil for none.
    init(configuration: @escaping @Sendable () -> Configuration, player: PlayerLink, kiosk: KioskProgram, thumbnails: String?) {
        (self.configuration, self.player, self.kiosk) = (configuration, player, kiosk)
        (uploads, self.thumbnails) = (Uploads(kiosk: kiosk), Thumbnails(folder: thumbnails, kiosk: kiosk))
    }

    /// The folder of `[web] folder`, else the first folder of the playlist.
    private func folder() throws(APIError) -> ContentFolder {
        let configuration = configuration()
        let candidates = configuration.web.folder.map { [$0] } ?? configuration.playlist.map(\.source.location)
        let path = candidates.first { path in path.hasPrefix("/") && stat(at: path)?.isFolder == true }
        guard let path else {
            throw APIError(404, "no-folder", "no entry of the playlist is a folder: name one in [web] folder of kiosk.conf")
        }
        return ContentFolder(path: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path)
    }

    /// The paths of the player's playlist; none without a player.
    private func playlist() -> Set<Path> {
        guard case .array(let items)? = try? player.ask("playlist list").answer["items"] else { return [] }
        return Set(items.compactMap { $0["source"]?.text.map { Path($0) } })
    }

    private static let file = JSONValue(
        #"{"type":"object","properties":{"name":{"type":"string"},"bytes":{"type":"integer"},"modified":{"type":"string"},"#
            + #""playlist":{"type":"boolean"},"thumbnail":{"type":["string","null"]}}}"#)!
    private static let uploadBody = JSONValue(
        #"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":200},"bytes":{"type":"integer","minimum":1},"#
            + #""replace":{"type":"boolean"}},"required":["name","bytes"],"additionalProperties":false}"#)!
    private static let nameBody = JSONValue(
        #"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}"#)!
    private static let urlBody = JSONValue(
        #"{"type":"object","properties":{"url":{"type":"string","format":"uri"},"name":{"type":"string"}},"required":["url"],"#
            + #""additionalProperties":false}"#)!

    var routes: [Route] {
        [
            Route(.get, "files", "List the files of the content folder, and the room that there is.", scope: .view) { _ throws(APIError) in
                let (folder, listed) = (try folder(), playlist())
                let files = try folder.entries().map { entry in
                    entry.shown(isOnPlaylist: listed.contains(Path(folder.path + "/" + entry.name.text)))
                }
                return .json(
                    200,
                    .object([
                        "files": .array(files), "free": (statvfs(at: folder.path)?.free ?? 0).json, "largest": folder.room.json,
                        "root": folder.path.json,
                    ]))
            },
            Route(.delete, "files/{name}", "Delete a file of the content folder.", scope: .content) { request throws(APIError) in
                try folder().delete(MediaName(request.values["name"] ?? ""))
                return .json(200, .object([:]))
            },
            Route(.post, "files/{name}", "Rename a file of the content folder.", scope: .content) { request throws(APIError) in
                guard let name = try request.object()["name"]?.text else {
                    throw APIError(400, "missing-parameter", "expected a text \"name\"")
                }
                let (folder, new) = (try folder(), try MediaName(name))
                try folder.rename(MediaName(request.values["name"] ?? ""), to: new)
                return .json(200, try shown(new, folder))
            }.with { ($0.body, $0.answer) = (Self.nameBody, Self.file) },
            Route(.get, "thumbnails/{name}", "A small picture of a file of the content folder.", scope: .view) { request throws(APIError) in
                let (folder, name) = (try folder(), try MediaName(request.values["name"] ?? ""))
                guard let entry = try folder.entry(name) else { throw folder.refusal("read", code: ENOENT) }
                return HTTPResponse(200, "image/png", try thumbnails.picture(entry, in: folder)).header(
                    "Cache-Control", "private, max-age=600")
            }.with { $0.type = "image/png" },
            Route(.post, "uploads", "Begin an upload to the content folder.", scope: .content) { request throws(APIError) in
                let members = try request.object()
                guard let name = members["name"]?.text, let bytes = members["bytes"]?.integer else {
                    throw APIError(400, "missing-parameter", "expected a text \"name\" and a whole number \"bytes\"")
                }
                let upload = try uploads.begin(
                    MediaName(name), bytes: Int64(bytes), replaces: members["replace"] == .bool(true), in: folder())
                return .json(201, .object(["id": upload.id.json, "offset": 0.json]))
            }.with { $0.body = Self.uploadBody },
            Route(.get, "uploads/{id}", "Report the place at which an upload goes on.", scope: .content) { request throws(APIError) in
                let upload = try uploads.upload(request.values["id"] ?? "", in: folder())
                return .json(200, .object(["offset": upload.offset.json, "bytes": upload.bytes.json, "name": upload.name.text.json]))
            },
            Route(.patch, "uploads/{id}", "Send bytes of an upload, from the place in the header Upload-Offset on.", scope: .content) {
                request throws(APIError) in
                guard let offset = request.head.header("upload-offset").flatMap({ Int64($0) }), offset >= 0 else {
                    throw APIError(400, "missing-parameter", "expected the header Upload-Offset with a whole number")
                }
                let folder = try folder()
                let (reached, file) = try uploads.write(request.values["id"] ?? "", at: offset, request.body, in: folder)
                guard let file else { return .json(200, .object(["offset": reached.json])) }
                return .json(200, .object(["done": .bool(true), "offset": reached.json, "file": file.shown(isOnPlaylist: false)]))
            }.with { $0.longestBody = 1 << 40 },
            Route(.delete, "uploads/{id}", "Drop an upload.", scope: .content) { request throws(APIError) in
                try uploads.drop(request.values["id"] ?? "", in: folder())
                return .json(200, .object([:]))
            },
            Route(.post, "fetch", "Fetch a file over HTTP into the content folder; answered when it is there.", scope: .content) {
                request throws(APIError) in
                let members = try request.object()
                guard let url = members["url"]?.text, let address = HTTPAddress(url), address.url.utf8.count <= 4096 else {
                    throw APIError(400, "invalid-parameter", "url: expected a URL of http or https")
                }
                let last = address.target.prefix { $0 != "?" }.split(separator: "/").last.map(String.init) ?? ""
                let folder = try folder()
                let name = try MediaName(members["name"]?.text ?? HTTPRequest.decoded(last) ?? last)
                return .json(201, .object(["file": try fetch(address.url, as: name, in: folder)]))
            }.with { $0.body = Self.urlBody },
        ]
    }

    private func shown(_ name: MediaName, _ folder: ContentFolder) throws(APIError) -> JSONValue {
        guard let entry = try folder.entry(name) else { throw folder.refusal("read", code: ENOENT) }
        return entry.shown(isOnPlaylist: playlist().contains(Path(folder.path + "/" + name.text)))
    }

    private static let fetchLimit = MediaTime.seconds(3600)
    /// One fetch at a time.
    private static let fetching = Monitor(false)

    /// Has a process of its own fetch a file, probes it, and gives it its name.
    private func fetch(_ url: String, as name: MediaName, in folder: ContentFolder) throws(APIError) -> JSONValue {
        if try folder.entry(name) != nil { throw folder.refusal("fetch", code: EEXIST) }
        guard folder.room > 0 else { throw folder.refusal("fetch", code: ENOSPC) }
        let isTurn = Self.fetching.withLock { isFetching in
            defer { isFetching = true }
            return !isFetching
        }
        guard isTurn else { throw APIError(409, "busy", "another file is being fetched") }
        defer { Self.fetching.signal { $0 = false } }
        let draft = ".kiosk-fetch-\(Secret.random().prefix(16)).\(name.ending)"
        defer { folder.discard(draft) }
        let own = SmallFile.link("/proc/self/exe") ?? "kiosk-web"
        let outcome = BoundedCommand.run([own, "fetch", url, folder.path + "/" + draft, "\(folder.room)"], limit: Self.fetchLimit)
        switch outcome {
        case .ended(0, _): break
        case .ended(_, let output):
            throw APIError(502, "not-fetched", output.split(separator: "\n").last.map(String.init) ?? "the file could not be fetched")
        case .killed: throw APIError(504, "not-yet", "the file takes longer than an hour")
        case .refused(let code): throw APIError(500, "failed", "start kiosk-web: \(SystemError(code))")
        }
        if !name.isSubtitles { try Probe.check(folder.path + "/" + draft, name: name, by: kiosk) }
        try folder.move(draft, to: name, replaces: false)
        return try shown(name, folder)
    }
}
