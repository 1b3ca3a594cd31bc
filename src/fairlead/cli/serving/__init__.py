"""What `fairlead serve` and `fairlead start` are made of."""
