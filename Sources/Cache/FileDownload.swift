import Glibc
import KioskPlatform
import KioskVocabulary

/// One file over HTTP, onto the disk.
package enum FileDownload {
    /// Why there is no file.
    package struct Failure: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Writes the file at `url`, http or https, into `file`; at most `limit` bytes. Blocks. Follows redirections, but never from https to
    /// http.
    package static func run(_ url: String, into file: borrowing Descriptor, atMost limit: Int64) throws(Failure) {
        guard Transfer.isAvailable else { throw Failure(description: Transfer.absence) }
        let raw = file.raw
        var (written, isTooLong, error): (Int64, Bool, SystemError?) = (0, false, nil)
        let outcome = Transfer(url: url).run(
            body: { head, bytes in
                if head.status != 200 { return true }
                written += Int64(bytes.count)
                isTooLong = written > limit || head.length ?? 0 > limit
                if isTooLong { return false }
                var rest = bytes
                while !rest.isEmpty {
                    let count = write(raw, rest.baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else {
                        error = SystemError()
                        return false
                    }
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
                return true
            }, goesOn: { true })
        if isTooLong { throw Failure(description: "the file has more than \(limit) bytes") }
        if let error { throw Failure(description: "write the file: \(error)") }
        if let problem = outcome.problem { throw Failure(description: problem) }
        guard outcome.head.status == 200 else { throw Failure(description: "the server answers with status \(outcome.head.status)") }
        if outcome.head.isStreamList { throw Failure(description: "this is the list of a stream: add its URL to the playlist instead") }
        guard written > 0 else { throw Failure(description: "the file is empty") }
    }
}
