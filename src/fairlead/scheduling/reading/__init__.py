"""The core as others read it: names, values and columns, and no slot arrays of the state."""
