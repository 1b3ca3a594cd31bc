"""An audit: properties of policies on one input, a finding for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from fairlead.audit.finding import Finding, Input
from fairlead.audit.lottery import ask
from fairlead.audit.outcome import InWhole, Options, Outcome, Rule, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.errors import InputError, Mistake
from fairlead.model.never import why_never
from fairlead.model.report import never_words


@dataclass(frozen=True)
class Refused:
    """A policy that cannot be applied to the input, and why."""

    policy: str
    mistakes: tuple[Mistake, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in sentences."""
        return tuple(map(str, self.mistakes))


def audit(
    given: Input,
    rules: Sequence[Rule],
    properties: Sequence[str] = (),
    options: Options = Options(),  # noqa: B008  a frozen value
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Finding | Refused]:
    """The findings, one policy after the other, each property in the order of the registry; all
    properties where none are named. `progress` is told what is begun."""
    names = properties or tuple(PROPERTIES)
    for name in names:
        if name not in PROPERTIES:
            raise InputError(_unknown(name))
    for rule in rules:
        progress(rule.spec)
        try:
            _refuse_gangs(given, rule)
            outcome = solve(given, rule)
        except InputError as error:
            yield Refused(rule.spec, error.mistakes)
            continue
        yield from judge(outcome, names, options, progress)


def _refuse_gangs(given: Input, rule: Rule) -> None:
    """Raises InputError where whole tasks are shared and some start together: what the properties
    compare are allocations of single tasks, of which most have a part of a gang."""
    together = next((job for job in given.jobs if job.gang > 1), None)
    if isinstance(rule, InWhole) and together is not None:
        raise InputError(
            f"{together.gang} tasks start together, and the audit of whole tasks compares"
            " allocations of single ones",
            "leave out gang, or audit divisible tasks",
            about=("job", together.name, "gang"),
        )


def judge(
    outcome: Outcome,
    properties: Sequence[str],
    options: Options,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Finding]:
    """The findings about one outcome, whoever made its allocation; of a lottery before and after
    the draw."""
    for name, known in PROPERTIES.items():
        if name in properties:
            progress(f"{outcome.rule.spec}: {name}")
            yield from ask(known, outcome, options)


def able(given: Input) -> tuple[Input, tuple[str, ...]]:
    """The input without the jobs that can never run, and a sentence on each of them: their demand
    is nothing, and no property is about what becomes of them once a change lets them run. Raises
    InputError where none is left."""
    never = why_never(given.cluster, given.jobs)
    said = tuple(never_words(name, reason) for name, reason in never.items())
    left = tuple(job for job in given.jobs if job.name not in never)
    if said and not left:
        more = f", and {len(said) - 1} more" if said[1:] else ""
        raise InputError(f"{said[0].removesuffix('.')}{more}: nothing is left to be judged")
    return replace(given, jobs=left), said


def with_pools(given: Input, pools: Sequence[tuple[str, tuple[str, ...]]]) -> Input:
    """The input with these tenants weighing what their pools (names of machines) come to, instead
    of what it says itself."""
    wanted = dict(pools)
    known = {tenant.name: tenant for tenant in given.cluster.tenants}
    for name in wanted:
        if name not in known:
            right = f"the tenants are {', '.join(sorted(known)[:8]) or 'not declared'}"
            raise InputError(f"there is no tenant {name}", right)
    tenants = tuple(
        replace(old, weight=None, pool=wanted[name]) if name in wanted else old
        for name, old in known.items()
    )
    return replace(given, cluster=replace(given.cluster, tenants=tenants))


def _unknown(name: str) -> Mistake:
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), list(PROPERTIES), n=1)
    close = close or [known for known in PROPERTIES if name and name.lower() in known]
    known = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(PROPERTIES)}"
    return Mistake(f"no property `{name}`", known)
