"""Every policy has its numbers from a paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairlead.sharing.rules.registry import POLICIES

EXAMPLES = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path.name != Path(__file__).name
)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_numbers_from_its_paper(name: str) -> None:
    there = re.search(rf'"{re.escape(name)}["(]', EXAMPLES)
    assert there, f"write numbers that a paper prints of {name} into a test of tests/papers"
