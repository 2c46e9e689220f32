import CKioskDRM
import Glibc

/// A list of property changes that take effect together or not at all. Errors are sticky: after a missing property or a failed allocation,
/// ``test(_:_:)`` and ``commit(_:_:userData:)`` fail. So callers need no checks in between.
struct AtomicRequest: ~Copyable {
    /// One requested change.
    struct Change: Hashable, Sendable {
        /// `plane 31`.
        let kind: String, object: UInt32
        let property: UInt32, name: String
        let value: UInt64

        init<Object: KMSObject>(_ object: Object, _ property: PropertyID<Object>, _ value: UInt64) {
            (kind, self.object, self.property, name) = (Object.kind, object.rawValue, property.rawValue, property.name)
            self.value = value
        }
    }

    private let card: DRMCard
    private let request: drmModeAtomicReqPtr?
    private var problem: DeviceError?
    /// The requested changes; keeps its memory between requests.
    private var changes: [Change] = []

    init(_ card: DRMCard) {
        self.card = card
        request = drmModeAtomicAlloc()
        if request == nil { problem = DeviceError("allocate an atomic request", code: ENOMEM) }
    }

    deinit { drmModeAtomicFree(request) }

    /// Adds a change of a required property; nil means that the object does not offer it. The corresponding C function is
    /// `drmModeAtomicAddProperty`.
    mutating func set<Object: KMSObject>(_ object: Object, _ property: PropertyID<Object>?, _ value: UInt64) {
        guard problem == nil else { return }
        guard let property else {
            problem = DeviceError("set a property that \(Object.kind) \(object.rawValue) of \(card.path) lacks", code: EOPNOTSUPP)
            return
        }
        add(Change(object, property, value))
    }

    /// Adds a change of an optional property.
    mutating func setIfOffered<Object: KMSObject>(_ object: Object, _ property: PropertyID<Object>?, _ value: UInt64) {
        if property != nil { set(object, property, value) }
    }

    /// Adds an existing change.
    mutating func add(_ change: Change) {
        guard problem == nil else { return }
        changes.append(change)
        let status = drmModeAtomicAddProperty(request, change.object, change.property, change.value)
        if status < 0 { problem = DeviceError("add to an atomic request", code: status) }
    }

    /// Empties the list for the next commit; keeps its memory.
    mutating func reset() {
        guard request != nil else { return }
        drmModeAtomicSetCursor(request, 0)
        changes.removeAll(keepingCapacity: true)
        problem = nil
    }

    /// Asks the driver whether it would accept the request, and changes nothing. `flags` are those of the later commit.
    ///
    /// - Throws: the same as ``commit(_:_:userData:)``.
    func test(_ purpose: @autoclosure () -> String, _ flags: UInt32) throws(DeviceError) {
        try submit(purpose(), flags & ~UInt32(DRM_MODE_PAGE_FLIP_EVENT | DRM_MODE_ATOMIC_NONBLOCK) | UInt32(DRM_MODE_ATOMIC_TEST_ONLY), 0)
    }

    /// Asks the driver whether it would accept the request, without a modeset unless `flags` allow one. Waits for a flip in progress, as
    /// some drivers cannot test beside one.
    ///
    /// - Throws: the same as ``commit(_:_:userData:)``.
    func testBesideFlips(_ purpose: @autoclosure () -> String, _ flags: UInt32 = 0) throws(DeviceError) {
        for attempt in 1... {
            do throws(DeviceError) {
                return try test(purpose(), flags)
            } catch {
                guard case .busy = error, attempt < 10 else { throw error }
                usleep(2000)
            }
        }
    }

    /// Commits the request. `purpose` is for messages: `set 1920x1080@60.00 on /dev/dri/card0`. `userData` comes back with the event, if
    /// `flags` ask for one. The corresponding C function is `drmModeAtomicCommit`.
    ///
    /// - Throws: the purpose, every requested change, and the kernel's error.
    func commit(_ purpose: @autoclosure () -> String, _ flags: UInt32, userData: UInt64 = 0) throws(DeviceError) {
        try submit(purpose(), flags, userData)
    }

    private func submit(_ purpose: @autoclosure () -> String, _ flags: UInt32, _ userData: UInt64) throws(DeviceError) {
        if let problem { throw problem }
        let status = drmModeAtomicCommit(card.fd, request, flags, UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: userData)))
        if status != 0 { throw DeviceError(purpose(), code: status, changes: changes) }
    }
}

extension [AtomicRequest.Change] {
    /// `plane 31: FB_ID 70, CRTC_ID 42; CRTC 42: ACTIVE 1`.
    var text: String {
        var text = ""
        var last: AtomicRequest.Change?
        for change in self {
            if let last, (last.kind, last.object) == (change.kind, change.object) {
                text += ", "
            } else {
                text += "\(last == nil ? "" : "; ")\(change.kind) \(change.object): "
            }
            text += "\(change.name) \(change.value)"
            last = change
        }
        return text
    }
}
