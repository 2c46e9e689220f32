/// A module of the application's own.
public let nameOfCapture = "Capture"
