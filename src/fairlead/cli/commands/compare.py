"""`fairlead compare`: who gains and who loses under other policies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import add_files, as_csv, read, say
from fairlead.cli.common.patience import patience

if TYPE_CHECKING:
    from fairlead.cli.common.screen import Screen
    from fairlead.model.allocation import Allocation
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster

EPILOG = """\
examples:
  fairlead compare cluster.yaml
  fairlead compare cluster.yaml --policies "tsf, kdf(k=2), market"

Shares mean something else under every policy, so what is compared is how many tasks each job
runs. A policy that cannot be applied to the input (a scale that does not exist) is shown as
refused, with the reason.
"""

SCHEMA = "fairlead.comparison/1"
POLICIES = "tsf,drf,cdrf"
Pair = tuple[list[str], list[str]]
"""A policy's two columns: the tasks of each job, and their change."""

CSV = ("job", "tenant", "policy", "tasks", "change", "refused")


@dataclass(frozen=True)
class Outcome:
    """One policy: its allocation, or why it cannot be applied."""

    policy: str
    allocation: Allocation | None
    refused: tuple[str, ...] = ()

    def tasks(self) -> dict[str, float]:
        """The tasks that each job runs."""
        return {job.name: job.tasks for job in self.allocation.jobs} if self.allocation else {}

    def changes(self, first: Outcome) -> dict[str, float | None]:
        """By how much each job runs more than under the first policy, as a part of that; 0 only
        where it runs as much, None where it ran nothing."""
        from fairlead.model.unrounded import change

        if self.allocation is None or first.allocation is None:
            return {}
        before, after = first.allocation.unrounded, self.allocation.unrounded
        within = max(before.within, after.within)
        return {
            job.name: change(before.tasks[job.name], after.tasks[job.name], within)
            for job in first.allocation.jobs
        }


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    add_files(parser)
    parser.add_argument(
        "--policies",
        default=POLICIES,
        metavar="LIST",
        help=f"what to compare, the first with all others (default: {POLICIES})",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the comparison as JSON")
    form.add_argument("--csv", action="store_true", help="print a row per job and policy as CSV")


def run(args: argparse.Namespace) -> int:
    """Prints the comparison."""
    cluster, jobs = read(args.files)
    with patience():
        outcomes = compare(cluster, jobs, args.policies)
    if args.json:
        from fairlead.model.report import json_text

        say([json_text(tree(outcomes))])
    elif args.csv:
        say(as_csv(list(rows(outcomes)), CSV))
    else:
        from fairlead.cli.common.screen import screen_of

        say(lines(outcomes, screen_of(sys.stdout)))
    return 0


def compare(cluster: Cluster, jobs: Sequence[Job], policies: str) -> list[Outcome]:
    """The outcome of every policy of the list. The first one must be applicable."""
    from fairlead.model.errors import InputError, Mistake
    from fairlead.sharing.allocate import allocate
    from fairlead.sharing.rules.registry import parse
    from fairlead.sharing.rules.spec import split

    rules = []
    mistakes: list[Mistake] = []
    for text in split(policies):
        try:
            rules.append(parse(text))
        except InputError as error:
            mistakes += error.mistakes
    if mistakes:
        raise InputError(mistakes)
    if len({rule.spec for rule in rules}) < 2:
        raise InputError(
            Mistake(f"{policies!r} is nothing to compare", "write two policies or more: tsf,drf")
        )
    outcomes = [Outcome(rules[0].spec, allocate(cluster, jobs, rules[0]))]
    for rule in rules[1:]:
        try:
            outcomes.append(Outcome(rule.spec, allocate(cluster, jobs, rule)))
        except InputError as error:
            reasons = tuple(str(mistake) for mistake in error.mistakes)
            outcomes.append(Outcome(rule.spec, None, reasons))
    return outcomes


def rows(outcomes: Sequence[Outcome]) -> Iterator[dict[str, object]]:
    """A row for each job and policy."""
    from fairlead.model.report import rounded

    first = outcomes[0]
    assert first.allocation is not None  # compare() has raised otherwise
    found = [(outcome, outcome.tasks(), outcome.changes(first)) for outcome in outcomes]
    for job in first.allocation.jobs:
        for outcome, tasks, changes in found:
            yield {
                "job": job.name,
                "tenant": job.tenant,
                "policy": outcome.policy,
                "tasks": tasks.get(job.name),
                "change": rounded(changes.get(job.name)),
                "refused": " ".join(outcome.refused) or None,
            }


def tree(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The comparison as `fairlead.comparison/1`."""
    return {
        "schema": SCHEMA,
        "policies": [
            {"policy": outcome.policy, "refused": list(outcome.refused) or None}
            for outcome in outcomes
        ],
        "jobs": [
            {key: row[key] for key in ("job", "tenant", "policy", "tasks", "change")}
            for row in rows(outcomes)
        ],
    }


def lines(outcomes: Sequence[Outcome], screen: Screen) -> Iterator[str]:
    """A row for each job, a column for each policy, then who gains and who loses."""
    from fairlead.cli.common.screen import shown, table, wrapped
    from fairlead.model.words import counted, number, sentence

    applied = [outcome for outcome in outcomes if outcome.allocation is not None]
    first = applied[0]
    assert first.allocation is not None  # compare() has raised otherwise
    size = counted(len(first.allocation.jobs), "job")
    yield f"tasks of {size}, {first.allocation.tasks.value}, and the change against {first.policy}"
    yield ""
    moved = [outcome.changes(applied[0]) for outcome in applied[1:]]
    # One block of columns for the job, then one for each policy.
    jobs = first.allocation.jobs
    fixed = [["job", *(shown(job.name) for job in jobs)]]
    if any(job.tenant != job.name for job in jobs):
        own = (shown(job.tenant) if job.tenant != job.name else "" for job in jobs)
        fixed.append(["tenant", *own])
    fixed.append([first.policy, *(number(job.tasks) for job in jobs)])
    others = [
        (
            [outcome.policy, *(number(tasks[job.name]) for job in jobs)],
            ["", *(signed(changes[job.name]) for job in jobs)],
        )
        for outcome, changes in zip(applied[1:], moved, strict=True)
        for tasks in [outcome.tasks()]
    ]
    for index, part in enumerate(_that_fit(fixed, others, screen)):
        header, *body = zip(*fixed, *(column for pair in part for column in pair), strict=True)
        yield from [""] * bool(index)
        yield from table(header, body, "<" * (len(fixed) - 1) + ">" + "><" * len(part), screen)
    yield ""
    for outcome, changes in zip(applied[1:], moved, strict=True):
        yield from wrapped(verdict(outcome.policy, changes), screen)
    for outcome in outcomes:
        if outcome.allocation is None:
            refused = sentence("; ".join(outcome.refused))
            yield from wrapped(f"{outcome.policy} cannot be applied: {refused}", screen)
    for outcome in applied:
        assert outcome.allocation is not None  # what applied is
        for text in outcome.allocation.warnings:
            yield from wrapped(f"warning: {shown(sentence(text))}", screen)


def _that_fit(
    fixed: Sequence[Sequence[str]], others: Sequence[Pair], screen: Screen
) -> Iterator[Sequence[Pair]]:
    """The policies in groups whose table fits the screen; at least one in each."""
    from fairlead.cli.common.screen import columns

    def width(column: Sequence[str]) -> int:
        return 2 + max(map(columns, column))

    start = sum(map(width, fixed)) - 2
    group: list[Pair] = []
    used = start
    for pair in others:
        needs = sum(map(width, pair))
        if group and screen.width is not None and used + needs > screen.width:
            yield group
            group, used = [], start
        group.append(pair)
        used += needs
    yield group


def signed(part: float | None) -> str:
    """`+4.5%`, `-4.5%`, `=`; `new` where there was nothing before."""
    from fairlead.model.words import number

    if part is None:
        return "new"
    if part == 0:
        return "="
    return f"{'+' if part > 0 else '-'}{number(abs(100 * part), 3)}%"


def verdict(policy: str, changes: dict[str, float | None]) -> str:
    """Who gains and who loses, those with the largest changes first."""
    from fairlead.cli.common.screen import shown
    from fairlead.model.words import counted, listing, plural

    gains = {name: part for name, part in changes.items() if part is None or part > 0}
    losses = {name: part for name, part in changes.items() if part is not None and part < 0}
    if not gains and not losses:
        return f"{policy}: every job runs as many tasks."
    parts = []
    for word, found in (("gain", gains), ("lose", losses)):
        if found:
            order = sorted(found, key=lambda name: -abs(found[name] or float("inf")))
            names = [f"{shown(name)} {signed(found[name])}" for name in order]
            does = word if len(found) > 1 else word + "s"
            parts.append(f"{counted(len(found), 'job')} {does} ({listing(names, most=3)})")
    same = len(changes) - len(gains) - len(losses)
    if same:
        parts.append(f"{counted(same, 'job')} {plural('runs', same)} as many tasks")
    return f"{policy}: {listing(parts)}."
