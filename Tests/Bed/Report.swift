/// What the director wrote down; its times are microseconds of the guest's CLOCK_MONOTONIC.
struct Report {
    var start: Int?
    /// Entry → when its first step was done.
    var done: [Int: Int] = [:]
    /// When the director, which nothing outranks, should have run, and how much later it did.
    var held: [(time: Int, late: Int)] = []
    var samples: [Sample] = []
    /// Nanoseconds of a system call, a change of processes and a page fault; empty where they were not asked for.
    var able: [Int] = []
    /// How long each reference took, in microseconds; those that failed are missing.
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

    /// Reads the lines direct.c describes.
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
