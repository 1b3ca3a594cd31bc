"""What is measured of a run: sinks, moments, distances, tables."""
