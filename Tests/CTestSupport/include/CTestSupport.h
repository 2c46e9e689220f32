// Nothing in it is called by name: see ThreadSanitizer.c.
