import Foundation
import TestSupport
import Testing

/// A network share: NFS from the machine's own kernel. The server has a network namespace, at the other end of a veth pair.
extension MachineTests {
    /// The kernel does not report changes of a share, so kiosk reads the folder every five seconds.
    @Test(.thorough("a minute of an emulated machine")) func `a share is looked into, is gone for minutes, and comes back`() throws {
        let machine = try Machine.playing()
        try machine.wait(for: PlayOrder.stick)
        try machine.serveShare(holding: "/media/stick/two.mp4")
        try machine.setPlaylist(["/srv/kiosk/one.mp4", "/media/share"])
        try machine.pull("stick")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'the playlist has changed: .*new: far.mp4'")
        // The stick's clip may be on the screen or ready to be shown, and is then played to its end. The next round plays the share's clip
        // in its place. After the disk's clip there is only the share's.
        try machine.wait(for: PlayOrder.stick)
        try machine.wait(for: PlayOrder.disk)
        try machine.wait(for: PlayOrder.stick)
        let order = PlayOrder.whole
        let whole = try machine.watch(seams: 3, of: order)
        #expect(whole.foreign == 0 && order.faults(in: whole).isEmpty, "\(whole)")
        // Written on the server: inotify does not report it on this side.
        try machine.shell("cp /srv/remote/far.mp4 /srv/remote/.three && mv /srv/remote/.three /srv/remote/three.mp4")
        try machine.wait(untilSucceeds: "journalctl -b -u kiosk | grep -q 'the playlist has changed: 3 items; new: three.mp4'")

        try machine.shell("ip -n server link set far down")
        let away = try machine.watch(seconds: 150)
        print("share gone: stood for \(away.longestStill) s, in \(away.all.count) screens")
        #expect(away.foreign == 0, "\(away)")
        #expect(away.longestStill < 20, "stood for \(away.longestStill) s: \(away)")
        // Then the disk's clip loops alone, without a stop.
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
    /// Mounts the server's /srv/remote on /media/share, over NFS 4.2, with a copy of `file` in it. The server has a namespace of its own,
    /// `server`; its end of the veth pair is `far`.
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
