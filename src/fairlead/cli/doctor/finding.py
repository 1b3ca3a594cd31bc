"""The subject of a check, and its finding."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

from fairlead.cli.serving.plan import Plan
from fairlead.model.machine import Cluster


class State(Enum):
    """How it stands."""

    OK = "ok"
    WARNING = "warning"  # it works, and something of it is not what it could be
    FAILS = "fails"


@dataclass(frozen=True)
class Finding:
    """A finding in a sentence, and what to do where it is not well."""

    state: State
    text: str
    advice: str = ""


def well(text: str) -> Finding:
    return Finding(State.OK, text)


def warn(text: str, advice: str) -> Finding:
    """It works all the same."""
    return Finding(State.WARNING, text, advice)


def fails(text: str, advice: str) -> Finding:
    """It does not work."""
    return Finding(State.FAILS, text, advice)


@dataclass(frozen=True)
class Subject:
    """A service that runs, or would be started, with this plan."""

    plan: Plan

    @property
    def folder(self) -> Path:
        return self.plan.state

    @cached_property
    def process(self) -> int | None:
        """The service, where it runs."""
        from fairlead.cli.serving.process import running

        return running(self.folder)

    @cached_property
    def user(self) -> int:
        """The user as whom it runs, or would be started: the state folder's owner."""
        return self.folder.stat().st_uid if self.folder.exists() else os.geteuid()

    @cached_property
    def cluster(self) -> Cluster | None:
        """Its cluster file. Raises InputError."""
        from fairlead.cli.serving.maker import cluster_of

        return cluster_of(self.plan)

    def nearest(self, path: Path) -> Path:
        """The path, or the folder above it that is there."""
        return next(each for each in (path, *path.parents) if each.exists())


Check = Callable[[Subject], Finding]
