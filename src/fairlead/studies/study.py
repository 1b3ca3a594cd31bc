"""A study: which figure it draws again, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from fairlead.studies.claims import Row

if TYPE_CHECKING:
    from fairlead.studies.pictures.picture import Picture

_Part = TypeVar("_Part")
_Done = TypeVar("_Done")


@dataclass(frozen=True)
class Table:
    """Data of a study: columns of the same length, by name. `name` is its file's, without an
    ending."""

    name: str
    columns: Mapping[str, Sequence[object]]

    @staticmethod
    def of_rows(name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
        return Table(name, {key: [row[at] for row in rows] for at, key in enumerate(header)})


@dataclass(frozen=True)
class Findings:
    """The findings of a run. `seeds` are of what was drawn; `notes` is what a reader must know
    beside the rows, in sentences."""

    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files by their path in the study's folder: witnesses, say."""


class Spread(Protocol):
    """Applies a function to each of the parts, in this process or in many, and returns what came
    out in the order of the parts. The function stands at the top of a module."""

    def __call__(
        self, function: Callable[[_Part], _Done], parts: Sequence[_Part], /
    ) -> list[_Done]: ...


def here(function: Callable[[_Part], _Done], parts: Sequence[_Part]) -> list[_Done]:
    """Applies the function in this process."""
    return [function(part) for part in parts]


def _no_data(name: str) -> Path:
    from fairlead.studies.data import folder

    return folder(name)


@dataclass(frozen=True)
class Setting:
    """Surroundings of a run: whether it is to be quick, who computes, and where real data is."""

    quick: bool = False
    spread: Spread = here
    data: Callable[[str], Path] = field(default=_no_data)
    """The folder of this data set. Raises InputError with how to obtain it."""


@dataclass(frozen=True, kw_only=True)
class About:
    """A module's words on its study: `shows` is the page's paragraph on what the paper shows,
    `assumes` the sentences on what the paper leaves open and we chose. `weight` is how long it
    takes beside others, for the time that is left."""

    figure: str
    title: str
    shows: str
    assumes: tuple[str, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Study(About):
    """A study, by the names that its module's place says."""

    name: str
    paper: str
    run: Callable[[Setting], Findings]

    def findings(self, setting: Setting) -> Findings:
        """Runs it. A picture without a name has the study's."""
        found = self.run(setting)
        named = (replace(each, name=each.name or self.name) for each in found.pictures)
        return replace(found, pictures=tuple(named))
