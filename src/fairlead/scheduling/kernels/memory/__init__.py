"""Tables and records of the core in memory."""
