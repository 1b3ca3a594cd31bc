"""Studies that the papers did not make: real clusters, the cost of fairness, what is unusable."""
