"""Traces: public formats and the project's own, read as workloads; `registry.load` finds which."""
