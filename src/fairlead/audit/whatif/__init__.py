"""What would change: edits, catalogues, and both sides compared."""
