"""The service's API: handlers that read a request, ask the door, and answer."""
