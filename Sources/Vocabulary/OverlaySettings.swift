import KioskPlatform

/// The kind of an overlay.
package enum OverlayKind: String, Hashable, Sendable, CaseIterable {
    case text, clock, image, qr, ticker
}

/// The place of something in its region.
package enum OverlayAnchor: String, Hashable, Sendable, CaseIterable {
    case topLeft = "top-left"
    case top
    case topRight = "top-right"
    case left, center, right
    case bottomLeft = "bottom-left"
    case bottom
    case bottomRight = "bottom-right"

    /// The share of the free room to its left, and above it: 0, a half or 1.
    package var shares: (x: Double, y: Double) {
        let x: Double =
            switch self {
            case .topLeft, .left, .bottomLeft: 0
            case .top, .center, .bottom: 0.5
            case .topRight, .right, .bottomRight: 1
            }
        let y: Double =
            switch self {
            case .topLeft, .top, .topRight: 0
            case .left, .center, .right: 0.5
            case .bottomLeft, .bottom, .bottomRight: 1
            }
        return (x, y)
    }
}

/// The height of an overlay: in hundredths of the screen's height, or in millimetres. Its text is `5%` or `12mm`.
package enum OverlaySize: Hashable, Sendable, LosslessStringConvertible {
    /// 0.5…100.
    case percent(Double)
    /// 1…2000.
    case millimetres(Double)

    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{1,4}(?:\.[0-9]{1,3})?)(%|mm)/), let number = Double(match.1) else { return nil }
        if match.2 == "%" {
            guard 0.5...100 ~= number else { return nil }
            self = .percent(number)
        } else {
            guard 1...2000 ~= number else { return nil }
            self = .millimetres(number)
        }
    }

    package var description: String {
        func short(_ number: Double) -> String { number == number.rounded() ? "\(Int(number))" : "\(number)" }
        return switch self {
        case .percent(let number): short(number) + "%"
        case .millimetres(let number): short(number) + "mm"
        }
    }
}

/// The look of any overlay: the keys of `[[overlay]]` for that.
package struct OverlayLook: Hashable, Sendable {
    package var region = Region.full
    package var anchor = OverlayAnchor.bottomRight
    package var size = OverlaySize.percent(5)
    package var font = "Inter, sans-serif"
    package var color = Color.white
    /// The colour behind the text; nil for none.
    package var background: Color?
    /// The opacity of the background, 0…100.
    package var backgroundOpacity = 70
    /// The colour around the letters; nil for none.
    package var outline: Color? = .black
    /// 0…100.
    package var opacity = 100

    package init() {}
}
