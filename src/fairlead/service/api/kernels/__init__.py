"""Compiled: the door, where connections are accepted without the interpreter."""
