"""Advice as it enters the core: names become slots and groups of machines that are alike."""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InputError
from fairlead.scheduling.events import Advice, AdviceChanged
from fairlead.scheduling.kernels.guided import UNNAMED
from fairlead.scheduling.kernels.memory.trail import mix
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.digest import word_of
from fairlead.scheduling.state.rows import tasks_held


def advice_changed(book: Book, event: AdviceChanged) -> None:
    """All advice is replaced. It was computed outside and may come late: what it says of jobs and
    machines that are gone by now is left out.

    Machines are in the group that the event names them in, 0 if it names them in none. What it
    does not say of a job that it names comes after all that it says.
    """
    wrong = next((each for each in event.advice if each.rank < 0 or each.target < 0), None)
    if wrong is not None:
        raise InputError(
            f"a rank of {wrong.rank} and a target of {wrong.target} millionths",
            "neither is below 0",
            about=("job", wrong.job),
        )
    groups, of = _groups(event.advice)
    book.pass_time(event.time)
    state = book.state
    state.advise(len(groups) + 1 if groups else 0)
    mix(state.handle, _word(event, groups, of))
    used = int(state.header[0]["machines"])
    state.machine["group"][:used] = 0
    for names, group in groups.items():
        for name in names:
            if name in book.ids.machines:
                state.machine[book.ids.machines[name]]["group"] = group
    last = max((each.rank for each in event.advice), default=0) + 1
    named = {book.ids.jobs[each.job] for each in event.advice if each.job in book.ids.jobs}
    for j in sorted(named):
        state.rank[j] = last
        state.target[j] = UNNAMED
    for each, group in zip(event.advice, of, strict=True):
        if each.job in book.ids.jobs:
            at = book.ids.jobs[each.job], group
            state.rank[at] = each.rank
            state.target[at] = each.target
    if groups:
        task = state.task[tasks_held(state)]
        np.add.at(state.runs, (task["job"], state.machine["group"][task["machine"]]), 1)


Groups = dict[tuple[str, ...], int]
"""Groups of machines by the names in them."""


def _groups(advice: tuple[Advice, ...]) -> tuple[Groups, list[int]]:
    """The groups of machines that are named, from 1, and that of each piece of advice. Refuses a
    machine that is in two."""
    groups: Groups = {}
    of: list[int] = []
    # Thousands of pieces name the same tuple of thousands of machines: it is looked at once.
    known: dict[int, int] = {}
    for each in advice:
        group = known.get(id(each.machines))
        if group is None:
            group = groups.setdefault(each.machines, len(groups) + 1)
            known[id(each.machines)] = group
        of.append(group)
    seen: set[str] = set()
    for names in groups:
        twice = next((name for name in names if name in seen), None)
        if twice is not None:
            raise InputError(
                "advice has it in two groups of machines",
                "name groups that have no machine in common",
                about=("machine", twice),
            )
        seen.update(names)
    return groups, of


def _word(event: AdviceChanged, groups: Groups, of: list[int]) -> int:
    """A number for all that the event says, the same on every machine."""
    rows = [(a.job, g, a.rank, a.target) for a, g in zip(event.advice, of, strict=True)]
    return word_of((list(groups), rows))
