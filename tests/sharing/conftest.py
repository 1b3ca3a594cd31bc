"""What tests of the sharing have in common."""

from __future__ import annotations

import pytest

from fairlead.sharing.solvers import walk


@pytest.fixture
def part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fills part by part from the start, as where there is too much to choose for a walk."""
    monkeypatch.setattr(walk, "MOST_PAIRS", -1)
