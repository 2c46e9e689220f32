import KioskMedia
import KioskPlatform
import KioskVocabulary

// The bytes of values that the player and the reader have in other modules. Numbers are clamped to the range of undamaged files.

extension Rotation: WireChoice {}
extension DecoderSetting: WireChoice {}
extension TrackKind: WireChoice {}
extension MediaReader.Deinterlacing: WireChoice {}
extension MediaReader.AudioSelection: WireChoice {}
extension UnreadableImage: WireChoice {}

extension MediaTime: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(nanoseconds) }

    /// Within ±``longestPlausible``.
    package init(from wire: inout WireReader) throws(WireError) {
        let longest = Self.longestPlausible.nanoseconds
        self.init(nanoseconds: try wire.take(in: -longest...longest))
    }
}

extension PixelSize: WireRecord {
    package static var blank: PixelSize { PixelSize(width: 0, height: 0) }
    package static let fields: [WireField<Self>] = [.number(\.width, 0...1 << 20), .number(\.height, 0...1 << 20)]
}

// MARK: Orders

extension MediaReader.SeekPrecision: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .exact: wire.put(false)
        case .keyFrame(let after): wire.put(true, after)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        self = try wire.take() as Bool ? .keyFrame(after: try wire.take()) : .exact
    }
}

extension TrackChoice: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(WireText(exactly: description, .name)) }

    package init(from wire: inout WireReader) throws(WireError) {
        guard let choice = TrackChoice(try wire.text(.name) ?? "") else { throw .unknown("track", 0) }
        self = choice
    }
}

extension AudioFormat: WireRecord {
    package static var blank: AudioFormat { AudioFormat(sampleRate: 48000, channelCount: 2) }
    package static let fields: [WireField<Self>] = [
        .number(\.sampleRate, 8000...384_000), .number(\.channelCount, 1...ControlLayout.mostChannels),
    ]
}

extension DecoderWish: WireRecord {
    package static var blank: DecoderWish { .software }
    package static let fields: [WireField<Self>] = [
        .value(\.setting), .exact(\.device, .names), .value(\.elsewhere), .words(\.failure, .words),
        .exact(\.refusedInOrder, .names, atMost: 64),
    ]

    fileprivate var refusedInOrder: [String] {
        get { refused.sorted() }
        set { refused = Set(newValue) }
    }
}

extension DecoderChoice.Nodes: WireRecord {
    package static var blank: Self { Self() }
    package static let fields: [WireField<Self>] = [.exact(\.render, .location, atMost: 64), .value(\.hasVideo)]
}

extension StreamSettings: WireRecord {
    package static var blank: StreamSettings { StreamSettings() }
    package static let fields: [WireField<Self>] = [
        .value(\.reconnect), .value(\.timeout), .value(\.latency), .number(\.forwardBuffer, StreamSettings.forwardBuffers),
        .exact(\.headers, .header, atMost: 1000), .exact(\.userAgent, .location),
        .exact(\.certificateAuthorities, .location), .value(\.verifiesTLS), .value(\.mayNameNetwork),
        .exact(\.furtherFormats, .names, atMost: 1000), .exact(\.furtherCodecs, .names, atMost: 1000),
    ]
}

extension SourceReach: WireRecord {
    package static var blank: SourceReach { SourceReach() }
    package static let fields: [WireField<Self>] = [
        .exact(\.named, .name, atMost: 32), .exact(\.carriers, .name, atMost: 32), .exact(\.folder, .location),
        .exact(\.lists, .name, atMost: 32), .exact(\.refusedScheme, .location),
    ]
}

// MARK: The contents of a source

extension Orientation: WireRecord {
    package static var blank: Orientation { .up }
    package static let fields: [WireField<Self>] = [.value(\.rotation), .value(\.isMirrored)]
}

extension AssetDescription.Video: WireRecord {
    package static var blank: Self { Self(codec: "", width: 0, height: 0) }
    package static let fields: [WireField<Self>] = [
        .words(\.codec, .name), .number(\.width, 0...1 << 20), .number(\.height, 0...1 << 20), .number(\.pixelAspectRatio, 0...1e6),
        .value(\.orientation), .number(\.frameRate, 0...1e6), .value(\.isConstantFrameRate), .words(\.pixelFormat, .name),
        .number(\.dolbyVisionProfile, 0...255), .words(\.colorPrimaries, .name), .words(\.colorTransfer, .name),
        .words(\.colorMatrix, .name), .value(\.isInterlaced), .value(\.isDeinterlaced), .value(\.isCropped), .value(\.start),
        .value(\.duration),
    ]
}

extension AssetDescription.Audio: WireRecord {
    package static var blank: Self { Self(codec: "", sampleRate: 0, channelCount: 0) }
    package static let fields: [WireField<Self>] = [
        .words(\.codec, .name), .number(\.sampleRate, 0...1 << 24), .number(\.channelCount, 0...1024), .value(\.start), .value(\.duration),
    ]
}

extension LanguageCode: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(WireText(exactly: description, .name)) }

    package init(from wire: inout WireReader) throws(WireError) {
        guard let code = LanguageCode(try wire.text(.name) ?? "") else { throw .unknown("language", 0) }
        self = code
    }
}

