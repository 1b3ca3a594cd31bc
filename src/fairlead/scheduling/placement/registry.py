"""Placement rules by name: built in, registered, or in a file of one's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from fairlead.model.errors import InputError
from fairlead.model.own_files import OwnFiles

if TYPE_CHECKING:  # names are asked for where nothing is compiled
    from fairlead.scheduling.kernels.room.rules import Compare, Rule, Score

BUILT_IN = {
    "first-fit": "first_fit",
    "best-fit": "best_fit",
    "worst-fit": "worst_fit",
    "alignment": "alignment",
    "scarce-last": "scarce_last",
    "price-guided": "price_guided",
}
"""The file of each rule, and the function in it."""

DEFAULT = "scarce-last"

ELSEWHERE = "elsewhere"
"""No rule: another scheduler places, and the core is told of it (`TaskPlaced`)."""

_own: dict[str, Score] = {}
_files: OwnFiles[Score] = OwnFiles("placement rule")


@dataclass(frozen=True)
class Placement:
    """A rule ready to use, and what it is: a page of a built-in rule says where it is otherwise
    than most (`PICKY = False`, `GUIDED = True`, `TIGHT = True`; `SCARCE = True`: see `make_rule`).

    `picky`: its scores differ, so that all machines are compared. `guided`: it follows advice.
    `tight`: no machine scores less than what would be left there of any one resource that the task
    demands, in parts of the machine, and a machine that took a task scores no more for the next
    one of the job. So machines with much room need not be looked at. It need not be true while a
    machine that lost devices holds tasks of before: then all are looked at. `places`: False for
    ELSEWHERE alone, under which nothing is launched.
    """

    name: str
    rule: Rule
    picky: bool
    guided: bool
    tight: bool
    places: bool = True


def placement(name: str) -> Callable[[Score], Score]:
    """Registers a rule: a function (state, job, machine) -> float, the least is best.

    It is compiled (Numba's nopython mode): it reads the arrays of the state (`free`, `capacity`,
    `demand` by machine or job and resource; see `fairlead.scheduling.kernels.memory.tables`) and
    changes nothing. It may depend on the job and the machine, not on other machines' free room.
    """

    def register(function: Score) -> Score:
        if name in (*BUILT_IN, ELSEWHERE):
            raise InputError(f"`{name}` is a built-in name", "choose another one")
        if not _files.takes(name, function, function):
            _own[name] = function
            _compiled.cache_clear()
        return function

    return register


def placement_names() -> tuple[str, ...]:
    """The built-in rules and those registered so far."""
    return (*BUILT_IN, *sorted(_own))


def check_name(text: str) -> None:
    """Raises InputError where there is no such rule to choose. Compiles nothing."""
    file, _, name = text.rpartition(":")
    if file:
        _files.find(file, name)
    elif text not in placement_names():
        raise _no_rule(text)


def _no_rule(name: str) -> InputError:
    return InputError(f"no placement rule `{name}`", f"there are {', '.join(placement_names())}")


def _page(name: str) -> ModuleType | None:
    """The file of a built-in rule."""
    if name not in BUILT_IN:
        return None
    return importlib.import_module(f"fairlead.scheduling.placement.{BUILT_IN[name]}")


def find(text: str) -> Placement:
    """The rule that a user means: a name, or `./mine.py:name` for one in a file of their own."""
    file, _, name = text.rpartition(":")
    if file:
        return Placement(
            text, _compile(text, _files.find(file, name), keep=False), True, False, False
        )
    if text == ELSEWHERE:
        return replace(_compiled("first-fit"), name=ELSEWHERE, places=False)
    return _compiled(name)


@cache
def _compiled(name: str) -> Placement:
    function = _function(name)
    page = _page(name)
    rule = _compile(name, function, keep=name in BUILT_IN, scarce=getattr(page, "SCARCE", False))
    return Placement(
        name,
        rule,
        picky=getattr(page, "PICKY", True),
        guided=getattr(page, "GUIDED", False),
        tight=getattr(page, "TIGHT", False),
    )


def _function(name: str) -> Score:
    if name in _own:
        return _own[name]
    if name not in BUILT_IN:
        raise _no_rule(name)
    function: Score = getattr(_page(name), BUILT_IN[name])
    return function


def _exactly(name: str) -> Compare | None:
    """The function that compares close scores of a built-in rule, if its scores are rounded."""
    compare: Compare | None = getattr(_page(name), "compare", None)
    return compare


def _compile(name: str, function: Score, *, keep: bool, scarce: bool = False) -> Rule:
    from fairlead.scheduling.kernels.room.rules import make_rule

    try:
        return make_rule(function, _exactly(name), keep=keep, scarce=scarce)
    except Exception as error:
        if name in BUILT_IN:
            raise
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"the placement rule `{name}` cannot be compiled: {first}",
            "use numbers, loops and the arrays of the state only",
        ) from error
