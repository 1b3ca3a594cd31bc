"""Planted bugs: each is the service with one mistake in it that the simulation must catch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A planted bug, and the promises by which it is found."""

    plant: Callable[[], AbstractContextManager[object]]
    rules: tuple[str, ...]


MUTANTS: dict[str, Mutant] = {}
