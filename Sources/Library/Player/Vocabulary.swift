// The types that applications and the engine share.
@_exported public import struct KioskVocabulary.AudioSession
@_exported public import struct KioskVocabulary.PixelSize
@_exported public import struct KioskVocabulary.Region
@_exported public import enum KioskVocabulary.TimeControlStatus
@_exported public import enum KioskVocabulary.VideoGravity
