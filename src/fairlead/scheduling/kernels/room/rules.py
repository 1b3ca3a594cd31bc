"""Placement rules as compiled functions that kernels are handed at run time.

A rule is a function (state, job, machine) -> float64, the least is best. It is compiled by itself
and called by its address, so that no kernel is compiled again for another rule
(docs/decisions/0073-placement-rules.md). Handing over a function costs 40 µs, a record that holds
it less than one: so it is kept in a record.

Where two scores are so close that rounding may have put them in the wrong order, a built-in rule is
asked by `compare`, which knows no rounding. Of a user's own rule the doubles are what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.experimental import structref

from fairlead.compiling import inner, kernel, kernel_of, small
from fairlead.scheduling.kernels.memory.records import RecordType, register
from fairlead.scheduling.kernels.memory.state import STATE, Handle
from fairlead.scheduling.kernels.room.fits import same

SCORE = types.float64(STATE, types.int64, types.int64)
COMPARE = types.int64(STATE, types.int64, types.int64, types.int64)

Score = Callable[[Handle, int, int], float]
Compare = Callable[[Handle, int, int, int], int]

CLOSE = 2.0**-44
"""Scores add up a term for each resource, of up to 65 (64 devices of which all but one were lost),
each rounded four times at most, and what was added up is rounded with it: with R resources a score
is off by less than 65 (R + 2)^2 2^-53, two by a quarter of (R + 2)^2 times this; and by 2^-52 of
themselves where machines were counted (docs/decisions/0184-ties-are-exact.md)."""


@register
class RuleType(RecordType):
    """The type of the record that holds a rule."""


class Rule(structref.StructRefProxy):  # type: ignore[misc]  # Numba has no types
    """A rule as Python holds it."""


structref.define_boxing(RuleType, Rule)

_FUNCTION, _COMPARE = types.FunctionType(SCORE), types.FunctionType(COMPARE)
RULE = RuleType(
    [
        ("score", _FUNCTION),
        ("compare", _COMPARE),
        ("close", types.float64),
        ("scarce", types.int64),  # scores are at least `fits.scarcity_part`
    ]
)


@kernel_of(RULE(_FUNCTION, _COMPARE, types.float64, types.int64))
def _rule(score: Any, compare: Any, close: float, scarce: int) -> Any:
    rule: Any = structref.new(RULE)
    rule.score = score
    rule.compare = compare
    rule.close = close
    rule.scarce = scarce
    return rule


def _as_scored(s: Handle, j: int, a: int, b: int) -> int:  # noqa: ARG001  all take the same
    """0: what has equal scores is equal."""
    return 0


def make_rule(
    function: Score, compare: Compare | None = None, *, keep: bool = True, scarce: bool = False
) -> Rule:
    """The rule that this function is. `compare`: the sign of the score of machine a for the job
    less that of b, without rounding; without it scores are as exact as can be. `keep`: its source
    is in a file of ours, so that what is compiled may be kept. `scarce`: no score is less than
    `fits.scarcity_part`, so that scarcer machines than the best so far need not be scored."""
    plain = getattr(function, "py_func", function)
    by = _as_scored if compare is None else compare
    rule: Rule = _rule(
        kernel_of(SCORE, keep=keep)(plain),
        kernel_of(COMPARE)(by),
        0.0 if compare is None else CLOSE,
        int(scarce),
    )
    return rule


@kernel
def score_of(s: Handle, rule: Any, j: int, m: int) -> float:
    """The score that the rule gives a pair."""
    return rule.score(s, j, m)


@inner
def slack(s: Handle, rule: Any, score: float) -> float:
    """Scores that differ by more than this from a score are in the right order."""
    terms = s.demand.shape[1] + 2
    return rule.close * (terms * terms) * (1.0 + abs(score))


@inner
def _is_before(s: Handle, rule: Any, j: int, a: int, b: int) -> bool:
    """Of two machines of close scores for a job: is the first the better one?"""
    sign = rule.compare(s, j, a, b)
    return sign < 0 or (sign == 0 and a < b)


@small
def better(
    s: Handle, rule: Any, j: int, a: int, score: float, b: int, least: float, most: float
) -> bool:
    """Does machine a, of this score, come before b, of the score `least`, for the job? `most` is
    the slack of the latter."""
    if score == least and (rule.close == 0.0 or same(s, j, a, b)):
        return a < b  # most ties: machines that are alike
    if abs(score - least) <= most:
        return _is_before(s, rule, j, a, b)
    return score < least
