"""Guaranteed preemption: the rule, the plan of stops and starts, and how it meets the core."""
