"""The state of the online core by name: the book, its ids, scales, digest and invariants."""
