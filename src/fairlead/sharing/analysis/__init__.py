"""Conclusions from an allocation: why it is so, and what would raise a job."""
