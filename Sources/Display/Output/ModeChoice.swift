import KioskPlatform
import KioskPlayback
import KioskVocabulary

extension DisplayModeChoice {
    /// The answer of ``choose(from:)``: an index, and whether the request was met or had to be replaced.
    struct Choice: Hashable {
        var index: Int
        var isAsRequested: Bool
    }

    /// Which of a connector's modes to drive; nil only for an empty list.
    ///
    /// Interlaced and double-scanned modes are taken only where there is nothing else. Of several modes of the wanted size the
    /// nearest refresh within 0.5 Hz counts as the wanted one (59.94 for 60); without a wanted refresh it is the preferred mode if
    /// that has the size, else the highest refresh up to 60.5 Hz. A request that cannot be met becomes `preferred`.
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

    /// `1920x1080@60.00`, with an `i` where interlaced.
    package var name: String {
        let hundredths = Int((refresh * 100).rounded())
        return "\(width)x\(height)\(isProgressive ? "" : "i")@\(hundredths / 100).\((hundredths % 100).padded(to: 2))"
    }
}

extension DisplayMode {
    /// That of a display that is driven in a mode.
    init(_ display: String, _ mode: ConnectorMode, _ size: PhysicalMeasures? = nil) {
        self.init(
            width: mode.width, height: mode.height, refreshPeriod: MediaTime(nanoseconds: Int64((1e9 / mode.refresh).rounded())),
            name: "\(display) \(mode.name)", physicalWidth: size?.width, physicalHeight: size?.height)
    }
}
