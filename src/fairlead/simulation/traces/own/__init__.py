"""The project's own trace format, fairlead.trace/1: read, written, described."""
