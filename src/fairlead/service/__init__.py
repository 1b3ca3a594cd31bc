"""The live service: one loop that owns the journal, the core and the records of what became of
everything, and the API in front of it."""
