"""Placement rules as compiled functions that kernels are handed at run time.

A rule is a function (state, job, machine) -> float64, the least is best. It is compiled by itself
and called by its address, so that no kernel is compiled again for another rule
(docs/decisions/0073-placement-rules.md). Handing over a function costs 40 µs, a record that holds
it less than one: so it is kept in a record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.experimental import structref

from fairlead.scheduling.kernels.compiling import kernel
from fairlead.scheduling.kernels.records import borrowed
from fairlead.scheduling.kernels.state import STATE, Handle

SCORE = types.float64(STATE, types.int64, types.int64)

Score = Callable[[Handle, int, int], float]


@borrowed
class RuleType(types.StructRef):  # type: ignore[misc]  # Numba has no types
    """The type of the record that holds a rule."""

    def preprocess_fields(self, fields: Any) -> Any:
        """The fields without literal types."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """What stands for the type in compiled functions' names. By itself Numba spells out all
        fields there, wherever a function is called."""
        return "Rule", ()


class Rule(structref.StructRefProxy):  # type: ignore[misc]  # Numba has no types
    """A rule as Python holds it."""


structref.define_boxing(RuleType, Rule)

_FUNCTION = types.FunctionType(SCORE)
RULE = RuleType([("score", _FUNCTION)])


@numba.njit(RULE(_FUNCTION), cache=True)  # type: ignore[untyped-decorator]  # Numba has no types
def _rule(score: Any) -> Any:
    rule: Any = structref.new(RULE)
    rule.score = score
    return rule


def make_rule(function: Score, *, keep: bool = True) -> Rule:
    """The rule that this function is. `keep`: its source is in a file of ours, so that what is
    compiled may be kept."""
    plain = getattr(function, "py_func", function)
    rule: Rule = _rule(numba.njit(SCORE, cache=keep, error_model="numpy")(plain))
    return rule


@kernel
def score_of(s: Handle, rule: Any, j: int, m: int) -> float:
    """What the rule says of a pair."""
    return rule.score(s, j, m)
