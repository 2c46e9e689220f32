import CKioskPlatform
import CReader
import CReaderMemory
import Glibc
import KioskReaderServer

/// `kiosk-reader`: started by the player, and of no use to anybody else. It loads what media are read with, and then only forks (creader.h); each
/// process that it forks reads one source in a sandbox (``ReaderServer``).
@main enum KioskReader {
    static func main() {
        guard CommandLine.arguments.dropFirst() == ["zygote"], fcntl(Int32(KIOSK_READER_CONTROL), F_GETFD) >= 0 else {
            let words = "kiosk starts kiosk-reader to read media: do not start it by hand\n"
            _ = words.withCString { write(2, $0, strlen($0)) }
            exit(64)
        }
        kiosk_use_reader_memory()
        kiosk_tune_malloc()
        ReaderServer.warmUp()
        kiosk_zygote_serve()
        ReaderServer.serveProcess()
    }
}
