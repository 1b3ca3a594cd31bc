"""The picture of how the cost of an event grows: its points, its exponents, and the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import growth


def document(cost: float, power: float) -> dict[str, object]:
    """A run of `online` in which an event costs so many µs, times a power of the waiting jobs."""
    rows = []
    for jobs in (1000, 10, 100):
        tasks = 5000
        seconds = cost * jobs**power * (2 * tasks + jobs) / 1e6
        size = {"machines": 5, "jobs": jobs, "tasks": tasks}
        rows.append({"name": f"grow-jobs/{jobs}", "size": size, "ours": took(seconds)})
    other = {"name": "tsf-study/default", "size": {}, "ours": took(1.0)}
    failed = {"name": "grow-jobs/9", "size": {}, "ours": took(None)}
    stopped = {"name": "grow-jobs/8", "size": {}, "ours": took(600.0, stopped=True)}
    return {"rows": [*rows, other, failed, stopped]}


def took(seconds: float | None, *, stopped: bool = False) -> dict[str, object]:
    """What a row says of ours."""
    return {"median": seconds, "limit_reached": stopped}


def test_costs_are_per_event_and_in_the_order_of_their_sizes() -> None:
    found = growth.curves([document(3.0, 0.5)])
    assert list(found) == ["jobs"]
    assert [point.size for point in found["jobs"]] == [10, 100, 1000]
    assert [point.cost for point in found["jobs"]] == pytest.approx(
        [3 * 10**0.5, 30, 3 * 1000**0.5]
    )


def test_the_exponent_is_the_power_by_which_the_cost_grows() -> None:
    assert growth.exponent(growth.curves([document(7.0, 0.5)])["jobs"]) == pytest.approx(0.5)
    assert growth.exponent(growth.curves([document(7.0, 1.0)])["jobs"]) == pytest.approx(1.0)


def test_the_same_file_gives_the_same_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(document(2.0, 0.25)), encoding="utf-8")
    for name in ("one.svg", "two.svg"):
        assert growth.main([str(tmp_path / "run.json"), "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "| waiting jobs | 10: 3.56, 100: 6.32, 1,000: 11.2 | 0.25 |" in capsys.readouterr().out


def test_nothing_to_draw_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text('{"rows": []}', encoding="utf-8")
    assert growth.main([str(tmp_path / "run.json")]) == 2
    assert "no two rows of one group" in capsys.readouterr().err
