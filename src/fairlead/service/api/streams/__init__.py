"""Answers that go on: entries of the journal, and the tenants' standing."""
