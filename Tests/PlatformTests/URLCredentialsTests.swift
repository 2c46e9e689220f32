import KioskPlatform
import Testing

@Suite struct URLCredentialsTests {
    @Test(arguments: [
        ("rtsp://admin:secret@camera/stream", "rtsp://***@camera/stream"),
        ("rtsp://token@camera:554/stream?profile=1@2", "rtsp://***@camera:554/stream?profile=1@2"),
        ("http://us%65r:p@ss:w@host/", "http://***@host/"),
        ("[http @ 0x55] Opening 'https://u:it's@host/a.ts' for reading", "[http @ 0x55] Opening 'https://***@host/a.ts' for reading"),
        ("from rtsp://a:b@c/ to rtmp://d:e@f/g, then on", "from rtsp://***@c/ to rtmp://***@f/g, then on"),
        ("https://user:pa/ss@host/: no such host", "https://***@host/: no such host"),
        ("https://user:p#?@host/x", "https://***@host/x"),
        ("http://host:8080/logo@2x.png", "http://host:8080/logo@2x.png"),
        ("http://[::1]:8080/logo@2x.png", "http://[::1]:8080/logo@2x.png"),
        ("https://host/clip.mp4?token=a@b", "https://host/clip.mp4?token=a@b"),
        ("/srv/a@b/c.mp4", "/srv/a@b/c.mp4"), ("x://", "x://"), ("://@", "://***@"), ("@", "@"), ("", ""),
    ])
    func userInformationIsMasked(text: String, masked: String) {
        #expect(text.withoutCredentials == masked)
        #expect(text.printable == masked)
    }
}
