
extension DisplaySettings {
    /// What the configuration says about the display.
    init(_ display: Configuration.Display) {
        self.init()
        switch display.connector {
        case .automatic: break
        case .connector(let card, let name): connector = .named(name, card: card)
        case .framebuffer(let path): (driver, framebufferPath) = (.framebuffer, path)
        case .offscreen: driver = .offscreen
        }
        if case .size(let width, let height, let refresh) = display.mode { mode = .size(width: width, height: height, refresh: refresh) }
        rotation = display.rotation
        background = UInt32(display.background.red) << 16 | UInt32(display.background.green) << 8 | UInt32(display.background.blue)
    }
}
