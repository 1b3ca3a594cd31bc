"""Advice: the exact allocation of the present jobs in integers, and how the core follows it."""
