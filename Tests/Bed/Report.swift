/// The director's report; its times are microseconds of the guest's CLOCK_MONOTONIC.
struct Report {
    var start: Int?
    /// The index of an entry → the time of its first step.
    var done: [Int: Int] = [:]
    /// The times at which the director should have run, and its delays. Nothing outranks the director.
    var held: [(time: Int, late: Int)] = []
    var samples: [Sample] = []
    /// Nanoseconds of a system call, a process switch and a page fault; empty if not measured.
    var able: [Int] = []
    /// The microseconds of each reference; failed ones are missing.
    var references: [Int] = []
    var asked: Int?
    var wasKilled = false
    var end: End?
    var terminal: String?
    /// The director came to its own end.
    var isComplete = false

    struct Sample: Equatable {
        var time: Int, cpu: Int, residentKilobytes: Int, threads: Int, descriptors: Int, shareKilobytes: Int
    }

    struct End: Equatable {
        var time: Int, status: Int, cpu: Int, peakKilobytes: Int
    }

    /// Reads the lines that direct.c describes.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let numbers = words.dropFirst().compactMap { Int($0) }
            switch (words.first, numbers.count) {
            case ("start", 2): start = numbers[0]
            case ("did", 2): done[numbers[0]] = done[numbers[0]] ?? numbers[1]
            case ("held", 2): held.append((numbers[0], numbers[1]))
            case ("sample", 6):
                samples.append(
                    Sample(
                        time: numbers[0], cpu: numbers[1], residentKilobytes: numbers[2], threads: numbers[3], descriptors: numbers[4],
                        shareKilobytes: numbers[5]))
            case ("able", 3): able = numbers
            case ("reference", 1): references.append(numbers[0])
            case ("asked", 1): asked = numbers[0]
            case ("killed", 0): wasKilled = true
            case ("ended", 4): end = End(time: numbers[0], status: numbers[1], cpu: numbers[2], peakKilobytes: numbers[3])
            case ("terminal", 0): terminal = words.dropFirst().joined(separator: " ")
            case ("done", 0): isComplete = true
            default: break
            }
        }
    }
}
