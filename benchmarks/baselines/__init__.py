"""The baselines: plain programs for the same shares, written with public solvers.

Every baseline is a function of a problem, the scales and the weights that gives each job's share
divided by its weight. They take the papers' case: tenants of one job with unlimited tasks.
"""
