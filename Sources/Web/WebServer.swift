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

    package init(listen: ListenAddress, configuration: Configuration, file: String?, socket: String, page: String? = nil) {
        (self.listen, self.configuration, self.file, self.socket, self.page) = (listen, configuration, file, socket, page)
    }
}

/// The page and the API of a player.
package final class WebServer: Sendable {
    private let server: HTTPServer
    let hub: EventHub
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
        let player = PlayerLink(settings.socket)
        let (hub, screen, page) = (EventHub(settings.socket), SharedScreen(player), StaticPage(folder: settings.page))
        var routes = SessionRoutes.routes(gate) + LiveRoutes.routes(player, hub, screen)
        routes += CommandRoutes.routes(player)
        let router = Router(routes, gate)
        self.hub = hub
        server = try HTTPServer.open(settings.listen, limits, atEnd: { screen.forget() }) { request, peer, body in
            do throws(APIError) {
                try gate.checkHost(request)
                if request.path.starts(with: Router.prefix) { return try router.answer(request, peer, body) }
                return try page.answer(request)
            } catch { return error.response }
        }
    }

    /// Serves until ``stop()``. Blocks.
    package func run() { server.run() }

    /// Ends ``run()``. Any thread.
    package func stop() { server.stop() }
}
