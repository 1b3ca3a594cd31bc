"""Edits of an input, catalogues, and what they change: both sides compared."""
