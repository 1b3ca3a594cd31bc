"""Compiled functions of the exact shares."""
