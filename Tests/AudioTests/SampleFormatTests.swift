import Testing

@testable import KioskAudioCore

@Suite struct SampleFormatTests {
    private func convert(_ stereo: [Float], to layout: FrameLayout) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xAA, count: stereo.count / 2 * layout.bytesPerFrame)
        stereo.withUnsafeBufferPointer { source in bytes.withUnsafeMutableBytes { layout.convert(source, into: $0) } }
        return bytes
    }

    private func integers<Sample: FixedWidthInteger>(_ bytes: [UInt8], as type: Sample.Type) -> [Sample] {
        bytes.withUnsafeBytes { raw in
            stride(from: 0, to: raw.count, by: MemoryLayout<Sample>.size).map { raw.loadUnaligned(fromByteOffset: $0, as: type) }
        }
    }

    @Test func everySixteenBitSampleComesOutAsItWas() {
        let all = (Int16.min...Int16.max).map { $0 }
        let out = convert(all.map { Float($0) / 32_768 }, to: FrameLayout(sample: .s16, channelCount: 2))
        #expect(integers(out, as: Int16.self) == all)
    }

    @Test func everyTwentyFourBitSampleComesOutAsItWas() {
        let some = stride(from: -8_388_608, to: 8_388_608, by: 4099).map { Int32($0) } + [8_388_607, 0]
        let floats = some.map { Float($0) / 8_388_608 }
        #expect(integers(convert(floats, to: FrameLayout(sample: .s24, channelCount: 2)), as: Int32.self) == some)
        let packed = convert(floats, to: FrameLayout(sample: .s24Packed, channelCount: 2))
        let unpacked = stride(from: 0, to: packed.count, by: 3).map {
            Int32(bitPattern: UInt32(packed[$0]) << 8 | UInt32(packed[$0 + 1]) << 16 | UInt32(packed[$0 + 2]) << 24) >> 8
        }
        #expect(unpacked == some)
    }

    @Test func whatIsOutOfRangeIsClampedAndWhatIsNoNumberIsSilent() {
        let stereo: [Float] = [1, -1, 7, -7, .infinity, -.infinity, .nan, 0.25]
        let s16 = integers(convert(stereo, to: FrameLayout(sample: .s16, channelCount: 2)), as: Int16.self)
        #expect(s16 == [32_767, -32_768, 32_767, -32_768, 32_767, -32_768, 0, 8192])
        let s32 = integers(convert(stereo, to: FrameLayout(sample: .s32, channelCount: 2)), as: Int32.self)
        #expect(s32 == [.max, .min, .max, .min, .max, .min, 0, 1 << 29])
        let floats = integers(convert(stereo, to: FrameLayout(sample: .float, channelCount: 2)), as: UInt32.self)
        #expect(floats.map { Float(bitPattern: $0) } == [1, -1, 1, -1, 1, -1, 0, 0.25])
    }

    @Test func oneChannelGetsTheMeanAndExtraOnesAreSilent() {
        let stereo: [Float] = [0.5, 0.25, -0.5, 0.5]
        let mono = integers(convert(stereo, to: FrameLayout(sample: .s16, channelCount: 1)), as: Int16.self)
        #expect(mono == [12_288, 0])
        let six = integers(convert(stereo, to: FrameLayout(sample: .s16, channelCount: 6)), as: Int16.self)
        #expect(six == [16_384, 8192, 0, 0, 0, 0, -16_384, 16_384, 0, 0, 0, 0])
    }
}
