import CKioskFFmpeg

extension VideoFrame {
    /// The luma of the brightest patch, 0 (black) to 255, where the picture is divided into 32x18 patches: tells a black frame from a dark
    /// one with something in it. nil for a picture that libswscale cannot read. The corresponding C function is `sws_scale`.
    package func brightestPatch() -> Int? {
        let (width, height) = (32, 18)
        guard
            let context = sws_getContext(
                av.pointee.width, av.pointee.height, AVPixelFormat(rawValue: av.pointee.format), Int32(width), Int32(height),
                AV_PIX_FMT_GRAY8, Int32(SWS_AREA), nil, nil, nil)
        else { return nil }
        defer { sws_freeContext(context) }
        var patches = [UInt8](repeating: 0, count: width * height)
        let lines = patches.withUnsafeMutableBufferPointer { buffer in
            let source = UnsafeRawPointer(av).advanced(by: MemoryLayout<AVFrame>.offset(of: \AVFrame.data)!)
                .assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
            let strides = UnsafeRawPointer(av).advanced(by: MemoryLayout<AVFrame>.offset(of: \AVFrame.linesize)!)
                .assumingMemoryBound(to: Int32.self)
            var target: UnsafeMutablePointer<UInt8>? = buffer.baseAddress
            var stride = Int32(width)
            return sws_scale(context, source, strides, 0, av.pointee.height, &target, &stride)
        }
        guard lines > 0 else { return nil }
        // Black of limited range is 16; libswscale keeps it so unless it is told otherwise.
        return patches.max().map { Int($0) }
    }
}