extension AssetTrack: WireRecord {
    package static var blank: AssetTrack { AssetTrack(id: 0, kind: .video, number: 1, codec: "") }
    package static let fields: [WireField<Self>] = [
        .number(\.id, 0...1 << 20), .value(\.kind), .number(\.number, 0...1 << 20), .words(\.codec, .name), .value(\.language),
        .title(\.title), .value(\.isDefault), .number(\.width, 0...1 << 20), .number(\.height, 0...1 << 20),
        .number(\.sampleRate, 0...1 << 24), .number(\.channelCount, 0...1024), .value(\.isForced), .value(\.isForHardOfHearing),
        .value(\.isBeside),
    ]
}

extension AssetChapter: WireRecord {
    package static var blank: AssetChapter { AssetChapter(title: nil, start: .zero, end: .zero) }
    package static let fields: [WireField<Self>] = [.title(\.title), .value(\.start), .value(\.end)]
}

extension AssetMetadata: WireRecord {
    package static var blank: AssetMetadata { AssetMetadata() }
    package static let fields: [WireField<Self>] = [
        .title(\.title), .title(\.artist), .title(\.album), .title(\.date), .words(\.cover, .name),
    ]
}

extension AssetDescription.Variant: WireRecord {
    package static var blank: Self { Self(bandwidth: 0) }
    package static let fields: [WireField<Self>] = [
        .number(\.bandwidth, 0...1e12), .number(\.width, 0...1 << 20), .number(\.height, 0...1 << 20),
    ]
}

extension AssetDescription: WireRecord {
    package static var blank: AssetDescription { AssetDescription(container: "") }
    package static let fields: [WireField<Self>] = [
        .words(\.container, .names), .value(\.duration), .value(\.video), .value(\.audio), .value(\.isStill), .value(\.isSeekable),
        .value(\.isLocal), .list(\.tracks, atMost: 256), .list(\.chapters, atMost: 1000), .value(\.metadata),
        .value(\.variant),
    ]
}

extension ClipFacts: WireRecord {
    package static var blank: ClipFacts { ClipFacts() }
    package static let fields: [WireField<Self>] = [
        .title(\.title), .value(\.duration), .value(\.isPortrait), .value(\.hasSound), .words(\.problem, .words),
    ]
}

// MARK: Faults

extension MediaDamage: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(pictures, sound, begin) }

    package init(from wire: inout WireReader) throws(WireError) {
        self.init(pictures: try wire.take(in: 0...1 << 40), sound: try wire.take(in: 0...1 << 40), begin: try wire.take())
    }
}

extension MediaError.Reason: WireValue {
    /// The cases without values, by their numbers.
    private static let plain: [Self] = [
        .notFound, .permissionDenied, .isDirectory, .notARegularFile, .isEmpty, .notMedia, .encrypted, .hasNoMedia, .nothingToPlay,
        .nothingDecodes, .cancelled, .mixedList, .encryptedSamples, .certificate,
    ]

    package func write(to wire: inout WireWriter) {
        func put(_ number: UInt8, _ text: String) { wire.put(number, WireText(text, .words)) }
        switch self {
        case .notFound, .permissionDenied, .isDirectory, .notARegularFile, .isEmpty, .notMedia, .encrypted, .hasNoMedia, .nothingToPlay,
            .nothingDecodes, .cancelled, .mixedList, .encryptedSamples, .certificate:
            wire.put(UInt8(clamping: Self.plain.firstIndex(of: self) ?? 255))
        case .damaged(let text): put(32, text)
        case .unsupportedCodec(let text): put(33, text)
        case .notSeekable(let text): put(34, text)
        case .protocolNotPlayed(let text): put(35, text)
        case .codecNotPlayed(let text): put(36, text)
        case .namesWhatItMayNot(let text): put(37, text)
        case .redirected(let text): put(38, text)
        // A reader never sends `readerFailed`: the other end would read an ordinary failure.
        case .failed(let text), .readerFailed(let text): put(39, text)
        case .unreadableImage(let kind): wire.put(64 as UInt8, kind)
        case .pictureTooLarge(let width, let height, let megabytes): wire.put(65 as UInt8, width, height, megabytes)
        case .soundOutOfRange(let sampleRate, let channelCount): wire.put(66 as UInt8, sampleRate, channelCount)
        case .timedOut(let seconds): wire.put(67 as UInt8, seconds)
        case .formatNotPlayed(let name, let isList): wire.put(68 as UInt8, WireText(name, .words), isList)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        func words(_ reason: (String) -> Self) throws(WireError) -> Self { reason(try wire.words(.words) ?? "") }
        switch number {
        case 32: self = try words { .damaged($0) }
        case 33: self = try words { .unsupportedCodec($0) }
        case 34: self = try words { .notSeekable($0) }
        case 35: self = try words { .protocolNotPlayed($0) }
        case 36: self = try words { .codecNotPlayed($0) }
        case 37: self = try words { .namesWhatItMayNot($0) }
        case 38: self = try words { .redirected($0) }
        case 39: self = try words { .failed($0) }
        case 64: self = .unreadableImage(try wire.take())
        case 65: self = .pictureTooLarge(width: try wire.take(), height: try wire.take(), megabytes: try wire.take())
        case 66: self = .soundOutOfRange(sampleRate: try wire.take(), channelCount: try wire.take())
        case 67: self = .timedOut(seconds: try wire.take(in: 0...1e6))
        case 68: self = .formatNotPlayed(try wire.words(.words) ?? "", isList: try wire.take())
        default:
            guard Self.plain.indices.contains(Int(number)) else { throw .unknown("reason", Int(number)) }
            self = Self.plain[Int(number)]
        }
    }
}
