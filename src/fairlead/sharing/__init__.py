"""Exact shares: problem, policies, filling, solvers, certificate, mechanisms."""
