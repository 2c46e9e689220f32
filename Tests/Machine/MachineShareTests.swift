import Foundation
import TestSupport
import Testing

/// A network share: NFS, served by the machine's own kernel in a network namespace of its own, at the other end of a virtual cable.
extension MachineTests {
    /// What changes there is not told by the kernel: the folder is looked into every five seconds.
    @Test(.thorough("a minute of an emulated machine")) func `a share is looked into, is gone for minutes, and comes back`() throws {
        let machine = try Machine.playing()
        try machine.wait(for: PlayOrder.stick)
        try machine.serveShare(holding: "/media/stick/two.mp4")
        try machine.setPlaylist(["/srv/kiosk/one.mp4", "/media/share"])
        try machine.pull("stick")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'the playlist has changed: .*new: far.mp4'")
        // The stick's clip may be on the screen or ready to be shown: it is played to its end, and what follows it then is the share's, which
        // has taken its place. Behind the disk's clip there is the share's alone.
        try machine.wait(for: PlayOrder.stick)
        try machine.wait(for: PlayOrder.disk)
        try machine.wait(for: PlayOrder.stick)
        let order = PlayOrder.whole
        let whole = try machine.watch(seams: 3, of: order)
        #expect(whole.foreign == 0 && order.faults(in: whole).isEmpty, "\(whole)")
        // Written on the server: no inotify of this side tells of it.
        try machine.shell("cp /srv/remote/far.mp4 /srv/remote/.three && mv /srv/remote/.three /srv/remote/three.mp4")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'the playlist has changed: 3 items; new: three.mp4'")

        try machine.shell("ip -n server link set far down")
        let away = try machine.watch(seconds: 150)
        print("share gone: stood for \(away.longestStill) s, in \(away.all.count) screens")
        #expect(away.foreign == 0, "\(away)")
        #expect(away.longestStill < 20, "stood for \(away.longestStill) s: \(away)")
        // After that the disk's clip alone, without a stop.
        let alone = PlayOrder(clips: [PlayOrder.disk])
        let settled = try machine.watch(seams: 4, of: alone)
        #expect(settled.foreign == 0 && alone.faults(in: settled).isEmpty, "\(settled)")
        #expect(settled.longestStill < 3, "stood for \(settled.longestStill) s: \(settled)")

        try machine.shell("ip -n server link set far up")
        try machine.wait(for: PlayOrder.stick, within: 120)
        let back = try machine.watch(seams: 3)
        #expect(back.foreign == 0, "\(back)")
        #expect(try machine.shell("systemctl show -P NRestarts kiosk.service") == "0")
    }
}

extension Machine {
    /// Mounts on /media/share what is in /srv/remote, over NFS 4.2; a copy of `file` is in it. The server has a namespace of its own, `server`,
    /// and `far` is its end of the cable.
    fileprivate func serveShare(holding file: String) throws {
        try shell(
            """
            set -e
            mkdir -p /srv/remote /media/share
            cp \(file) /srv/remote/far.mp4
            ip netns add server
            ip link add near type veth peer name far netns server
            ip addr add 10.9.0.1/24 dev near
            ip link set near up
            ip -n server link set lo up
            ip -n server addr add 10.9.0.2/24 dev far
            ip -n server link set far up
            ip netns exec server sh -ec '
                mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
                exportfs -o ro,fsid=0,insecure,no_subtree_check "*:/srv/remote"
                rpc.mountd -N 2 -N 3
                rpc.nfsd -N 3 -G 10 1'
            mount -t nfs4 -o ro,hard,timeo=50 10.9.0.2:/ /media/share
            test -e /media/share/far.mp4
            """, within: 120)
    }
}
