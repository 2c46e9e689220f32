import KioskPlatform
import KioskPlayback
import KioskVocabulary

extension DisplayModeChoice {
    /// The answer of ``choose(from:)``: an index, and whether it meets the request.
    struct Choice: Hashable {
        var index: Int
        var isAsRequested: Bool
    }

    /// Returns the mode of a connector to drive; nil only for an empty list.
    ///
    /// Takes interlaced and double-scanned modes only if there are no others. Of several modes of the wanted size, the one with the nearest
    /// refresh within 0.5 Hz matches (59.94 for 60). Without a wanted refresh, takes the preferred mode if it has that size, else the
    /// highest refresh up to 60.5 Hz. A request that no mode meets becomes `preferred`.
    func choose(from modes: [ConnectorMode]) -> Choice? {
        let progressive = modes.indices.filter { modes[$0].isProgressive }
        let usable = progressive.isEmpty ? Array(modes.indices) : progressive
        guard let first = usable.first else { return nil }
        let preferred = usable.first { modes[$0].isPreferred } ?? first
        guard case .size(let width, let height, let refresh) = self else { return Choice(index: preferred, isAsRequested: true) }

        let sized = usable.filter { modes[$0].width == width && modes[$0].height == height }
        if let refresh {
            let near = sized.filter { abs(modes[$0].refresh - refresh) <= 0.5 }
            if let best = near.min(by: { abs(modes[$0].refresh - refresh) < abs(modes[$1].refresh - refresh) }) {
                return Choice(index: best, isAsRequested: true)
            }
        } else if sized.contains(preferred) {
            return Choice(index: preferred, isAsRequested: true)
        } else {
            let calm = sized.filter { modes[$0].refresh <= 60.5 }
            if let best = (calm.isEmpty ? sized : calm).max(by: { modes[$0].refresh < modes[$1].refresh }) {
                return Choice(index: best, isAsRequested: true)
            }
        }
        return Choice(index: preferred, isAsRequested: false)
    }
}

/// One mode that a connector offers.
package struct ConnectorMode: Hashable, Sendable {
    /// Visible pixels across and down.
    package var width: Int, height: Int
    /// Pictures a second, from the pixel clock.
    package var refresh: Double
    /// Whether the display prefers it.
    package var isPreferred = true
    /// Neither interlaced nor double-scanned.
    package var isProgressive = true

    /// `1920x1080@60.00`, with an `i` if interlaced.
    package var name: String {
        let hundredths = Int((refresh * 100).rounded())
        return "\(width)x\(height)\(isProgressive ? "" : "i")@\(hundredths / 100).\((hundredths % 100).padded(to: 2))"
    }
}

extension DisplayMode {
    /// The mode of a display that is driven in `mode`.
    init(_ display: String, _ mode: ConnectorMode, _ size: PhysicalMeasures? = nil) {
        self.init(
            width: mode.width, height: mode.height, refreshPeriod: MediaTime(nanoseconds: Int64((1e9 / mode.refresh).rounded())),
            name: "\(display) \(mode.name)", physicalWidth: size?.width, physicalHeight: size?.height)
    }
}
