"""Studies of the k-DF paper (Jiang, Wu)."""
