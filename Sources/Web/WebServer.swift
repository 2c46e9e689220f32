import KioskCommands
import KioskConfiguration
import KioskPlatform

/// The settings of kiosk-web.
package struct WebSettings: Sendable {
    package var listen: ListenAddress
    /// The configuration at the start.
    package var configuration: Configuration
    /// The absolute path of kiosk.conf; nil without one.
    package var file: String?
    /// The player's socket.
    package var socket: String
    /// The folder of the page; nil for the files in the program.
    package var page: String?
    package var kiosk = KioskProgram.installed

    package init(listen: ListenAddress, configuration: Configuration, file: String?, socket: String, page: String? = nil) {
        (self.listen, self.configuration, self.file, self.socket, self.page) = (listen, configuration, file, socket, page)
    }
}

/// The page and the API of a player.
package final class WebServer: Sendable {
    private let server: HTTPServer
    let hub: EventHub
    private let isSecure: Bool
    /// The URL of the page.
    package var url: String { "\(isSecure ? "https" : "http")://\(address)" }
    /// The address that it listens on, with the real port.
    package var address: ListenAddress { server.address }

    /// Starts to listen.
    ///
    /// - Throws: ``WebError`` if that fails, and on other addresses than loopback without a password.
    package static func open(_ settings: WebSettings) throws(WebError) -> WebServer {
        try WebServer(settings, HTTPServer.Limits())
    }

    init(_ settings: WebSettings, _ limits: HTTPServer.Limits) throws(WebError) {
        let gate = try Gate(passwordFile: settings.configuration.web.passwordFile, hosts: settings.configuration.web.hosts)
        guard settings.listen.isLoopback || gate.isPasswordRequired else {
            throw WebError(
                "[web] listen: \(settings.listen) is open to other machines, and there is no password: kiosk web password sets one; "
                    + "or listen on 127.0.0.1")
        }
        let web = settings.configuration.web
        var tls: TLSServer?
        if let certificate = web.certificate, let key = web.key { tls = try TLSServer(certificate: certificate, key: key) }
        isSecure = tls != nil
        let player = PlayerLink(settings.socket)
        let (hub, screen, page) = (EventHub(settings.socket), SharedScreen(player), StaticPage(folder: settings.page))
        let file = settings.file.map { ConfigurationFile($0, history: Self.stateFolder("history", $0), settings.configuration) }
        let configuration: @Sendable () -> Configuration = { file?.current ?? settings.configuration }
        let thumbnails = environment("STATE_DIRECTORY").map { $0 + "/thumbnails" }
        var routes = SessionRoutes.routes(gate, isSecure: tls != nil) + LiveRoutes.routes(player, hub, screen)
        routes += MachineRoutes(file: settings.file, kiosk: settings.kiosk).routes
        routes += FileRoutes(configuration: configuration, player: player, kiosk: settings.kiosk, thumbnails: thumbnails).routes
        routes += ScheduleRoutes.routes(configuration) + (file.map(ConfigurationRoutes.routes) ?? [])
        routes += CommandRoutes.routes(player)
        let described = routes
        routes.append(
            Route(.get, "openapi.json", "This document.", scope: nil) { _ throws(APIError) in .json(200, OpenAPI.document(described)) })
        let (router, health) = (Router(routes, gate), Health(player))
        self.hub = hub
        server = try HTTPServer.open(settings.listen, limits, tls: tls, atEnd: { screen.forget() }) { request, peer, body in
            do throws(APIError) {
                try gate.checkHost(request)
                if request.path.starts(with: Router.prefix) { return try router.answer(request, peer, body) }
                switch request.path {
                case ["healthz"]: return health.answer()
                case ["metrics"]:
                    guard try gate.admit(request, peer).scopes.contains(.view) else {
                        throw APIError(401, "not-signed-in", "sign in, or send a token")
                    }
                    return health.metrics()
                default: return try page.answer(request)
                }
            } catch { return error.response }
        }
    }

    /// The folder of this name for what kiosk-web keeps: that of the service, else beside kiosk.conf.
    private static func stateFolder(_ name: String, _ file: String) -> String {
        environment("STATE_DIRECTORY").map { $0 + "/" + name } ?? Folder.of(file) + "/.kiosk-web-" + name
    }

    /// Serves until ``stop()``. Blocks.
    package func run() { server.run() }

    /// Ends ``run()``. Any thread.
    package func stop() { server.stop() }
}
