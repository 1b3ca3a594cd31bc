"""What Ray says of a task that failed, as the end of an attempt."""

from __future__ import annotations

from ray import exceptions

from fairlead.engines.ray.launcher.verdict import read_error

KILLED = """\
2 worker(s) were killed due to the node running low on memory. Memory on the node (IP: 192.0.2.2, \
ID: 8b2dd789) was 22.10GB used / 23.54GB limit (0.938800)
OOM kill reason: Memory usage 23729700864B exceeded threshold of 23729700000B
"""


def test_a_node_without_memory_is_told_in_figures_not_in_rays_words() -> None:
    end, look = read_error(exceptions.OutOfMemoryError(KILLED), 5, 1, None)
    assert (end["is"], end["cause"], look) == ("ended", "memory", False)
    assert end["message"] == "its node had 22.10GB of 23.54GB memory used, so Ray stopped it"


def test_what_ray_says_otherwise_is_kept() -> None:
    end, _ = read_error(exceptions.OutOfMemoryError("Task was killed.\nSee more."), 5, 1, None)
    assert end["message"] == "Task was killed."
