"""Mechanisms that no scale describes, one file each."""
