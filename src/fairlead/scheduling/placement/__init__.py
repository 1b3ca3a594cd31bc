"""Placement rules, one page each: which machine a task goes to."""
