"""Fairness, all the time: what the exact allocation of the present jobs gives each of them."""
