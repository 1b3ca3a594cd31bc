"""An input with what a policy makes of it: what every property looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairlead.audit.finding import Input, Moment
from fairlead.model.allocation import Allocation
from fairlead.model.shares import Tasks
from fairlead.sharing.allocate import allocate
from fairlead.sharing.integral.registry import is_whole, parse_whole
from fairlead.sharing.mechanism import Mechanism
from fairlead.sharing.policy import Policy
from fairlead.sharing.registry import parse


@dataclass(frozen=True)
class InWhole:
    """What shares whole tasks: a policy or mechanism whose exact shares are rounded, or (`of` is
    None) a mechanism for whole tasks."""

    spec: str
    of: Policy | Mechanism | None


Rule = Policy | Mechanism | InWhole


@dataclass(frozen=True)
class Options:
    """How long to search: at most so many changes are tried for each property that tries changes,
    drawn with the seed where there are more to choose from. Of the smallest lies `smallest` are
    tried beside them, or as many as the size of the input allows."""

    trials: int = 20
    seed: int = 1
    smallest: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a rule gives to the jobs of an input.

    The allocation may also be one that somebody else made (a test, a simulation): a property that
    looks at it alone then judges that one. `drawn`: the probability with which a lottery gives it,
    where it is one of a lottery's.
    """

    input: Input
    rule: Rule
    allocation: Allocation
    drawn: Fraction | None = None

    @property
    def whole(self) -> bool:
        """Are tasks whole?"""
        return self.allocation.tasks is Tasks.WHOLE

    @property
    def moment(self) -> Moment | None:
        """Before the draw or after it; None where nothing is drawn."""
        if self.drawn is not None:
            return Moment.EX_POST
        whole = self.allocation.whole
        return Moment.EX_ANTE if whole is not None and whole.lottery else None

    def under(self, rule: str | Rule) -> Outcome:
        """The same input under another rule. Raises InputError where it refuses the input."""
        return solve(self.input, rule)


@dataclass(frozen=True)
class Shown:
    """The two numbers that a property compares, for certain tenants, and the sentence on them.
    `slack` is 0 where the property holds for them."""

    before: float
    after: float
    slack: float
    sentence: str
    unit: str = "tasks"
    jobs: tuple[tuple[str, float], ...] = ()


Measure = Callable[[Outcome, Outcome | None, tuple[str, ...]], Shown | None]
"""A property, for certain tenants (`who`): the outcome, and the outcome after the change where the
property is about one. None where the question cannot be asked of this input any more."""


def rule_of(text: str, tasks: Tasks = Tasks.DIVISIBLE) -> Rule:
    """The rule that a user means. With whole tasks a policy's shares are rounded; a mechanism for
    whole tasks has no others. Raises InputError where there is none."""
    if is_whole(text):
        return InWhole(parse_whole(text).spec, None)
    found = parse(text)
    return found if tasks is Tasks.DIVISIBLE else InWhole(found.spec, found)


def solve(given: Input, rule: str | Rule, tasks: Tasks = Tasks.DIVISIBLE) -> Outcome:
    """The outcome of an input under a rule; of one that is written, with tasks of this kind. Raises
    InputError where it refuses the input."""
    found = rule_of(rule, tasks) if isinstance(rule, str) else rule
    if isinstance(found, InWhole):
        return Outcome(given, found, _in_whole(given, found))
    return Outcome(given, found, allocate(given.cluster, given.jobs, found))


def _in_whole(given: Input, rule: InWhole) -> Allocation:
    return allocate(given.cluster, given.jobs, rule.of or rule.spec, Tasks.WHOLE)
