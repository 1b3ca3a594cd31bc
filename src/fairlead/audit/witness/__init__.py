"""Witnesses: as files, shown again, made smaller."""
