"""Slurm's outputs as frozen values: what is asked, and how it is read."""
