import Glibc
import KioskPlatform
import KioskVocabulary

extension FileVersion {
    /// That of a file that was found at `path`; without its inode number (``inode`` is 0) if that says nothing. Else a stick that is put in again would have
    /// other files on it, and a clip of it be played twice in a row.
    init(_ status: stat, at path: String) {
        self.init(status)
        if FolderWatch.numbersAnew(path) { inode = 0 }
    }
}
