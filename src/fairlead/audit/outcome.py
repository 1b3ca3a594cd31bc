"""An input with what a policy makes of it: what every property looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.audit.finding import Input
from fairlead.model.allocation import Allocation
from fairlead.sharing.allocate import allocate
from fairlead.sharing.mechanism import Mechanism
from fairlead.sharing.policy import Policy
from fairlead.sharing.registry import parse

Rule = Policy | Mechanism


@dataclass(frozen=True)
class Options:
    """How long to search: at most so many changes are tried for each property that tries changes,
    drawn with the seed where there are more to choose from."""

    trials: int = 20
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """What a rule gives to the jobs of an input.

    The allocation may also be one that somebody else made (a test, a simulation): a property that
    looks at it alone then judges that one.
    """

    input: Input
    rule: Rule
    allocation: Allocation

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


def solve(given: Input, rule: str | Rule) -> Outcome:
    """The outcome of an input under a rule. Raises InputError where it refuses the input."""
    found = parse(rule) if isinstance(rule, str) else rule
    return Outcome(given, found, allocate(given.cluster, given.jobs, found))
