import Testing

@testable import KioskPlatform

@Suite struct NetworkMountsTests {
    private static let mounts = NetworkMounts(
        """
        /dev/vda / ext4 rw,noatime 0 0
        10.9.0.2:/ /media/share nfs4 ro,vers=4.2,hard 0 0
        me@server:/clips /home/a\\040b/clips fuse.sshfs ro 0 0
        /dev/sda1 /media/share/stick vfat ro 0 0
        //server/x /mnt cifs ro 0 0
        tmpfs /mnt tmpfs rw 0 0

        """)

    @Test(arguments: [
        ("/srv/a.mp4", nil), ("/media/share/a.mp4", "/media/share"), ("/media/share/b/a.mp4", "/media/share"), ("/media/shared.mp4", nil),
        ("/media/share/stick/a.mp4", nil), ("/home/a b/clips/a.mp4", "/home/a b/clips"), ("/mnt/a.mp4", nil), ("a.mp4", nil),
    ]) func `a file lies on the innermost mount, and the newest`(_ path: String, _ mount: String?) {
        #expect(Self.mounts.mount(of: path) == mount)
    }

    @Test func `this machine's are read`() { #expect(NetworkMounts().mount(of: "/proc/self/mounts") == nil) }
}
