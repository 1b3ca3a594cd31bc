"""Whole tasks: the lottery over whole-task allocations, and exact shares rounded to whole tasks."""
