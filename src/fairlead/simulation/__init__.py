"""The simulator: workloads replayed through the online core, and what they are compared with."""
