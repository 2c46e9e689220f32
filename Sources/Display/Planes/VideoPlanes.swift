import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// The card's side of video planes: ``KMSPlanes``. Compositor thread, unless stated otherwise.
protocol VideoHardware: AnyObject, Sendable {
    /// The driver's name.
    var driver: String { get }
    /// Pixels of the screen.
    var width: Int { get }
    var height: Int { get }
    /// Returns the planes for the picture and its background, without the planes of drawn pictures.
    func planner(besides taken: [PlaneID]) -> PlanePlanner
    /// The properties of a plane.
    func properties(of plane: PlaneID) -> PlaneProperties
    /// Allocates memory for pictures of this size. With `forScaling` libswscale may write there. Any thread.
    func makeBuffer(_ format: VideoFormat, width: Int, height: Int, forScaling: Bool) throws(DeviceError) -> VideoBuffer
    /// Makes a framebuffer of one colour, in the size of the screen.
    func makeBackground(_ colour: UInt32) throws(DeviceError) -> HeldFramebuffer
    /// Makes a framebuffer of a hardware decoder's memory. The framebuffer keeps that memory alive.
    func importSurface(_ frame: borrowing VideoFrame) throws(DeviceError) -> HeldFramebuffer
    /// Asks the driver whether it would show a picture without a modeset.
    func test(_ show: VideoShow) throws(DeviceError)
    /// Records how pictures are shown from now on; nil means converted. The planes `former` still show earlier pictures.
    func shows(_ arrangement: VideoArrangement?, besides former: [PlaneID])
}

/// Puts decoded pictures onto planes without conversion. Decides the path (``PicturePath``), the planes and the memory.
///
/// It finds the path once for each shape of picture (``PictureShape``). ``PicturePlan`` lists the candidates, ``PlanePlanner`` finds planes
/// for them, and the driver answers to a test commit. It remembers and logs the answer. If a path fails later, for lack of memory or
/// because the driver refuses the real commit, it drops that path and takes the next one.
///
/// Each of the output's slots (``BufferPool``) has YUV memory beside its converted buffer. Nothing shows the YUV memory of a slot that may
/// be painted into. The memory of the last two sizes is kept: a playlist that alternates between them allocates nothing.
///
/// Any scene other than one opaque picture has to be converted. The same holds while an overlay is blended into pictures.
///
/// Not thread-safe; belongs to the compositor thread.
final class VideoPlanes: @unchecked Sendable {
    // Sendable: only the compositor thread calls it. The presenter drops it with its screen, for the compositor to free.

    let hardware: any VideoHardware
    private let paths: [PicturePath]

    /// The key of a finding: the picture's shape, and the planes of drawn pictures at that time.
    private struct Request: Hashable {
        var shape: PictureShape
        var taken: [PlaneID]
    }

    /// The answer to a request, nil for conversion, and its description: `plane 31, copied once`.
    private struct Finding {
        var arrangement: VideoArrangement?
        var text: String
    }

    private var findings: [Request: Finding] = [:]
    private var last: (request: Request, codec: String, arrangement: VideoArrangement?)?
    private static let mostFindings = 64
    /// The paths that have failed since.
    private var failed: [Request: Set<PicturePath>] = [:]
    private var said: Set<String> = []
    /// The description of the newest picture: `h264 1920×1080 NV12 → plane 31, scaled by the display, no pass in software`.
    private(set) var line = ""
    /// The last arrangement reported to the hardware.
    private var told: (arrangement: VideoArrangement?, former: PlaneID?)

    private var buffers = VideoBuffers()
    private var surfaces = SurfaceImports()
    private var pools = PlanePools()
    private var writer = VideoWriter()
    private var background: (colour: UInt32, buffer: HeldFramebuffer)?

    /// Why only conversion is possible; nil if there are other paths.
    private let obstacle: String?

    private let isSilent: Bool

    /// Whether it asks the driver.
    var asksDriver: Bool { !paths.isEmpty }

    /// Creates the video planes of a screen. `isSilent`: logs nothing.
    init(_ hardware: any VideoHardware, _ choice: PicturePathChoice, isSilent: Bool = false) {
        self.hardware = hardware
        self.isSilent = isSilent
        paths = PicturePath.allowed(choice, driver: hardware.driver)
        obstacle = paths.isEmpty ? PicturePath.reasonForNone(choice, driver: hardware.driver) : nil
    }

    deinit { pools.close() }

