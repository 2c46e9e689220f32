import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol

/// Pictures of a device: its surfaces, which the player gets as dma-bufs at their first use (``ReaderSurface``). Pictures in ordinary
/// memory, or in a surface without a known description, lie in the arena like other pictures.
///
/// One thread of the reader, and one that copies.
final class DevicePictures: PictureStore {
    private let arena: ArenaPictures
    private let channel: ReaderChannel
    private let page: ControlPage
    private let state = Monitor(State())

    /// The identity of a surface: its memory, and its place in that.
    private struct Key: Hashable {
        var device: UInt64, inode: UInt64, format: UInt32, planes: [ReaderSurface.Plane]
    }

    private struct State {
        var numbers: [Key: (number: Int, use: UInt64)] = [:]
        var uses: UInt64 = 0
    }

    init(_ arena: ArenaPictures, _ channel: ReaderChannel, _ page: ControlPage) {
        (self.arena, self.channel, self.page) = (arena, channel, page)
    }

    func put(_ frame: consuming VideoFrame, _ record: inout PictureRecord) -> VideoFrame? {
        guard frame.surface != nil else { return arena.put(frame, &record) }
        guard let format = SurfaceFormat(pixelFormat: frame.pixelFormat.rawValue), let number = number(of: frame) else {
            // As in one process: a picture that cannot be read is dropped.
            guard let copy = frame.downloaded() else { return frame }
            record = PictureRecord(copy, like: record)
            return arena.put(copy, &record)
        }
        (record.place, record.buffer, record.format) = (.surface, number, format.pixelFormat.rawValue)
        arena.keep(frame, record.slot)
        return nil
    }

    func free(_ slot: Int) { arena.free(slot) }

    /// Returns the number of a frame's surface, after telling the player; nil if the player cannot use it.
    private func number(of frame: borrowing VideoFrame) -> Int? {
        guard let surface = frame.surface?.pointee, surface.nb_layers == 1, 1...ReaderSurface.mostObjects ~= Int(surface.nb_objects) else {
            return nil
        }
        let layer = surface.layers.0
        let all = [layer.planes.0, layer.planes.1, layer.planes.2, layer.planes.3]
        let planes = all.prefix(Int(max(0, layer.nb_planes))).map {
            ReaderSurface.Plane(object: Int($0.object_index), offset: Int($0.offset), pitch: Int($0.pitch))
        }
        let objects = [surface.objects.0, surface.objects.1, surface.objects.2, surface.objects.3].prefix(Int(surface.nb_objects))
        var status = stat()
        guard fstat(objects[0].fd, &status) == 0, objects.allSatisfy({ $0.format_modifier == objects[0].format_modifier }) else {
            return nil
        }
        let key = Key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), format: layer.format, planes: planes)
        let (number, isNew) = state.withLock { state in
            state.uses += 1
            defer { state.numbers[key]?.use = state.uses }
            if let known = state.numbers[key] { return (known.number, false) }
            var number = state.numbers.count
            // More than a decoder has: reuses those from before a seek first.
            if number >= ControlLayout.pictureCount, let oldest = state.numbers.min(by: { $0.value.use < $1.value.use }) {
                number = oldest.value.number
                state.numbers[oldest.key] = nil
            }
            state.numbers[key] = (number, state.uses)
            return (number, true)
        }
        guard isNew else { return number }
        var layout = ReaderSurface(number: number, format: layer.format, modifier: objects[0].format_modifier, planes: planes)
        layout.objectCount = objects.count
        for (index, object) in objects.enumerated() {
            layout.object = index
            channel.send(.surface(layout), descriptor: object.fd)
        }
        page.countMessage()
        return number
    }

    // MARK: Copies

    /// Copies pictures for the player on a thread of its own, until the player has gone.
    func serveCopies() {
        Thread("copies") { [self] in
            var last: VideoFrame?
            while !channel.isGone {
                guard let (slot, answer) = page.wantedCopy(until: .now + .milliseconds(500)) else { continue }
                // The player no longer reads the previous copy.
                last = nil
                var record: PictureRecord?
                if let copy = arena.shared(slot)?.downloaded() {
                    var placed = PictureRecord(copy)
                    last = ArenaPictures.placed(copy, &placed)
                    record = last == nil ? nil : placed
                }
                page.answerCopy(answer, record)
            }
            _ = consume last
        }.detach()
    }
}

extension PictureRecord {
    /// Creates the record of a copy of a picture.
    init(_ copy: borrowing VideoFrame, like other: PictureRecord) {
        self = other
        (format, width, height) = (copy.av.pointee.format, copy.width, copy.height)
    }
}
