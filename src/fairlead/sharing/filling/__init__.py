"""Exact progressive filling: doubles find the structure of each round, rationals its numbers."""
