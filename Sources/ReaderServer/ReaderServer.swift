import CKioskFFmpeg
import CKioskPlatform
import CSandbox
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import Logging
import Synchronization

/// Reads a source for the player: carries out its orders one after the other, and does not know where it runs. It runs in a process forked
/// from the zygote, or on a thread of the player with the same socket and memory. The process opens the source's file, gives up everything
/// else (csandbox.h), and only then looks at its first byte.
///
///     player ── order ──▶ ReaderServer ── MediaReader, PreviewReader, Thumbnail ──▶ result memory
///            ◀─ message ─┘
///
/// Descriptors come before the first order. Each comes with a datagram of one byte, its number in csandbox.h.
package enum ReaderServer {
    /// Does the libraries' one-time work for all readers. Call it in the zygote, which must not get a second thread.
    package static func warmUp() {
        _ = MemoryLimit.ofItem
        av_log_set_level(AV_LOG_QUIET)
        // Text that a process writes to standard error counts as its last words.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        setenv("LIBVA_MESSAGING_LEVEL", "1", 0)
        // FFmpeg makes the tables of codecs at their first use.
        var place: UnsafeMutableRawPointer?
        while av_codec_iterate(&place) != nil {}
        place = nil
        while av_demuxer_iterate(&place) != nil {}
        // The C library opens files at the first use of each of these character sets, used by names of programmes in MPEG-TS.
        for name in characterSets where iconv_open("UTF-8", name) == nil {}
    }

    private static let characterSets =
        ["ISO6937", "UCS-2BE", "GB2312", "BIG5", "KS_C_5601-1987"] + (1...15).filter { $0 != 12 }.map { "ISO-8859-\($0)" }

    /// Serves in a process forked from the zygote, with its socket as descriptor 3. Ends the process.
    package static func serveProcess() -> Never {
        let channel = ReaderChannel(SharedDescriptor(Descriptor(Int32(KIOSK_READER_CONTROL))))
        let gifts = Gifts(from: channel, isProcess: true)
        guard let (order, serial) = channel.first() else { exit(0) }
        if case .file(let folder) = order.role {
            channel.send(.ready(ReaderReadiness()))
            openFile(order.source, in: folder, for: channel, serial)
            exit(0)
        }
        // Before there is a second thread.
        if !order.needsNetwork { forgetProxy() }
        let pictures = order.role == .play ? gifts.memory.flatMap { ArenaPictures($0) } : nil
        if order.needsFilters { _ = MediaReader.Deinterlacing.load() }
        let path = withoutFileScheme(order.source)
        let subtitles = order.subtitles.map { SubtitleServer.Means($0, gifts.subtitles, source: path) }
        let source: Result<OpenedFile, FileFailure> = isURL(path) ? .failure(.notARegularFile) : open(path)
        guard lockIn(order, gifts, channel) else { exit(70) }
        let page = gifts.page.flatMap { ControlPage(mapping: $0.raw) }
        FileAccess.leave { name, folder in folder == nil && name == path ? source : channel.ask(for: name, in: folder) }
        if let page { show(channel.interruption, on: page) }
        page?.activity = order.needsNetwork ? .reading : .decoding
        if order.needsNetwork { askForNames(on: channel) }
        if order.needsNetwork, let page {
            channel.interruption.whenAllowed { page.advance() }
            if let speed = order.lineSpeed { Throughput.note(speed, of: order.source) }
        }
        if order.isLogged, let page { sendLog(on: channel, page) }
        if let pictures, let page {
            channel.listen { page.readerBell.ring(.messages) }
            let planes = BorrowedPlanes(channel, page, order.planes)
            pictures.use(planes)
            let surfaces = order.usesDevices ? DevicePictures(pictures, channel, page) : nil
            surfaces?.serveCopies()
            PlayServer.serve(order, serial, on: channel, page, surfaces ?? pictures, planes, subtitles, hasFilters: order.needsFilters)
            ClosingSource.waitForAll()
            // The player may still copy pictures that it has drawn.
            if surfaces != nil {
                page.freeDecoder()
                channel.waitUntilGone()
            }
            exit(0)
        }
        channel.listen()
        serve(order, serial, on: channel, gifts)
        exit(0)
    }

    /// Serves on a thread of the player until the player closes the other end of `socket`.
    package static func serveThread(_ socket: SharedDescriptor, _ handed: HandedFrames?) {
        let channel = ReaderChannel(socket)
        let gifts = Gifts(from: channel, isProcess: false)
        guard let (order, serial) = channel.first() else { return }
        channel.send(.ready(ReaderReadiness()))
        if case .file(let folder) = order.role { return openFile(order.source, in: folder, for: channel, serial) }
        let page = gifts.page.flatMap { ControlPage(mapping: $0.raw) }
        if let page { show(channel.interruption, on: page) }
        if case .play = order.role, let page, let handed {
            channel.listen { page.readerBell.ring(.messages) }
            var wish = order.subtitles
            wish?.hasText = true
            let subtitles = wish.map { SubtitleServer.Means($0, gifts.subtitles, source: withoutFileScheme(order.source)) }
            PlayServer.serve(order, serial, on: channel, page, handed, nil, subtitles, hasFilters: true)
            return page.freeDecoder()
        }
        channel.listen()
        serve(order, serial, on: channel, gifts)
    }

    /// Shows on the page whether the reader waits for a disk or a server.
    private static func show(_ interruption: Interruption, on page: ControlPage) {
        // One thread may receive while another one waits for a read.
        let waits = Atomic(0)
        interruption.whenReading { isReading in
            let count = waits.wrappingAdd(isReading ? 1 : -1, ordering: .relaxed).newValue
            page.activity = count > 0 ? .reading : .decoding
            if !isReading { page.advance() }
        }
    }

    // MARK: Before the first byte

    /// The descriptors from the player.
    private struct Gifts {
        /// The page that both sides share (``ControlPage``).
        var page: SharedDescriptor?
        /// The memory for results.
        var memory: SharedDescriptor?
        /// The file of a film in the making, to read back.
        var written: SharedDescriptor?
        /// The page that shows which readers use devices.
        var devices: DevicePage?
        /// The memory to draw subtitles into.
        var subtitles: SharedMemory?

        /// Receives them. In a process each gets its number.
        init(from channel: ReaderChannel, isProcess: Bool) {
            while let (number, descriptor) = channel.gift() {
                if number == UInt8(KIOSK_READER_DEVICES) {
                    devices = DevicePage(mapping: descriptor.raw)
                    continue
                }
                if number == UInt8(KIOSK_READER_SUBTITLES) {
                    subtitles = SharedMemory(descriptor.raw)
                    continue
                }
                let own: SharedDescriptor
                if isProcess {
                    let target = Int32(number)
                    if descriptor.raw != target, dup2(descriptor.raw, target) < 0 { continue }
                    own = descriptor.raw == target ? descriptor : SharedDescriptor(Descriptor(target))
                    // Kept as long as the process: a file opened later must not get this number, by which the sandbox knows it.
                    _ = Unmanaged.passRetained(own)
                } else {
                    own = descriptor
                }
                switch Int(number) {
                case Int(KIOSK_READER_PAGE): page = own
                case Int(KIOSK_READER_ARENA): memory = own
                case Int(KIOSK_READER_SOURCE): written = own
                default: break
                }
            }
        }
    }

    /// Opens the source as the descriptor number that the sandbox knows.
    private static func open(_ path: String) -> Result<OpenedFile, FileFailure> {
        do throws(FileFailure) {
            let file = try OpenedFile(path)
            let number = Int32(KIOSK_READER_SOURCE)
            if file.descriptor.raw == number { return .success(file) }
            guard dup2(file.descriptor.raw, number) >= 0 else { throw .system(errno) }
            return .success(OpenedFile(SharedDescriptor(Descriptor(number)), file.version))
        } catch {
            return .failure(error)
        }
    }

    /// Wipes the address and the password of the proxy from the environment, in a reader without the network.
    private static func forgetProxy() {
        for name in ["http_proxy", "no_proxy"] {
            if let text = getenv(name) { memset(text, 0, strlen(text)) }
            unsetenv(name)
        }
    }

    /// Gives up everything that a reader does not need, and reports that.
    private static func lockIn(_ order: OpenOrder, _ gifts: Gifts, _ channel: ReaderChannel) -> Bool {
        var limits = kiosk_sandbox_limits()
        let memory = UInt64(clamping: order.pictureMemory)
        // Libraries, stacks and tables; and pictures twice, for the decoder and for libswscale.
        limits.address_space =
            (1 << 30) + 2 * memory + UInt64(clamping: order.memoryCapacity) + UInt64(clamping: order.subtitles?.memoryCapacity ?? 0)
        limits.data = (512 << 20) + memory
        // Files named by the source; connections; clips of a film.
        limits.grants = order.needsNetwork ? 128 : order.role.isFilm ? 1000 : 32
        var state = kiosk_sandbox_state()
        let page = gifts.page.flatMap { ControlPage(mapping: $0.raw) }
        let report = page?.sandboxReport.assumingMemoryBound(to: kiosk_sandbox_report.self)
        if order.usesDevices {
            // Drivers map memory freely, and make files in memory for surfaces.
            (limits.address_space, limits.data, limits.file_size) = (0, (2 << 30) + memory, .max)
            limits.grants = 512
        }
        let profile =
            switch (order.needsNetwork, order.usesDevices) {
            case (false, false): KIOSK_SANDBOX_FILE
            case (true, false): KIOSK_SANDBOX_NETWORK
            case (false, true): KIOSK_SANDBOX_HARDWARE
            case (true, true): KIOSK_SANDBOX_BOTH
            }
        // Lives as long as the process.
        func list(_ texts: [String]) -> [UnsafePointer<CChar>?] { texts.map { UnsafePointer<CChar>(strdup($0)) } + [nil] }
        let authorities = order.settings.certificateAuthorities.map { [$0] } ?? []
        let readable = list(authorities + (order.usesDevices ? DecoderWish.driverFolders : []))
        let devices = list(order.usesDevices ? order.decoder.deviceNodes : [])
        var opened: [String] = []
        let isEntered = readable.withUnsafeBufferPointer { readable in
            devices.withUnsafeBufferPointer { devices in
                (limits.readable, limits.devices) = (readable.baseAddress, devices.baseAddress)
                guard order.usesDevices else { return kiosk_enter_sandbox(profile, &limits, report, &state) }
                guard kiosk_restrict_process(profile, &limits, &state) else { return false }
                opened = useDevices(order, gifts)
                kiosk_filter_calls(profile, report, &state)
                return true
            }
        }
        guard isEntered else { return false }
        // The handler of refused calls writes there until the process ends.
        if let page { _ = Unmanaged.passRetained(page) }
        var readiness = ReaderReadiness()
        (readiness.hasFilter, readiness.landlock) = (state.has_filter, Int(state.landlock))
        channel.send(.ready(readiness))
        for device in opened { channel.send(.note(.device(device))) }
        return true
    }

    /// Opens the devices, and tells decoders about the devices of other readers.
    private static func useDevices(_ order: OpenOrder, _ gifts: Gifts) -> [String] {
        if let page = gifts.devices, let place = order.devicePlace {
            DeviceNeighbours.set(
                DeviceNeighbours(
                    isAnyInUse: { page.isInUse(butBy: place) }, releaseCount: { page.releaseCount }, begin: { page.begin(place) },
                    end: { page.end(place) }))
        }
        return order.decoder.openDevices()
    }

    private static let nameChannel = Mutex<ReaderChannel?>(nil)

    /// Has the player look up hosts in `.local`.
    private static func askForNames(on channel: ReaderChannel) {
        nameChannel.withLock { $0 = channel }
        kiosk_ask_for_names { name, addresses, most in
            let found = ReaderServer.nameChannel.withLock { $0 }?.addresses(of: String(cString: name)) ?? []
            var count = 0
            for address in found.prefix(most) where address.utf8.count < KIOSK_ADDRESS_SIZE {
                address.withCString { _ = strcpy(UnsafeMutableRawPointer(addresses + count).assumingMemoryBound(to: CChar.self), $0) }
                count += 1
            }
            return count
        }
    }

    /// Sends the log lines of the libraries to the player from now on: they have no other reader in this process.
    private static func sendLog(on channel: ReaderChannel, _ page: ControlPage) {
        let allowance = Monitor((lines: longestBurst, time: HostTime.now))
        av_log_set_level(AV_LOG_INFO)
        FFmpegLog.capture { line in
            let isAllowed = allowance.withLock { allowance in
                let now = HostTime.now
                let more = Int((now - allowance.time).seconds * Double(linesInASecond))
                if more > 0 { allowance = (min(allowance.lines + more, longestBurst), now) }
                allowance.lines -= allowance.lines > 0 ? 1 : 0
                return allowance.lines > 0
            }
            if !isAllowed { return }
            channel.send(.log(line.split(whereSeparator: \.isNewline).joined(separator: " ")))
            page.countMessage()
        }
    }

    /// A decoder may log a line for each packet.
    private static let linesInASecond = 20, longestBurst = 200

    /// Opens a file for a reader that may not open it itself; reads nothing from it.
    private static func openFile(_ path: String, in folder: String?, for channel: ReaderChannel, _ serial: UInt32) {
        do throws(FileFailure) {
            let file = try OpenedFile(path, in: folder)
            channel.send(.result(.file), serial: serial, descriptor: file.descriptor.raw)
        } catch {
            channel.send(.result(.noFile(error)), serial: serial)
        }
    }

    // MARK: Orders

    /// Opens the source for its role, and carries out further orders until the player has gone.
    private static func serve(_ order: OpenOrder, _ serial: UInt32, on channel: ReaderChannel, _ gifts: Gifts) {
        let memory = gifts.memory.flatMap { SharedMemory($0.raw) }
        switch order.role {
        case .thumbnail(let size):
            // It may run only when the processor is idle, and the player knows how long that takes.
            channel.interruption.bePatient(OpenOrder.patience)
            channel.send(thumbnail(of: order, size, channel, memory), serial: serial)
        case .previews(let size): servePreviews(of: order, size, serial, channel, memory)
        case .cover: channel.send(cover(of: order, channel, memory), serial: serial)
        case .times: channel.send(times(of: order, channel, memory), serial: serial)
        case .film(let job):
            guard let memory, let page = gifts.page.flatMap({ ControlPage(mapping: $0.raw) }), let written = gifts.written else { return }
            FilmServer.serve(job, order.reach, on: channel, page, memory, written)
        case .play, .file: channel.send(.failed(.failed("nobody reads that here")), serial: serial)
        }
    }

    private static func thumbnail(
        of order: OpenOrder, _ size: PixelSize, _ channel: ReaderChannel, _ memory: SharedMemory?
    ) -> ReaderMessage {
        guard
            let thumbnail = Thumbnail.make(
                of: order.source, fitting: size.width, size.height, reach: order.reach, interruption: channel.interruption)
        else {
            return .failed(.cancelled)
        }
        let picture = thumbnail.picture.flatMap { memory?.put($0) }
        return .result(.thumbnail(thumbnail.facts, picture))
    }

    private static func cover(of order: OpenOrder, _ channel: ReaderChannel, _ memory: SharedMemory?) -> ReaderMessage {
        do throws(MediaError) {
            let cover = try AssetCover.read(
                from: order.source, isKept: order.isKept, reach: order.reach, settings: order.settings, interruption: channel.interruption)
            guard let cover, memory?.put(cover.bytes) == true else { return .result(.noCover) }
            return .result(.cover(codec: cover.codec, byteCount: cover.bytes.count))
        } catch {
            return .failed(error.reason)
        }
    }

    private static func times(of order: OpenOrder, _ channel: ReaderChannel, _ memory: SharedMemory?) -> ReaderMessage {
        do throws(MediaError) {
            var reader = try MediaReader.open(
                order.source, reach: order.reach, samples: nil, interruption: channel.interruption, deinterlacing: order.deinterlacing,
                pictureMemory: order.pictureMemory, settings: order.settings)
            let times = reader.pictureTimes { channel.interruption.cancelled }
            guard let times, memory?.put(times) == true else { return .result(.times(nil)) }
            return .result(.times(times.count))
        } catch {
            return .failed(error.reason)
        }
    }

    private static func servePreviews(
        of order: OpenOrder, _ size: PixelSize, _ serial: UInt32, _ channel: ReaderChannel, _ memory: SharedMemory?
    ) {
        do throws(MediaError) {
            guard
                var reader = try PreviewReader.open(
                    order.source, fitting: size.width, size.height, reach: order.reach, interruption: channel.interruption)
            else {
                return channel.send(.result(.previews(false)), serial: serial)
            }
            channel.send(.result(.previews(true)), serial: serial)
            while let next = channel.nextOrder() {
                guard case .preview(let time) = next.order else { return }
                do throws(MediaError) {
                    let preview = try reader.preview(at: time)
                    let picture = preview.flatMap { preview in
                        memory?.put(preview.picture).map { ReaderPreview($0, time: preview.time, span: preview.span) }
                    }
                    channel.send(.result(.preview(picture)), serial: next.serial)
                } catch {
                    channel.send(.failed(error.reason), serial: next.serial)
                }
            }
        } catch {
            channel.send(.failed(error.reason), serial: serial)
        }
    }
}

extension SharedMemory {
    /// Stores a file; false if it does not fit.
    fileprivate func put(_ file: [UInt8]) -> Bool {
        guard file.count <= bytes.count else { return false }
        bytes.copyBytes(from: file)
        return true
    }

    /// Stores times; false if they do not fit.
    fileprivate func put(_ times: [MediaTime]) -> Bool {
        guard times.count <= bytes.count / MemoryLayout<Int64>.size else { return false }
        times.map(\.nanoseconds).withUnsafeBytes { bytes.copyMemory(from: $0) }
        return true
    }

    /// Stores a picture and returns its size; nil if it does not fit.
    fileprivate func put(_ picture: SmallPicture) -> PixelSize? {
        guard picture.pixels.count <= bytes.count / 4 else { return nil }
        picture.pixels.withUnsafeBytes { bytes.copyMemory(from: $0) }
        return PixelSize(width: picture.width, height: picture.height)
    }
}
