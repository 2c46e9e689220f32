import CKioskDRM
import Glibc

/// A list of property changes that take effect together or not at all. An error sticks: the first property that is not offered, or memory
/// that is not to be had, makes ``test(_:)`` and ``commit(_:userData:)`` fail, so that nothing need be checked on the way.
struct AtomicRequest: ~Copyable {
    /// One change that is asked for.
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
    /// What is asked for; the memory is kept from request to request.
    private var changes: [Change] = []

    init(_ card: DRMCard) {
        self.card = card
        request = drmModeAtomicAlloc()
        if request == nil { problem = DeviceError("allocate an atomic request", code: ENOMEM) }
    }

    deinit { drmModeAtomicFree(request) }

    /// Adds a change of a property that must be there; nil is "not offered". The corresponding C function is `drmModeAtomicAddProperty`.
    mutating func set<Object: KMSObject>(_ object: Object, _ property: PropertyID<Object>?, _ value: UInt64) {
        guard problem == nil else { return }
        guard let property else {
            problem = DeviceError("set a property that \(Object.kind) \(object.rawValue) of \(card.path) lacks", code: EOPNOTSUPP)
            return
        }
        add(Change(object, property, value))
    }

    /// Adds a change of a property that may be absent.
    mutating func setIfOffered<Object: KMSObject>(_ object: Object, _ property: PropertyID<Object>?, _ value: UInt64) {
        if property != nil { set(object, property, value) }
    }

    /// Adds a change that was made before.
    mutating func add(_ change: Change) {
        guard problem == nil else { return }
        changes.append(change)
        let status = drmModeAtomicAddProperty(request, change.object, change.property, change.value)
        if status < 0 { problem = DeviceError("add to an atomic request", code: status) }
    }

    /// Empties the list for the next commit, its memory kept.
    mutating func reset() {
        guard request != nil else { return }
        drmModeAtomicSetCursor(request, 0)
        changes.removeAll(keepingCapacity: true)
        problem = nil
    }

    /// Asks the driver whether it would do it, and changes nothing. `flags` are those of the commit that is meant.
    ///
    /// - Throws: what ``commit(_:_:userData:)`` would.
    func test(_ purpose: @autoclosure () -> String, _ flags: UInt32) throws(DeviceError) {
        try submit(purpose(), flags & ~UInt32(DRM_MODE_PAGE_FLIP_EVENT | DRM_MODE_ATOMIC_NONBLOCK) | UInt32(DRM_MODE_ATOMIC_TEST_ONLY), 0)
    }

    /// Asks the driver whether it would do it, without a modeset unless `flags` allow one. A flip that is under way, which some drivers do not plan around, is waited for.
    ///
    /// - Throws: what ``commit(_:_:userData:)`` would.
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

    /// Does it. `purpose` is what for: `set 1920x1080@60.00 on /dev/dri/card0`; `userData` comes back with the event that `flags` may ask
    /// for. The corresponding C function is `drmModeAtomicCommit`.
    ///
    /// - Throws: the purpose, every change that was asked for, and what the kernel said.
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
