"""Slurm. What others build on: `reading.values` (nodes, jobs, accounts as frozen values),
`reading.parse` (from Slurm's outputs to them), `reading.commands` (the outputs, live or saved), and
`translation.translate` (from them to a cluster, jobs, and notes on what was assumed)."""
