"""When garbage is looked for: not while much is made, and again afterwards."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from fairlead.cli.main import run
from fairlead.garbage import keep_all, not_collecting


def test_within_nothing_is_looked_for_and_afterwards_as_before() -> None:
    with not_collecting():
        with not_collecting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_looked_for_again_after_a_mistake() -> None:
    with pytest.raises(ValueError, match="mine"), not_collecting():
        raise ValueError("mine")
    assert gc.isenabled()


def test_what_is_kept_is_not_gone_through() -> None:
    try:
        keep_all()
        assert len(gc.get_objects()) < gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_a_service_looks_for_none_until_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def serve(_plan: object, started: Callable[[], None]) -> int:
        seen.append(gc.isenabled())
        started()
        seen.append(gc.isenabled())
        return 0

    monkeypatch.setattr("fairlead.cli.serving.run.serve_now", serve)
    try:
        assert run(["serve"]) == 0
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
    assert seen == [False, True]
