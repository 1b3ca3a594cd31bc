"""Generators of workloads, one file each; `registry` finds them by what a user writes."""