    /// Puts the picture of `scene` into the memory of slot `slot`, rotated by `rotation`, in `region` of the screen. The scene's own
    /// background takes precedence over `background`. `taken` are the planes of drawn pictures. `former` is the overlay plane of pictures
    /// that are on the screen or ready, if any. Returns nil if the picture has to be converted.
    func prepare(
        _ scene: borrowing Scene, rotation: Rotation, region: Region = .full, background: UInt32, slot: Int, besides taken: [PlaneID],
        former: PlaneID?
    ) -> VideoShow? {
        let background = scene.background ?? background
        guard scene.count == 1 else { return convert(former: former) }
        let show = scene.withLayer(at: 0) { layer -> VideoShow? in
            let shape = PictureShape(
                layer.frame, crop: layer.crop, own: layer.rotation, gravity: layer.gravity, region: region, rotation: rotation,
                background: background, screenWidth: hardware.width, screenHeight: hardware.height)
            guard layer.alpha >= 1, var shape else { return nil }
            shape.room = pools.buffer(of: layer.frame).map { PlanePlanner.Size(width: $0.layout.width, height: $0.layout.height) }
            return self.show(layer.frame, Request(shape: shape, taken: taken), slot)
        }
        tell(show?.arrangement, former)
        return show
    }

    /// Records that the next picture is converted. Returns nil.
    func convert(former: PlaneID?) -> VideoShow? {
        tell(nil, former)
        return nil
    }

    /// Keeps drawn pictures off the planes of the newest picture, and of an earlier one still on the screen.
    private func tell(_ arrangement: VideoArrangement?, _ former: PlaneID?) {
        let former = former == arrangement?.plane?.id ? nil : former
        guard told.arrangement !== arrangement || told.former != former else { return }
        // Release the decoder's memory with its pictures.
        if arrangement?.path != .dmabuf { surfaces.removeAll() }
        told = (arrangement, former)
        hardware.shows(arrangement, besides: former.map { [$0] } ?? [])
    }

    /// Handles the driver's refusal of an arrangement that it accepted in a test.
    func refused(_ arrangement: VideoArrangement, _ error: DeviceError) {
        for (request, finding) in findings where finding.arrangement === arrangement { fail(request, arrangement, "\(error)") }
    }

    private func show(_ frame: borrowing VideoFrame, _ request: Request, _ slot: Int) -> VideoShow? {
        while let arrangement = arrangement(request, frame, slot) {
            let candidate = arrangement.candidate
            do throws(DeviceError) {
                return VideoShow(
                    arrangement: arrangement, memory: try fill(candidate, frame, slot),
                    backgroundBuffer: candidate.hasBackground ? try background(request.shape.background) : nil)
            } catch {
                fail(request, arrangement, "\(error)")
                if candidate.path == .direct { pools.withdraw(frame) }
            }
        }
        return nil
    }

    private func fail(_ request: Request, _ arrangement: VideoArrangement, _ reason: String) {
        failed[request, default: []].insert(arrangement.path)
        findings[request] = nil
        if last?.request == request { last = nil }
        log.warning("\(request.shape.name): \(arrangement.path.rawValue) no more: \(reason)")
    }

    // MARK: The way

    private func arrangement(_ request: Request, _ frame: borrowing VideoFrame, _ slot: Int) -> VideoArrangement? {
        if let last, last.request == request, last.codec == frame.codec { return last.arrangement }
        let finding: Finding
        if let known = findings[request] {
            finding = known
        } else {
            if findings.count >= Self.mostFindings { findings.removeAll(keepingCapacity: true) }
            if failed.count >= Self.mostFindings { failed.removeAll() }
            finding = find(request, frame, slot)
            findings[request] = finding
        }
        let codec = frame.codec.isEmpty ? "" : "\(frame.codec) "
        line = "\(codec)\(request.shape.name) → \(finding.text)"
        if !isSilent, said.count < 100, said.insert(line).inserted { log.info("\(line)") }
        last = (request, frame.codec, finding.arrangement)
        return finding.arrangement
    }

    /// Returns the ``line`` of a picture on an otherwise empty screen. Shows nothing.
    func describe(_ frame: borrowing VideoFrame, gravity: VideoGravity, rotation: Rotation) -> String? {
        let shape = PictureShape(
            frame, crop: nil, own: .none, gravity: gravity, rotation: rotation, background: 0, screenWidth: hardware.width,
            screenHeight: hardware.height)
        guard let shape else { return nil }
        _ = arrangement(Request(shape: shape, taken: []), frame, 0)
        return line
    }

