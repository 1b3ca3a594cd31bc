"""Devices in whole tasks: a task takes several whole ones, or a part of a single one.

Parts are counted so that tasks fit a machine exactly if their sum does: in multiples of the
smallest part, of which a device holds so many. That is right where each part divides the next
larger one and the largest divides what a device holds: they can be put onto devices one after the
other, the largest first, and no gap is left that a smaller one could not fill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from fairlead.model.errors import InputError
from fairlead.model.words import listing

ONE = Fraction(1)


def in_pieces(resource: str, needs: Mapping[str, Fraction], several: bool) -> dict[str, Fraction]:
    """The amount that a task of each of these jobs takes of a device's resource, counted as above.
    `several`: some machine has more than one. Raises InputError where parts cannot be counted
    so."""
    for name, need in needs.items():
        if need > 1 and need.denominator > 1:
            raise InputError(
                f"a task asks for {float(need):.6g}, and {resource} comes in pieces",
                "a task takes a part of one, or whole ones",
                about=("job", name, "demand", resource),
            )
    parts = sorted({need for need in needs.values() if 0 < need < 1})
    if not parts or not several:
        return dict(needs)  # of a single device parts are as amounts
    holds = ONE / parts[0] // 1
    multiples = [part / parts[0] for part in parts]
    if any(larger % smaller for smaller, larger in pairwise([*multiples, Fraction(holds)])):
        raise _uncountable(resource, needs, parts)
    return {name: need if need >= 1 else need / parts[0] / holds for name, need in needs.items()}


def _uncountable(
    resource: str, needs: Mapping[str, Fraction], parts: Sequence[Fraction]
) -> InputError:
    asked = [
        f"{next(name for name, need in needs.items() if need == part)} asks for {float(part):.6g}"
        for part in parts
    ]
    return InputError(
        f"whole tasks cannot be counted on parts of {resource} that do not divide each other:"
        f" {listing(asked, most=4)}",
        "write parts such as 0.5 and 0.25, or share divisible tasks",
    )
