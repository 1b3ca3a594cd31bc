"""The launcher: the detached actor on the head of a Ray cluster that owns the tasks."""
