"""What CONTRIBUTING asks of who adds an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.engines import registry
from fairlead.engines.registry import ENGINES, EngineKind

LAUNCHING = [each for each in ENGINES.values() if not each.modes or "place" in each.modes]
"""Those that launch tasks; others look at or order what another scheduler launches."""


@pytest.mark.parametrize("kind", LAUNCHING, ids=lambda kind: kind.name)
def test_every_engine_that_launches_tasks_keeps_the_contract(kind: EngineKind) -> None:
    suite = Path(__file__).parent / kind.name / "test_contract.py"
    assert suite.is_file(), f"run tests/engines/contract.py on {kind.name}: write {suite}"
    assert "from tests.engines.contract import" in suite.read_text(encoding="utf-8")


def test_every_engine_can_be_chosen() -> None:
    source = Path(registry.__file__).parent
    folders = {path.parent.name for path in source.glob("*/__init__.py")}
    assert folders - {"supervised"} == {*ENGINES}, (
        "name each engine in ENGINES of src/fairlead/engines/registry.py"
    )