    private func find(_ request: Request, _ frame: borrowing VideoFrame, _ slot: Int) -> Finding {
        if let obstacle { return Finding(text: "\(PicturePath.convert.work) (\(obstacle))") }
        let failed = failed[request] ?? []
        let paths = paths.filter { !failed.contains($0) }
        let plan = PicturePlan(request.shape, paths, width: hardware.width, height: hardware.height)
        let planner = hardware.planner(besides: request.taken)
        var refusals = plan.refusals.filter { $0.path != .dmabuf || request.shape.surface != nil }
        if paths.contains(.direct), let refusal = offer(request, planner, frame, slot) { refusals.append((.direct, refusal.reason)) }
        for candidate in plan.candidates {
            switch ask(candidate, request, planner, frame, slot) {
            case .success(let arrangement):
                return Finding(
                    arrangement: arrangement, text: text(request, arrangement, refusals.filter { $0.path != candidate.path }))
            case .failure(let refusal): refusals.append((candidate.path, refusal.reason))
            }
        }
        return Finding(text: text(request, nil, refusals))
    }

    private struct Refusal: Error { var reason: String }

    /// Offers plane memory to decoders for later pictures like this one, if the driver would show it; else returns the reason. Also returns
    /// nil if no decoder would use it.
    private func offer(_ request: Request, _ planner: PlanePlanner, _ frame: borrowing VideoFrame, _ slot: Int) -> Refusal? {
        guard frame.takesPlaneMemory, request.shape.room == nil, frame.surface == nil, let format = VideoFormat(request.shape.format.av),
            !pools.offers(frame, format)
        else { return nil }
        var wanted = request
        let room = PlanePool.room(width: frame.width, height: frame.height)
        wanted.shape.room = PlanePlanner.Size(width: room.width, height: room.height)
        let plan = PicturePlan(wanted.shape, [.direct], width: hardware.width, height: hardware.height)
        var refusal = plan.refusals.first.map { Refusal(reason: $0.reason) }
        for candidate in plan.candidates {
            let first: VideoBuffer
            do throws(PlanePlanner.Refusal) {
                _ = try planner.assignments(for: layers(candidate))
            } catch {
                refusal = refusal ?? Refusal(reason: "\(error)")
                continue
            }
            do throws(DeviceError) { first = try pools.first(frame, format, on: hardware) } catch { return Refusal(reason: "\(error)") }
            switch ask(candidate, wanted, planner, frame, slot, in: .buffer(first)) {
            case .success:
                pools.offer(frame, format, first, on: hardware)
                return nil
            case .failure(let reason): refusal = refusal ?? reason
            }
        }
        return refusal
    }

    private func layers(_ candidate: PicturePlan.Candidate) -> [PlanePlanner.Layer] {
        let behind = PlanePlanner.Layer.converted(width: hardware.width, height: hardware.height)
        return candidate.hasBackground ? [behind, candidate.layer] : [candidate.layer]
    }

    private func ask(
        _ candidate: PicturePlan.Candidate, _ request: Request, _ planner: PlanePlanner, _ frame: borrowing VideoFrame, _ slot: Int,
        in given: VideoShow.Memory? = nil
    ) -> Result<VideoArrangement, Refusal> {
        let layers = layers(candidate)
        // Plan before allocating memory.
        do throws(PlanePlanner.Refusal) { _ = try planner.assignments(for: layers) } catch { return .failure(Refusal(reason: "\(error)")) }
        let memory: VideoShow.Memory, backgroundBuffer: HeldFramebuffer?
        do throws(DeviceError) {
            if let given { memory = given } else { memory = try self.memory(candidate, frame, slot, isKept: false) }
            backgroundBuffer = candidate.hasBackground ? try background(request.shape.background) : nil
        } catch { return .failure(Refusal(reason: "\(error)")) }
        var agreed: VideoArrangement?
        var arrangements = PlaneArrangements(planner)
        let answer = arrangements.answer(for: layers) { assignments throws(DeviceError) in
            let tried = VideoArrangement(
                candidate, assignments, plane: candidate.hasBackground ? hardware.properties(of: assignments[1].plane) : nil,
                background: request.shape.background)
            do throws(DeviceError) {
                try hardware.test(VideoShow(arrangement: tried, memory: memory, backgroundBuffer: backgroundBuffer))
            } catch {
                log.debug("\(request.shape.name): \(error)")
                // The debug log has all requested properties; the reason stays short.
                throw DeviceError(error.call.action, code: error.call.error.code)
            }
            agreed = tried
            if given == nil, case .buffer(let buffer) = memory { buffers.keep(buffer, size(candidate, frame), slot) }
        }
        switch answer {
        case .planes: return .success(agreed!)
        case .converted(let reason): return .failure(Refusal(reason: reason))
        }
    }

