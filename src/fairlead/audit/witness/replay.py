"""A witness shown again, by code that takes only the file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairlead.audit.lottery import measure_at
from fairlead.audit.outcome import Shown, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.witness.file import Written
from fairlead.model.errors import InputError

READ = 1e-6
"""Numbers of a file, which shows 12 digits of them and may come from a market, are the same where
they are so close in parts of the larger of the two. Whether they show a violation is no question of
that."""


class Again(Enum):
    """The results that a replay can have."""

    SAME = "the same numbers"
    OTHER = "other numbers"
    GONE = "it no longer shows"


@dataclass(frozen=True)
class Replayed:
    """The result of a replay, and the numbers of now (None where the question cannot be asked)."""

    again: Again
    shown: Shown | None


def replay(written: Written) -> Replayed:
    """The numbers of a witness, computed again. Raises InputError where the file names what is not
    there, or where the policy refuses its input."""
    if written.property not in PROPERTIES:
        known = ", ".join(PROPERTIES)
        raise InputError(f"no property `{written.property}`", f"there are {known}")
    first = solve(written.input, written.policy, written.tasks)
    if first.allocation.tasks is not written.tasks:
        raise InputError(
            f"{written.policy} shares whole tasks, and the witness is about divisible ones"
        )
    second = None if written.changed is None else solve(written.changed, first.rule)
    shown = measure_at(PROPERTIES[written.property], first, second, written.who, written.lottery)
    if shown is None or not shown.slack > 0:
        return Replayed(Again.GONE, shown)
    # A promise of 0 is never broken, so that the larger of the two numbers is positive.
    largest = max(written.before, written.after)
    same = shown.unit == written.unit and all(
        abs(now - then) <= READ * largest
        for now, then in ((shown.before, written.before), (shown.after, written.after))
    )
    return Replayed(Again.SAME if same else Again.OTHER, shown)
