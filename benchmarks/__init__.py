"""Every benchmark of the project; `python benchmarks/run.py list` names them."""