    private func text(
        _ request: Request, _ arrangement: VideoArrangement?, _ refusals: [(path: PicturePath, reason: String)]
    ) -> String {
        // One reason for each path is enough: the first one, of the best candidate.
        var reasons: [String] = []
        for path in PicturePath.allCases {
            if let reason = refusals.first(where: { $0.path == path })?.reason { reasons.append("\(path.rawValue): \(reason)") }
        }
        let why = reasons.isEmpty ? "" : " (\(reasons.joined(separator: "; ")))"
        guard let arrangement else { return "\(PicturePath.convert.work)\(why)" }
        let (candidate, layer) = (arrangement.candidate, arrangement.candidate.layer)
        let plane = arrangement.plane.map { "plane \($0.id.rawValue)" } ?? "the primary plane"
        let own = VideoFormat(request.shape.format.av)?.code
        let format = candidate.format.map { $0.code == own ? "" : " as \($0)" } ?? ""
        let scaled = layer.isScaled ? ", scaled by the display" : ""
        let rotated = layer.orientation == .up ? "" : ", rotated by the display"
        return "\(plane)\(format)\(scaled)\(rotated), \(arrangement.path.work)\(why)"
    }

    // MARK: Its memory

    /// Returns the memory for the picture, not yet filled. Does not keep memory for tests: it would displace memory in use.
    private func memory(
        _ candidate: PicturePlan.Candidate, _ frame: borrowing VideoFrame, _ slot: Int, isKept: Bool
    ) throws(DeviceError) -> VideoShow.Memory {
        guard candidate.format != nil else {
            let hardware = hardware
            return try held(
                frame, in: surfaces.framebuffer(of: frame) { frame throws(DeviceError) in try hardware.importSurface(frame) })
        }
        if candidate.path == .direct {
            let buffer = pools.buffer(of: frame)
            if isKept, let buffer { pools.use(buffer, of: frame) }
            return try held(frame, in: buffer.map { HeldFramebuffer(id: $0.framebuffer, owner: $0) })
        }
        let size = size(candidate, frame)
        if let buffer = buffers.buffer(size, slot) {
            if isKept { buffers.use(size) }
            return .buffer(buffer)
        }
        let buffer = try hardware.makeBuffer(size.format, width: size.width, height: size.height, forScaling: size.forScaling)
        if isKept { buffers.keep(buffer, size, slot) }
        return .buffer(buffer)
    }

    /// Returns the size of the memory of a candidate without a surface.
    private func size(_ candidate: PicturePlan.Candidate, _ frame: borrowing VideoFrame) -> VideoBuffers.Size {
        let format = candidate.format!
        let forScaling = candidate.path == .scale || format.av != PictureFormat(frame.pixelFormat)?.av
        return VideoBuffers.Size(format: format, width: candidate.width, height: candidate.height, forScaling: forScaling)
    }

    private func fill(
        _ candidate: PicturePlan.Candidate, _ frame: borrowing VideoFrame, _ slot: Int
    ) throws(DeviceError) -> VideoShow.Memory {
        let memory = try memory(candidate, frame, slot, isKept: true)
        if case .buffer(let buffer) = memory { try writer.write(frame, as: candidate, into: buffer) }
        if candidate.path == .dmabuf { SurfaceUse.noteShown() }
        return memory
    }

    private func held(_ frame: borrowing VideoFrame, in framebuffer: HeldFramebuffer?) throws(DeviceError) -> VideoShow.Memory {
        guard let framebuffer, let shared = frame.shared() else { throw DeviceError("hold a decoded picture", code: ENOMEM) }
        return .picture(HeldPicture(shared, framebuffer))
    }

    private func background(_ colour: UInt32) throws(DeviceError) -> HeldFramebuffer {
        if let background, background.colour == colour { return background.buffer }
        let fresh = try hardware.makeBackground(colour)
        background = (colour, fresh)
        return fresh
    }
}
