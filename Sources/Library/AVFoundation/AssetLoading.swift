public import KioskPlayer

/// A property of an asset to load: `asset.load(.duration)`.
public struct AVAsyncProperty<Root, Value>: Sendable {
    let value: @Sendable (Asset.Properties) -> Value
}

extension AVAsyncProperty where Root == Asset, Value == CMTime {
    /// The duration; indefinite for a still, and if it is endless or unknown.
    public static var duration: Self { Self { $0.duration } }
}

extension AVAsyncProperty where Root == Asset, Value == [AVAssetTrack] {
    /// All tracks.
    public static var tracks: Self { Self { $0.tracks } }
}

extension AVAsyncProperty where Root == Asset, Value == Bool {
    /// Whether it can be played: true, or the load throws.
    public static var isPlayable: Self { Self { _ in true } }
}

extension AVAsyncProperty where Root == Asset, Value == Asset.Metadata {
    /// The metadata.
    public static var commonMetadata: Self { Self { $0.metadata } }
}

extension Asset {
    /// Opens the asset, and returns a property of it. Each call opens it once; `load()` returns all properties.
    public func load<A>(_ property: AVAsyncProperty<Asset, A>) async throws -> A { property.value(try await load()) }

    /// Opens the asset once, and returns two properties of it.
    public func load<A, B>(_ a: AVAsyncProperty<Asset, A>, _ b: AVAsyncProperty<Asset, B>) async throws -> (A, B) {
        let properties = try await load()
        return (a.value(properties), b.value(properties))
    }

    /// Opens the asset once, and returns three properties of it.
    public func load<A, B, C>(
        _ a: AVAsyncProperty<Asset, A>, _ b: AVAsyncProperty<Asset, B>, _ c: AVAsyncProperty<Asset, C>
    ) async throws -> (A, B, C) {
        let properties = try await load()
        return (a.value(properties), b.value(properties), c.value(properties))
    }

    /// Opens the asset, and returns its tracks of a kind.
    public func loadTracks(withMediaType mediaType: AVMediaType) async throws -> [AVAssetTrack] {
        try await load().tracks.filter { $0.mediaType == mediaType }
    }
}
