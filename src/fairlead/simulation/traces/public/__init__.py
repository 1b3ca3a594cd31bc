"""Loaders of public traces and machine lists, one format each."""
