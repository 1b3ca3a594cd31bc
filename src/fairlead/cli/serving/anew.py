"""A journal that begins beside what an earlier one left: asked for, never by itself."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from fairlead.engines.local.identity import Identity
from fairlead.engines.local.records import disown_all
from fairlead.engines.slurm.placing.folder import Folder
from fairlead.model.errors import InputError, OutputError
from fairlead.service.journal.places import FILE

LEFT = (
    *(FILE, f"{FILE}-head", f"{FILE}-wal", f"{FILE}-shm", "journal-head"),
    *("admin-token", "shares-history", "ray.json", "local/output"),
)
"""The files that a service with a journal leaves in its state folder, and another journal must not
find: the numbers of its jobs begin with 1 again, and so do the names of its tasks' outputs and
folders."""

ENGINE, SLURM = "local/engine", "slurm/engine"
"""The names of the engines whose records are here. They stay, so that the tasks which still run are
known, and stopped."""


class NewJournal:
    """Called before a new journal is made for a state folder. Raises InputError where something of
    an earlier one is there, unless it is `asked` to begin anew: then that is set aside first.
    `aside`: where to; None where nothing was."""

    def __init__(self, state: Path, asked: bool) -> None:
        self.called = False
        self.aside: Path | None = None
        self._state, self._asked = state, asked

    def __call__(self) -> None:
        self.called = True
        found = [name for name in (*LEFT, ENGINE, SLURM) if _holds(self._state / name)]
        if not found:
            return
        if not self._asked:
            raise InputError(
                f"the journal is gone: there is none, but {self._state} belonged to one, of which"
                f" it holds {', '.join(found)}",
                "put the journal back, or name the one that it was with --journal; --begin-anew"
                " sets aside what is left, stops tasks that still run, and begins a new one",
            )
        try:
            self._set_aside()
        except OSError as error:
            raise OutputError(f"what is left cannot be set aside: {error}") from error

    def check(self) -> None:
        """Raises InputError where there was a journal, and it was asked to begin anew."""
        if self._asked and not self.called:
            raise InputError(
                "--begin-anew is for a state folder whose journal is gone, and this one's is there",
                "leave it out, or name another state folder",
            )

    def _set_aside(self) -> None:
        """Moves it into a folder of its own, in which nothing looks; the engine's name last."""
        aside = self._state / f"before-{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{os.getpid()}"
        aside.mkdir(mode=0o700)
        work = self._state.with_name(f"{self._state.name}.work")
        there = [self._state / name for name in (*LEFT, "local/work")]
        for each in [*there, work]:
            if os.path.lexists(each):
                each.rename(aside / each.name)
        engine = self._state / ENGINE
        disown_all(self._state / "local" / "live")
        if engine.exists():
            Identity(engine).disown()
        if (self._state / SLURM).exists():
            Folder(
                self._state / "slurm", self._state.with_name(f"{self._state.name}.slurm")
            ).begin_anew()
        self.aside = aside


def _holds(path: Path) -> bool:
    """Whether anything is there: of a file more than nothing, of a folder at least a name."""
    if path.is_dir():
        return any(path.iterdir())
    return path.exists() and path.stat().st_size > 0
