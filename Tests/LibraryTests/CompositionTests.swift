import KioskConfiguration
import KioskPlatform
import KioskPlayer
import KioskVocabulary
import Testing

@testable import KioskExport

/// Compositions as arrangements of the engine: names, clamped numbers, refused times.
@Suite struct CompositionTests {
    private func changes(_ change: (inout Composition.Clip) -> Void) throws -> Arrangement.Changes {
        var clip = Composition.Clip(Asset("/a.mp4"))
        change(&clip)
        return try Composition([clip]).arrangement().clips[0].changes
    }

    @Test func `a clip without changes has none`() throws {
        #expect(try changes { _ in } == Arrangement.Changes())
        #expect(try changes { ($0.transform, $0.opacity, $0.volume) = (.identity, 1, 0.5) } == Arrangement.Changes())
    }

    @Test func `opacity and volume are clamped, and go along ramps`() throws {
        for (number, share) in [(-1, 0), (0, 0), (0.25, 0.25), (3, 1), (.infinity, 1), (-.infinity, 0), (.nan, 1)] as [(Float, Double)] {
            let changes = try changes { clip in
                clip.setOpacity(number, at: .seconds(1))
                clip.setVolume(number, at: .seconds(1))
            }
            #expect(changes.opacity?.value(at: .seconds(1)) == share && changes.volume?.value(at: .seconds(9)) == share)
            #expect(changes.opacity?.value(at: .milliseconds(999)) == 1)
        }
        let ramps = try changes { clip in
            clip.opacity = 0.5
            clip.setOpacityRamp(
                fromStartOpacity: 1, toEndOpacity: 0, timeRange: CMTimeRange(start: .seconds(2), duration: .seconds(2)))
            clip.setOpacity(0.75, at: .seconds(3))
        }
        let times = [0, 1.9, 2, 2.5, 2.999, 3, 100].map { ramps.opacity?.value(at: .seconds($0)) ?? -1 }
        #expect(zip(times, [0.5, 0.5, 1, 0.75, 0.5005, 0.75, 0.75]).allSatisfy { abs($0 - $1) < 1e-9 }, "\(times)")
    }

    @Test func `times from outside are refused by name`() {
        func message(_ change: (inout Composition.Clip) -> Void) -> String? {
            do { _ = try changes(change) } catch let error as AssetExportError {
                return error.code == .invalidComposition ? error.description : nil
            } catch {}
            return nil
        }
        for time in [CMTime.invalid, .indefinite, .positiveInfinity, .seconds(-1), .seconds(1e9)] {
            #expect(message { $0.setOpacity(0, at: time) }?.hasPrefix("opacity of clip 1") == true)
            #expect(message { $0.setVolume(0, at: time) }?.hasPrefix("volume of clip 1") == true)
            let range = CMTimeRange(start: .zero, duration: time)
            #expect(message { $0.setTransformRamp(fromStart: .identity, toEnd: .identity, timeRange: range) } != nil, "\(time)")
        }
        var composition = Composition([.init(Asset("/a.mp4"))])
        composition.overlays = [.init(.init(Asset("/b.mp4")), at: .seconds(-1))]
        #expect { try composition.arrangement() } throws: { "\($0)".hasPrefix("start of overlay 1") }
    }

    @Test func `transforms compose as CoreGraphics does`() {
        typealias Transform = Composition.Transform
        func apply(_ transform: Transform, _ x: Double, _ y: Double) -> [Double] {
            [transform.a * x + transform.c * y + transform.tx, transform.b * x + transform.d * y + transform.ty]
        }
        let moved = Transform(scaleX: 2, y: 3).concatenating(Transform(translationX: 10, y: 20))
        #expect(apply(moved, 1, 1) == [12, 23])
        #expect(apply(Transform(scaleX: 2, y: 3).translatedBy(x: 10, y: 20), 1, 1) == [22, 63])
        #expect(apply(Transform(translationX: 10, y: 20).scaledBy(x: 2, y: 3), 1, 1) == [12, 23])
        let turned = apply(Transform(rotationAngle: .pi / 2), 1, 0)
        #expect(abs(turned[0]) < 1e-12 && abs(turned[1] - 1) < 1e-12)
        let back = apply(moved.concatenating(moved.inverted()), 1, 1)
        #expect(abs(back[0] - 1) < 1e-12 && abs(back[1] - 1) < 1e-12 && Transform().isIdentity)
        #expect(Transform(scaleX: 0, y: 1).inverted() == Transform(scaleX: 0, y: 1))
        #expect(Transform.identity.rotated(by: 0.5) == Transform(rotationAngle: 0.5))
    }

    @Test func `overlays, an empty clip and music reach the engine`() throws {
        var composition = Composition([.empty(.seconds(4))])
        var clip = Composition.Clip(Asset("/b.mp4"))
        clip.transform = .init(scaleX: 0.5, y: 0.5)
        clip.transformsStoredPicture = true
        composition.overlays = [.init(clip, at: .seconds(1))]
        composition.music = .init(Asset("/m.wav"))
        composition.music?.setVolumeRamp(
            fromStartVolume: 0, toEndVolume: 1, timeRange: CMTimeRange(start: .zero, duration: .seconds(2)))
        let arrangement = try composition.arrangement()
        #expect(arrangement.clips[0].content == .card(text: "", subtitle: nil, background: nil, foreground: .white))
        #expect(arrangement.clips[0].duration == .seconds(4))
        #expect(arrangement.insets.map(\.start) == [.seconds(1)] && arrangement.insets[0].clip.changes.isOfStored)
        #expect(arrangement.insets[0].clip.changes.transform == Ramps(PictureTransform(scaleX: 0.5, y: 0.5)))
        #expect(arrangement.music?.volumes?.value(at: .seconds(1)) == 0.5)
    }
}
