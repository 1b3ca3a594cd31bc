"""Ideal schedulers to compare a run with: what nobody can do online, and what it would give."""
