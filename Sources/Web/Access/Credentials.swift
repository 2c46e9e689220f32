// The file of the password and the tokens: `[web] password-file`. `kiosk web password` and `kiosk web token` write it. A line is one of:
//
//     password $y$j9T$…                                     as crypt(3) makes it
//     token NAME SCOPE[,SCOPE…] SHA256-OF-THE-TOKEN
import CKioskCrypt
import Glibc
import KioskCommands
import KioskPlatform

/// A password and tokens, as their file has them.
package struct Credentials: Hashable, Sendable {
    /// A token of a program.
    package struct Token: Hashable, Sendable {
        package var name: String
        package var scopes: Set<CommandScope>
        /// SHA-256 in hexadecimal: a token has 256 random bits, so nothing slower is needed.
        package var digest: String
    }

    /// The hash of the password, as crypt(3) makes it; nil without a password.
    package var password: String?
    package var tokens: [Token] = []

    package init() {}

    /// Reads the text of a file.
    ///
    /// - Throws: the first mistake.
    package init(text: String) throws(WebError) {
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ")
            if words.isEmpty || line.hasPrefix("#") { continue }
            if words.count == 2, words[0] == "password", words[1].hasPrefix("$"), password == nil {
                password = String(words[1])
            } else if words.count == 4, words[0] == "token", let scopes = Self.scopes(words[2]), words[3].utf8.count == 64 {
                tokens.append(Token(name: String(words[1]), scopes: scopes, digest: String(words[3])))
            } else {
                throw WebError("line \(number + 1): expected \"password HASH\" or \"token NAME SCOPES HASH\"; kiosk web writes them")
            }
        }
    }

    /// Returns the scopes of `view,control`; nil if one is unknown.
    package static func scopes(_ text: some StringProtocol) -> Set<CommandScope>? {
        let words = text.split(separator: ",")
        let scopes = words.compactMap { CommandScope(rawValue: String($0)) }
        return scopes.count == words.count && !words.isEmpty ? Set(scopes) : nil
    }

    /// The text of the file.
    package var text: String {
        var lines = ["# Written by kiosk web password and kiosk web token."]
        if let password { lines.append("password \(password)") }
        lines += tokens.map { token in
            "token \(token.name) \(CommandScope.allCases.filter(token.scopes.contains).map(\.rawValue).joined(separator: ",")) \(token.digest)"
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Reads a file; without one there are no credentials.
    ///
    /// - Throws: ``WebError`` if it cannot be read, if others may read it, or if it has a mistake.
    package static func read(_ path: String) throws(WebError) -> Credentials {
        guard let file = Descriptor(opening: path) else {
            if errno == ENOENT { return Credentials() }
            throw WebError("read \(path): \(SystemError())")
        }
        guard let status = file.status, status.isFile, let bytes = file.read(atMost: 1 << 20) else {
            throw WebError("read \(path): it is not a file")
        }
        guard status.st_mode & 0o007 == 0 else {
            throw WebError("\(path): every user may read it: chmod 640 \(path), and choose another password")
        }
        do throws(WebError) { return try Credentials(text: String(decoding: bytes, as: UTF8.self)) } catch {
            throw WebError("\(path): \(error)")
        }
    }

    /// Adds a token, and returns its secret.
    ///
    /// - Throws: ``WebError`` for a name that is taken, or cannot be one.
    package mutating func addToken(_ name: String, _ scopes: Set<CommandScope>) throws(WebError) -> String {
        guard 1...40 ~= name.utf8.count, name.utf8.allSatisfy({ Self.isOfName($0) }) else {
            throw WebError("“\(name)”: the name of a token has letters, digits and hyphens, 40 at most")
        }
        guard !tokens.contains(where: { $0.name == name }) else {
            throw WebError("there is a token “\(name)”: remove it with --remove, or choose another name")
        }
        let secret = Secret.random()
        tokens.append(Token(name: name, scopes: scopes, digest: SHA256.hexadecimal(secret.utf8)))
        return secret
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || byte == UInt8(ascii: "-")
    }

    /// Writes a file that its owner may write and its group read.
    package func write(_ path: String) throws(WebError) {
        // A new file of root's is for the service to read.
        let group = stat(at: path)?.st_gid ?? (geteuid() == 0 ? getgrnam("kiosk-web")?.pointee.gr_gid : nil)
        if let error = AtomicFile.write(path, text, mode: 0o640, isSynced: true) { throw WebError("write \(path): \(error)") }
        if let group { _ = chown(path, uid_t.max, group) }
    }

    /// Returns the hash of a password: yescrypt, the successor of scrypt. Takes a tenth of a second and 16 MB. The corresponding C functions
    /// are `crypt_gensalt` and `crypt`.
    package static func hash(_ password: String) throws(WebError) -> String {
        var text = [CChar](repeating: 0, count: 512)
        guard kiosk_password_hash(password, &text, text.count) == 0 else { throw WebError("hash the password: \(SystemError())") }
        return text.text
    }

    /// Returns whether this is the password. As slow as ``hash(_:)``.
    func accepts(password given: String) -> Bool {
        guard let password else { return false }
        return kiosk_password_matches(given, password)
    }

    /// Returns the token of which `given` is the secret.
    func token(_ given: String) -> Token? {
        let digest = SHA256.hexadecimal(given.utf8)
        return tokens.filter { Secret.isEqual($0.digest, digest) }.first
    }
}
