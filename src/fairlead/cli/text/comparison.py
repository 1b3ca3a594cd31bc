"""Policies side by side as a table for people, with who gains and who loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.cli.common.screen import Screen, columns, table, wrap
from fairlead.model.words import counted, escaped, listing, number, plural, sentence

if TYPE_CHECKING:
    from fairlead.model.allocation import Allocation

Pair = tuple[list[str], list[str]]
"""A policy's two columns: the tasks of each job, and their change."""


@dataclass(frozen=True)
class Outcome:
    """One policy: its allocation, or why it cannot be applied."""

    policy: str
    allocation: Allocation | None
    refused: tuple[str, ...] = ()

    def tasks(self) -> dict[str, float]:
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


def lines(outcomes: Sequence[Outcome], screen: Screen) -> Iterator[str]:
    """A row for each job, a column for each policy, then who gains and who loses."""
    applied = [outcome for outcome in outcomes if outcome.allocation is not None]
    first = applied[0]
    assert first.allocation is not None  # compare() has raised otherwise
    size = counted(len(first.allocation.jobs), "job")
    yield f"tasks of {size}, {first.allocation.tasks.value}, and the change against {first.policy}"
    yield ""
    moved = [outcome.changes(applied[0]) for outcome in applied[1:]]
    # One block of columns for the job, then one for each policy.
    jobs = first.allocation.jobs
    fixed = [["job", *(escaped(job.name) for job in jobs)]]
    if any(job.tenant != job.name for job in jobs):
        own = (escaped(job.tenant) if job.tenant != job.name else "" for job in jobs)
        fixed.append(["tenant", *own])
    fixed.append([first.policy, *(number(job.tasks) for job in jobs)])
    others = [
        (
            [outcome.policy, *(number(tasks[job.name]) for job in jobs)],
            ["", *(format_change(changes[job.name]) for job in jobs)],
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
        yield from wrap(verdict(outcome.policy, changes), screen)
    for outcome in outcomes:
        if outcome.allocation is None:
            refused = sentence("; ".join(outcome.refused))
            yield from wrap(f"{outcome.policy} cannot be applied: {refused}", screen)
    said = [text for each in applied if each.allocation for text in each.allocation.sentences()]
    for text in dict.fromkeys(said):
        yield from wrap(f"warning: {escaped(text)}", screen)


def _that_fit(
    fixed: Sequence[Sequence[str]], others: Sequence[Pair], screen: Screen
) -> Iterator[Sequence[Pair]]:
    """The policies in groups whose table fits the screen; at least one in each."""

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


def format_change(part: float | None) -> str:
    """`+4.5%`, `-4.5%`, `=`; `new` where there was nothing before."""
    if part is None:
        return "new"
    if part == 0:
        return "="
    return f"{'+' if part > 0 else '-'}{number(abs(100 * part), 3)}%"


def verdict(policy: str, changes: dict[str, float | None]) -> str:
    """A sentence on gains and losses, those with the largest changes first."""
    gains = {name: part for name, part in changes.items() if part is None or part > 0}
    losses = {name: part for name, part in changes.items() if part is not None and part < 0}
    if not gains and not losses:
        return f"{policy}: every job runs as many tasks."
    parts = []
    for word, found in (("gain", gains), ("lose", losses)):
        if found:
            order = sorted(found, key=lambda name: -abs(found[name] or float("inf")))
            names = [f"{escaped(name)} {format_change(found[name])}" for name in order]
            does = word if len(found) > 1 else word + "s"
            parts.append(f"{counted(len(found), 'job')} {does} ({listing(names, most=3)})")
    same = len(changes) - len(gains) - len(losses)
    if same:
        parts.append(f"{counted(same, 'job')} {plural('runs', same)} as many tasks")
    return f"{policy}: {listing(parts)}."
