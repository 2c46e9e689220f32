/// A module of the application's own.
public let nameOfContent = "Content"
