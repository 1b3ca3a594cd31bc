"""A short soak loses nothing and doubles nothing."""

from __future__ import annotations

from benchmarks.soak import soak


def test_a_short_soak_counts_every_task_once() -> None:
    counted = soak(1000, seed=3, seconds=120)
    assert counted["results"] == counted["tasks"] == 1000
    assert counted["doubled"] == counted["missing"] == counted["machines over capacity"] == 0
    assert counted["attempts started"] > 1000  # some were lost and tried again
    assert counted["faults"]["machines that left"] > 0
    assert counted["faults"]["calls that failed"] > 0
