"""A cluster and its jobs in arrays and rationals: what every policy and solver works on."""
