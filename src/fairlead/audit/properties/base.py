"""A property is a promise, a check of an outcome, and the two numbers it compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairlead.audit.finding import Change, Finding, Verdict, Witness
from fairlead.audit.outcome import Measure, Options, Outcome, Shown

MOST_OTHERS = 20
"""So many violations beside the worst get a sentence each: more are counted."""


@dataclass(frozen=True)
class Property:
    """`check` judges an outcome; `measure` gives the two numbers for certain tenants again, from
    the inputs alone, and is what witnesses are replayed and shrunk by. `promise` is the property
    in one sentence. `after_draw`: of a lottery it is also asked of each allocation that may come
    out."""

    name: str
    promise: str
    check: Callable[[Outcome, Options], Finding]
    measure: Measure
    after_draw: bool = False


def holds(name: str, outcome: Outcome, **rest: object) -> Finding:
    """The property was computed exactly and nothing violates it."""
    return _finding(name, outcome, Verdict.HOLDS, **rest)


def not_found(name: str, outcome: Outcome, trials: int, **rest: object) -> Finding:
    """So many changes were tried and none violated the property."""
    return _finding(name, outcome, Verdict.NOT_FOUND, trials=trials, **rest)


def not_applicable(name: str, outcome: Outcome, note: str) -> Finding:
    """The property says nothing here, for this reason."""
    return _finding(name, outcome, Verdict.NOT_APPLICABLE, note=note)


def violated(
    name: str,
    outcome: Outcome,
    found: Sequence[tuple[tuple[str, ...], Change | None, Shown]],
    **rest: object,
) -> Finding:
    """The violations, in any order: the worst becomes the witness, the others sentences."""
    ranked = sorted(found, key=lambda one: (-one[2].slack, one[0]))
    who, change, shown = ranked[0]
    return _finding(
        name,
        outcome,
        Verdict.VIOLATED,
        witness=witness_of(name, outcome, who, change, shown),
        others=tuple(shown.sentence for _, _, shown in ranked[1 : MOST_OTHERS + 1]),
        **rest,
    )


def witness_of(
    name: str, outcome: Outcome, who: Iterable[str], change: Change | None, shown: Shown
) -> Witness:
    """The violation with everything that is needed to show it again."""
    return Witness(
        property=name,
        policy=outcome.rule.spec,
        tasks=outcome.allocation.tasks,
        input=outcome.input,
        who=tuple(who),
        before=shown.before,
        after=shown.after,
        slack=shown.slack,
        sentence=shown.sentence,
        unit=shown.unit,
        change=change,
        jobs=shown.jobs,
        lottery=outcome.moment,
    )


def _finding(name: str, outcome: Outcome, verdict: Verdict, **rest: object) -> Finding:
    return Finding(
        policy=outcome.rule.spec,
        property=name,
        verdict=verdict,
        tasks=outcome.allocation.tasks,
        **rest,  # type: ignore[arg-type]  # the fields of a finding, named by the callers
    )
