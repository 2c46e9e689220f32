import Glibc
import KioskPlatform
import KioskVocabulary

extension FileVersion {
    /// Makes the version of a file found at `path`. The inode number is 0 (``inode``) if the file system does not keep it. Otherwise a
    /// stick would seem to have new files after each insertion, and a clip could play twice in a row.
    init(_ status: stat, at path: String) {
        self.init(status)
        if FolderWatch.numbersAnew(path) { inode = 0 }
    }
}
