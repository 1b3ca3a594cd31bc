"""Tasks as process groups of this machine, whose ends survive the service."""
