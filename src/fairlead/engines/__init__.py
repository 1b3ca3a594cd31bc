"""Engines, which really run tasks, behind one interface."""
