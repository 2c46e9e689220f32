import CKioskDRM
import Glibc
import KioskPlatform
import KioskVocabulary

/// The display devices of this machine, for `kiosk devices` and for fault reports. A survey drives nothing, so it works while another
/// program has the screen, and on a machine without any device.
package struct DisplayDevices: Sendable {
    /// A DRM card.
    package struct Card: Sendable {
        /// `/dev/dri/card0`.
        package var path: String
        /// `card0`.
        var name: String { path.split(separator: "/").last.map(String.init) ?? path }
        /// The kernel driver, such as `vc4`.
        package var driver: String
        /// Whether it supports atomic commits.
        package var isAtomic: Bool
        /// Its connectors; empty for cards that only render.
        package var connectors: [Connector]
        /// The YUV formats that planes take, by connector name. kiosk need not convert pictures in these formats.
        package var videoFormats: [String: [String]] = [:]
        /// The paths of pictures of common sizes and formats to each connector with a display, or the reason why kiosk cannot ask. By
        /// connector name.
        package var paths: [String: [String]] = [:]
        /// Its planes.
        package var planes: [Plane]
        /// Other programs that have it open, as far as kiosk can see them. One of them may have the screen.
        package var users: [String]
    }

    /// A hardware plane.
    package struct Plane: Sendable {
        /// The kernel's number for it.
        package var id: UInt32
        /// `primary`, `overlay` or `cursor`.
        package var kind: String
        /// The pixel formats it takes, as four-letter codes.
        package var formats: [String]
    }

    /// A framebuffer device.
    package struct Framebuffer: Sendable {
        /// `/dev/fb0`.
        package var path: String
        /// Pixels across and down.
        package var width: Int, height: Int
        /// 32 or 16.
        package var bitsPerPixel: Int
        /// Whether it has room to pan between pictures.
        package var canPan: Bool
    }

    /// All cards that kiosk could open.
    package var cards: [Card] = []
    /// All framebuffer devices that kiosk could open.
    package var framebuffers: [Framebuffer] = []
    /// Devices that are there but that kiosk cannot use: `open /dev/dri/card0: Permission denied`.
    package var problems: [String] = []
    /// The display that kiosk would drive, such as `card0:HDMI-A-1 1920x1080@60.00`; nil if there is none yet.
    package var choice: String?
    /// The reason for the choice, or for its absence.
    package var reason = ""

    /// The refresh rate of the chosen mode, in Hz; nil if there is none yet.
    package var chosenRefreshRate: Double?

    /// Describes the machine, and the choice of `settings` on it. `asksPaths` also asks the drivers about picture paths, which takes some
    /// tenths of a second.
    package static func survey(_ settings: DisplaySettings, asksPaths: Bool = false) -> DisplayDevices {
        var devices = DisplayDevices()
        for path in DRMCard.paths() {
            do throws(DeviceError) {
                devices.cards.append(describe(try DRMCard.open(path), settings, asking: asksPaths))
            } catch { devices.problems.append("\(error)") }
        }
        for number in 0..<32 where access("/dev/fb\(number)", F_OK) == 0 {
            do throws(DeviceError) {
                let device = try FramebufferDevice.open("/dev/fb\(number)", enlarging: false)
                devices.framebuffers.append(
                    Framebuffer(
                        path: device.path, width: device.width, height: device.height,
                        bitsPerPixel: device.format.bytesPerPixel * 8, canPan: device.pages > 1))
            } catch { devices.problems.append("\(error)") }
        }
        (devices.choice, devices.reason) = devices.choose(settings)
        devices.chosenRefreshRate = devices.chosenMode(settings)?.refresh
        return devices
    }

    /// Returns the choice of `settings` among these devices, with the reason. Pure.
    func choose(_ settings: DisplaySettings) -> (choice: String?, reason: String) {
        if settings.connector == .offscreen { return ("offscreen", "as you set: kiosk shows nothing") }
        let scanout = cards.filter { $0.connectors.contains { !$0.isWriteback } }
        if settings.connector.takesCards, !scanout.isEmpty {
            let names = scanout.map(\.name)
            guard let place = settings.connector.choose(from: scanout.map(\.connectors), named: names) else {
                let what = settings.connector == .automatic ? "no connector has a display" : "\(settings.connector) has no display"
                return (nil, "\(what); kiosk waits for one")
            }
            let connector = scanout[place.card].connectors[place.connector]
            let name = "\(names[place.card]):\(connector.name)"
            guard let mode = settings.mode.choose(from: connector.modes) else {
                return (name, "connected, but its display offers no modes yet")
            }
            let how = settings.connector == .automatic ? "the first connector with a display" : "the connector that you set"
            let fit = mode.isAsRequested ? "mode \(settings.mode)" : "no mode \(settings.mode) there, so the preferred one"
            return ("\(name) \(connector.modes[mode.index].name)", "\(how); \(fit)")
        }
        if let device = framebuffers.first(where: { $0.path == settings.connector.framebufferPath }) {
            let why = settings.connector == .automatic ? "no DRM card with connectors can be used" : "the device that you set"
            return ("\(device.path) \(device.width)x\(device.height)", why)
        }
        if case .framebuffer(let path) = settings.connector { return (nil, "\(path) is not there or cannot be used; kiosk waits for it") }
        return (nil, problems.isEmpty ? "no graphics device; kiosk waits for one" : "no graphics device can be used; kiosk tries again")
    }

    private func chosenMode(_ settings: DisplaySettings) -> ConnectorMode? {
        guard let place = settings.connector.choose(from: cards.map(\.connectors), named: cards.map(\.name)) else { return nil }
        let modes = cards[place.card].connectors[place.connector].modes
        return settings.mode.choose(from: modes).map { modes[$0.index] }
    }

    private static func describe(_ card: DRMCard, _ settings: DisplaySettings, asking asksPaths: Bool) -> Card {
        let (records, all) = (card.connectors(probing: false) ?? [], card.planes())
        let planes = all.map { plane in
            let kind =
                switch plane.type {
                case .primary: "primary"
                case .cursor: "cursor"
                case .overlay: "overlay"
                }
            return Plane(id: plane.id.rawValue, kind: kind, formats: plane.formats.map(VideoFormat.name))
        }
        let connectors = records.map { record in
            let crtcs = record.possibleCRTCs(of: card)
            let taken = all.filter { $0.possibleCRTCs & crtcs != 0 }.flatMap(\.formats)
            return (record.connector.name, VideoFormat.all.filter { taken.contains($0.code) }.map(\.description))
        }
        var paths: [String: [String]] = [:]
        for record in records where asksPaths && !record.timings.isEmpty && !record.connector.isWriteback {
            do throws(PathInquiry.Refusal) {
                paths[record.connector.name] = try PathInquiry(card, record, settings).commonLines()
            } catch { paths[record.connector.name] = ["ways of pictures not checked: \(error)"] }
        }
        return Card(
            path: card.path, driver: card.driver, isAtomic: card.isAtomic, connectors: records.map(\.connector),
            videoFormats: card.isAtomic ? Dictionary(connectors, uniquingKeysWith: { $1 }) : [:], paths: paths, planes: planes,
            users: DeviceHolder.find(card.path))
    }
}
