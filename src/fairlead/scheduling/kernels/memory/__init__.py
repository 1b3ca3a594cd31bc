"""Tables and records of the core in memory, and how functions over them are compiled."""
