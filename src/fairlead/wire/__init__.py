"""Shapes that go over the wire between the service and its clients: one model for each."""
