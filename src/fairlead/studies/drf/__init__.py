"""Studies of the DRF paper (Ghodsi et al., NSDI 2011)."""
