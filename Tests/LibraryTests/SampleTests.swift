import KioskDisplay
import KioskPlatform
import KioskPlayer
import TestSupport
import Testing

@Suite(.blocking) struct SampleTests {
    /// Returns the bytes of a plane.
    private func bytes(_ sample: VideoSample, _ plane: Int) -> [UInt8]? {
        sample.withPlane(plane) { span, _ in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(span.byteCount)
            for offset in 0..<span.byteCount { bytes.append(span.unsafeLoad(fromByteOffset: offset, as: UInt8.self)) }
            return bytes
        }
    }

    /// Returns the number in the luma of a sample that is stored upright.
    private func number(_ sample: VideoSample) -> Int {
        guard let luma = bytes(sample, 0), let plane = sample.planes.first else { return -1 }
        return burnedInNumber(width: sample.size.width, height: sample.size.height) { Int(luma[$1 * plane.bytesPerRow + $0]) }
    }

    private func number(_ bitmap: Bitmap) -> Int {
        let pixels = bitmap.pixels
        return burnedInNumber(width: bitmap.width, height: bitmap.height) { Int(pixels[$1 * bitmap.width + $0] >> 8 & 255) }
    }

    @Test func picturesAreTakenByHostTime() async throws {
        let output = VideoOutput.samples(width: 320, height: 180)
        #expect(output.size == PixelSize(width: 320, height: 180) && output.sample(forHostTime: .hostTime) == nil)
        let clip = try Clips.numbered("samples.mp4", frames: 60, from: 1001)
        let player = Player(PlayerItem(clip), video: output)
        #expect(await eventually { output.sample(forHostTime: .hostTime) != nil }, "a paused player has its first picture")
        let first = try #require(output.sample(forHostTime: .hostTime))
        #expect(number(first) == 1001 && first.itemTime == .zero && first.hostTime <= .hostTime)
        #expect(output.hasNewSample(forHostTime: .hostTime, after: nil))
        #expect(!output.hasNewSample(forHostTime: .hostTime, after: first))

        player.play()
        var samples: [VideoSample] = []
        #expect(
            await eventually {
                if let next = output.sample(forHostTime: .hostTime), next != samples.last { samples.append(next) }
                return samples.last.map { number($0) == 1060 } ?? false
            }, "\(samples.map(number))")
        let numbers = samples.map(number)
        #expect(numbers.count > 10 && numbers == numbers.sorted(), "\(numbers)")
        for (sample, number) in zip(samples, numbers) {
            #expect(abs(sample.itemTime.seconds - Double(number - 1001) / 30) < 0.001, "\(number): \(sample.itemTime)")
        }
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.hostTime < $1.hostTime })
        player.stop()
        #expect(number(samples[0]) == numbers[0], "a sample outlives its player")
        output.close()
        #expect(output.sample(forHostTime: .hostTime) == nil)
    }

    @Test func aSampleDescribesItsPicture() async throws {
        let output = VideoOutput.samples()
        let player = Player(PlayerItem(try Clips.numbered("described.mp4", frames: 3, from: 71)), video: output)
        #expect(await eventually { output.sample(forHostTime: .hostTime) != nil })
        let sample = try #require(output.sample(forHostTime: .hostTime))
        #expect(sample.pixelFormat == "yuv420p" && sample.size == PixelSize(width: 320, height: 180) && sample.pixelAspectRatio == 1)
        #expect(sample.rotation == .none && !sample.isMirrored && !sample.colorSpace.isFullRange && sample.drmPrime == nil)
        #expect(sample.planes.map(\.bytesOfPixels) == [320, 160, 160] && sample.planes.map(\.height) == [180, 90, 90])
        for (index, plane) in sample.planes.enumerated() {
            #expect(plane.bytesPerRow >= plane.bytesOfPixels)
            #expect(bytes(sample, index)?.count == (plane.height - 1) * plane.bytesPerRow + plane.bytesOfPixels)
        }
        #expect(bytes(sample, 3) == nil && bytes(sample, -1) == nil)
        let bitmap = try sample.bitmap()
        #expect(bitmap.width == 320 && bitmap.height == 180 && number(bitmap) == 71)
        let large = try sample.bitmap(width: 640, height: 360)
        #expect(large.width == 640 && large.height == 360 && number(large) == 71)
        #expect(try output.png().starts(with: [0x89, 0x50, 0x4E, 0x47]))
        player.stop()
        output.close()
    }

    @Test func aTurnedPictureIsConvertedUpright() async throws {
        let output = VideoOutput.samples()
        let player = Player(PlayerItem(try Clips.named("turned-90.mp4")), video: output)
        #expect(await eventually { output.sample(forHostTime: .hostTime) != nil })
        let sample = try #require(output.sample(forHostTime: .hostTime))
        #expect(sample.rotation == .clockwise90 && sample.size == PixelSize(width: 320, height: 180))
        let bitmap = try sample.bitmap()
        #expect(bitmap.width == 180 && bitmap.height == 320 && number(bitmap) == 1, "\(number(bitmap))")
        player.stop()
        output.close()
    }

    @Test func onlySuchOutputsHaveSamples() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let player = Player(PlayerItem(try Clips.numbered("described.mp4", frames: 3, from: 71)), video: display)
        #expect(await eventually { player.statistics.framesShown > 0 })
        #expect(display.sample(forHostTime: .hostTime) == nil && !display.hasNewSample(forHostTime: .hostTime, after: nil))
        player.stop()
        display.close()
        // A second player plays unseen, and disturbs nothing.
        let output = VideoOutput.samples()
        let players = try (0..<2).map { Player(PlayerItem(try Clips.numbered("two-\($0).mp4", frames: 3, from: 81 + $0)), video: output) }
        for player in players { player.play() }
        #expect(await eventually { players.allSatisfy { $0.statistics.framesShown > 2 } })
        #expect(number(try #require(output.sample(forHostTime: .hostTime))) == 83)
        for player in players { player.stop() }
        output.close()
    }
}
