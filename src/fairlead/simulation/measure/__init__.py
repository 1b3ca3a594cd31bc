"""Measures of a run: sinks, moments, distances, tables."""
