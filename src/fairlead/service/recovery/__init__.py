"""From a journal back to the core and the records, and whether all of it follows."""
