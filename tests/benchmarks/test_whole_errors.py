"""The picture of the errors of whole tasks: all below the theorems' bounds, and the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import whole_errors


@pytest.mark.parametrize("machines", [10, 40])
def test_errors_are_below_the_theorems_bounds(machines: int) -> None:
    row = whole_errors.measure(machines)
    assert 0 < row.middle <= row.drawn <= row.bound_4_3
    assert 0 < row.shapley_folkman <= row.bound_4_6
    assert 0 < row.tasks_off <= row.bound_4_5


def test_the_same_rows_give_the_same_table_and_picture(tmp_path: Path) -> None:
    rows = [whole_errors.Row(n, *(factor / n for factor in range(1, 9))) for n in (10, 1000)]
    for name in ("one.svg", "two.svg"):
        whole_errors.draw(rows, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "| 1,000 | 0.00100 | 0.00200 |" in whole_errors.table(rows)
