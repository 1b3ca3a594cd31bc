"""The compiled part of the online core: its state in tables, and the functions that change it."""
