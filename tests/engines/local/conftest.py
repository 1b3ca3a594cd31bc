"""Spawners that are forked, for the tests whose own process has the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fairlead.engines.local import spawner_link
from tests.zygote import spawners
from tests.zygote.forked import Forked, Zygote


@pytest.fixture(scope="session")
def spawner_zygote() -> Iterator[Zygote]:
    """The zygote of a process's spawners."""
    made = Zygote(("-I", "-S", "-X", "utf8", spawners.__file__))
    yield made
    made.end()


@pytest.fixture(autouse=True)
def forked_spawners(spawner_zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine's spawner is forked from there, where it would be a new interpreter."""

    class Spawning(Forked):
        _path = spawner_zygote.path

        def __init__(self, args: Sequence[str], **options: Any) -> None:
            program = args.index(spawner_link.PROGRAM)
            super().__init__(args[program + 1 :], **options)

    monkeypatch.setattr(spawner_link, "Popen", Spawning)
