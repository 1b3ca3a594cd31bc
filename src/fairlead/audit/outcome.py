"""An input with what a policy makes of it: what every property looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from fairlead.audit.finding import Input, Moment
from fairlead.model.allocation import Allocation
from fairlead.model.shares import Tasks
from fairlead.model.unrounded import IN_DOUBLES, Unrounded
from fairlead.sharing.allocate import allocate
from fairlead.sharing.policy import Policy
from fairlead.sharing.rules.mechanism import Mechanism
from fairlead.sharing.rules.registry import parse
from fairlead.sharing.whole_tasks.registry import is_whole, parse_whole


@dataclass(frozen=True)
class InWhole:
    """A rule that shares whole tasks: a policy or mechanism whose exact shares are rounded, or
    (`of` is None) a mechanism for whole tasks."""

    spec: str
    of: Policy | Mechanism | None


Rule = Policy | Mechanism | InWhole

SHOWN = 2e-11
"""An answer shows 12 digits: so close, relative, are the numbers behind it to what is shown."""


def _always(_tried: int, _most: int) -> bool:
    """Nobody wants a search to end before it is over."""
    return True


@dataclass(frozen=True)
class Options:
    """The length of a search: at most so many changes are tried for each property that tries
    changes, drawn with the seed where there are more to choose from. Of the smallest lies
    `smallest` are tried beside them, or as many as the size of the input allows. `go_on` hears
    before each change how many were tried of at most so many, and says whether to try more: what
    was found by then is the answer."""

    trials: int = 20
    seed: int = 1
    smallest: int | None = None
    go_on: Callable[[int, int], bool] = field(default=_always, compare=False)


@dataclass(frozen=True)
class Outcome:
    """An input, a rule, and the allocation that the rule gives.

    The allocation may also be one that somebody else made (a test, a simulation): a property that
    looks at it alone then judges that one. `drawn`: the probability with which a lottery gives it,
    where it is one of a lottery's.
    """

    input: Input
    rule: Rule
    allocation: Allocation
    drawn: Fraction | None = None

    @cached_property
    def numbers(self) -> Unrounded:
        """The numbers behind the allocation. Of one that somebody else made in doubles they are
        what it shows, and no more than that is known of them."""
        known = self.allocation.unrounded
        if self.whole:
            return replace(known, tasks=self._whole_tasks(), within=Fraction(0))
        shown = {job.name: job.tasks for job in self.allocation.jobs}
        if all(name in known.tasks and near(shown[name], known.tasks[name]) for name in shown):
            return known
        tasks = {name: Fraction(number) for name, number in shown.items()}
        return replace(known, tasks=tasks, within=IN_DOUBLES)

    def _whole_tasks(self) -> dict[str, Fraction]:
        whole = self.allocation.whole
        assert whole is not None  # what shares whole tasks says where they are
        chances = [(one.probability, one.packings) for one in whole.lottery]
        found = {job.name: Fraction(0) for job in self.allocation.jobs}
        for probability, packings in chances or [(Fraction(1), whole.packings)]:
            for packing in packings:
                for name, count in packing.jobs:
                    found[name] += probability * packing.machines * count
        return found

    @property
    def whole(self) -> bool:
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


def near(shown: float, number: Fraction) -> bool:
    """Whether that number is shown as this."""
    return abs(shown - float(number)) <= SHOWN * abs(shown)


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
        of = found.of or found.spec
        return Outcome(given, found, allocate(given.cluster, given.jobs, of, Tasks.WHOLE))
    return Outcome(given, found, allocate(given.cluster, given.jobs, found))
