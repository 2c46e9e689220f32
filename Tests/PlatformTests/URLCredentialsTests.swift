import KioskPlatform
import Testing

@Suite struct URLCredentialsTests {
    @Test(arguments: [
        ("rtsp://admin:secret@camera/stream", "rtsp://***@camera/stream"),
        ("rtsp://token@camera:554/stream?profile=1@2", "rtsp://***@camera:554/stream?profile=***"),
        ("http://us%65r:p@ss:w@host/", "http://***@host/"),
        ("[http @ 0x55] Opening 'https://u:it's@host/a.ts' for reading", "[http @ 0x55] Opening 'https://***@host/a.ts' for reading"),
        ("from rtsp://a:b@c/ to rtmp://d:e@f/g, then on", "from rtsp://***@c/ to rtmp://***@f/g, then on"),
        ("https://user:pa/ss@host/: no such host", "https://***@host/: no such host"),
        ("https://user:p#?@host/x", "https://***@host/x"),
        ("http://host:8080/logo@2x.png", "http://host:8080/logo@2x.png"),
        ("http://[::1]:8080/logo@2x.png", "http://[::1]:8080/logo@2x.png"),
        ("https://host/clip.mp4?token=a@b", "https://host/clip.mp4?token=***"),
        ("https://host/a?sig=S3CRET&x=1&bare#frag", "https://host/a?sig=***&x=***&***"),
        ("https://host/a#access_token=1: is empty", "https://host/a: is empty"),
        ("srt://10.0.0.2:9000?passphrase=1234567890: gave no data", "srt://10.0.0.2:9000?passphrase=***: gave no data"),
        ("names “https://host/a?k=v”, which", "names “https://host/a?k=***”, which"),
        ("\"http://host/?next=http://u:p@other/x\"", "\"http://host/?next=***\""),
        ("what? no, /srv/a?b=c#d.mp4", "what? no, /srv/a?b=c#d.mp4"),
        ("/srv/a@b/c.mp4", "/srv/a@b/c.mp4"), ("x://", "x://"), ("://@", "://***@"), ("@", "@"), ("", ""),
    ])
    func userInformationIsMasked(text: String, masked: String) {
        #expect(text.withoutCredentials == masked)
        #expect(text.printable == masked)
    }
}
