"""The plain scheduler, with heaps and with SimPy, starts every task when the core does."""

from __future__ import annotations

import pytest

from benchmarks.suites.online import baseline, ours

SPECS = (
    "tsf-study(machines=20, jobs=60, tasks=900)",
    "tsf-study(machines=30, jobs=80, tasks=1200, times=exponential, mean=600)",
    "overload(machines=20, jobs=40, each=15)",
    "choosy-study(machines=40, jobs=30, largest=1501)",
    "google-hour(machines=60, jobs=120, tasks=2000, mean=900, times=uniform)",
)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("function", ["with_heaps", "with_simpy"])
def test_tasks_start_when_the_core_starts_them(spec: str, function: str, cases: int) -> None:
    for seed in range(1, 1 + cases):
        expected = ours(spec, seed, "first-fit", reserve=False)()
        found = baseline(spec, seed, function)()
        assert expected is not None
        assert found is not None
        # Seconds with six digits: equal microseconds are equal numbers.
        assert list(found) == list(expected), seed
