"""Parts of `fairlead serve` and `fairlead start`."""
