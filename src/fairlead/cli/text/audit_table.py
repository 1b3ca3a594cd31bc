"""`fairlead audit --table`: the papers' property table, as text and as JSON, by all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fairlead import children
from fairlead.audit.finding import Lie, Witness
from fairlead.audit.table.draw import (
    Cell,
    Counts,
    Judged,
    Part,
    Run,
    Table,
    draw_table,
    here,
    judge_part,
    rows_of,
)
from fairlead.audit.table.paper import COLUMNS, REASONS, Row, paper_says
from fairlead.audit.table.whole import WHOLE_COLUMNS, whole_paper_says
from fairlead.audit.witness.file import witness_tree
from fairlead.cli.common.screen import Screen, wrapped
from fairlead.cli.common.screen import table as text_table
from fairlead.model.errors import InputError
from fairlead.model.report import rounded
from fairlead.model.shares import Tasks
from fairlead.model.words import escaped

SCHEMA = "fairlead.audit-table/1"
TRIES = 60
"""Allocations to spend on making each witness smaller: the inputs are small as they are."""

WIDTH = 100
"""Columns of text: the policies that do not fit stand in another block below."""


def judge_table(
    policies: Sequence[str],
    properties: Sequence[str],
    trials: int,
    seed: int,
    tell: Callable[[str], None],
    kind: str = "divisible",
    unlimited: bool = False,
) -> Table:
    """The table, judged by as many processes as this one may use cores."""
    tasks = Tasks(kind)
    every = rows_of(tasks)
    rows = tuple(row for row in every if not properties or row.property in properties)
    known = dict.fromkeys(row.property for row in every)
    for name in properties:
        if name not in known:
            raise InputError(f"no property `{name}`", f"there are {', '.join(known)}")
    names = list(policies or (COLUMNS if tasks is Tasks.DIVISIBLE else WHOLE_COLUMNS))
    with _run() as run:
        return draw_table(names, trials, seed, rows, run, tell, tasks, unlimited)


@contextmanager
def _run() -> Iterator[Run]:
    """Judges parts by a process a core."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if count == 1:
        yield here
        return
    with children.pool(count) as pool:

        def everywhere(parts: Sequence[Part]) -> Iterator[Judged]:
            return pool.map(judge_part, parts)

        try:
            yield everywhere
        except BaseException:
            children.end(pool)
            raise


def tree(table: Table) -> dict[str, object]:
    """The table as `fairlead.audit-table/1`."""
    return {
        "schema": SCHEMA,
        "tasks": table.tasks.value,
        "trials": table.trials,
        "seed": table.seed,
        "unlimited": table.unlimited,
        "families": [
            {
                "family": family.value,
                "instances": counts.instances,
                "constrained": counts.constrained,
                "contended": counts.contended,
                "several_levels": counts.levels,
                "all_three": counts.hard,
            }
            for family, counts in table.counts.items()
        ],
        "cells": [
            _cell_tree(policy, row, table.cells[policy, row.name])
            | {"paper": _paper_says(table, policy, row), "reason": _reason(table, policy, row)}
            for row in table.rows
            for policy in table.policies
        ],
    }


def _paper_says(table: Table, policy: str, row: Row) -> bool | None:
    """Whether a paper has a mark here; None where none says anything."""
    says = paper_says if table.tasks is Tasks.DIVISIBLE else whole_paper_says
    return says(policy, row.name)


def _reason(table: Table, policy: str, row: Row) -> str:
    """Why a blank of the paper has no witness."""
    return REASONS.get((policy, row.name), "") if table.tasks is Tasks.DIVISIBLE else ""


def _cell_tree(policy: str, row: Row, cell: Cell) -> dict[str, object]:
    return {
        "policy": policy,
        "row": row.name,
        "property": row.property,
        "family": row.family.value,
        "verdict": _verdict(cell),
        "judged": cell.judged,
        "refused": cell.refused,
        "trials": cell.trials,
        "best": rounded(cell.best),
        "instance": cell.at,
        "witness": None if cell.witness is None else witness_tree(cell.witness),
        "note": cell.silent if cell.witness is None and not cell.judged else "",
    }


def _verdict(cell: Cell) -> str:
    if cell.witness is not None:
        return "violated"
    return "not-found" if cell.judged else "not-applicable"


def lines(table: Table, screen: Screen) -> Iterator[str]:
    """The table in blocks of columns; how hard the inputs were; where it differs from the papers;
    a sentence for each violation."""
    endless = ", jobs without end" if table.unlimited else ""
    what = f"{table.tasks.value} tasks{endless}. no: there is a witness;"
    yield f"{table.trials} inputs of each kind, seed {table.seed}, {what}"
    yield "a number: none found in so many inputs, which proves nothing; -: it says nothing here"
    for block in _blocks(table):
        yield ""
        yield from _block(table, block, screen)
    yield ""
    yield from _hardness(table, screen)
    differing = list(_differing(table))
    if differing:
        yield ""
    for sentence in differing:
        yield from wrapped(escaped(sentence), screen)
    yield ""
    for row in table.rows:
        for policy in table.policies:
            witness = table.cells[policy, row.name].witness
            if witness is not None:
                title = row.title.strip()
                yield from wrapped(escaped(f"{policy}, {title}: {witness.sentence}"), screen)


def _blocks(table: Table) -> Iterator[list[str]]:
    """The policies, as many beside each other as fit."""
    first = max(len(row.title) for row in table.rows)
    block: list[str] = []
    width = first
    for policy in table.policies:
        need = 2 + max(len(policy), len(str(table.trials)))
        if block and width + need > WIDTH:
            yield block
            block, width = [], first
        block.append(policy)
        width += need
    yield block


def _block(table: Table, policies: Sequence[str], screen: Screen) -> list[str]:
    rows = [
        [row.title, *(_word(table.cells[policy, row.name]) for policy in policies)]
        for row in table.rows
    ]
    return text_table(["property", *policies], rows, "<" + ">" * len(policies), screen)


def _word(cell: Cell) -> str:
    if cell.witness is not None:
        return "no"
    return str(cell.judged) if cell.judged else "-"


def _hardness(table: Table, screen: Screen) -> list[str]:
    def row(name: str, counts: Counts) -> list[str]:
        numbers = (counts.instances, counts.constrained, counts.contended, counts.levels)
        return [name, *map(str, (*numbers, counts.hard))]

    header = ["inputs", "drawn", "constrained", "contended", "several levels", "all three"]
    rows = [row(family.value, counts) for family, counts in table.counts.items()]
    return text_table(header, rows, "<>>>>>", screen)


def _differing(table: Table) -> Iterator[str]:
    """Sentences on each difference from the papers."""
    for row in table.rows:
        for policy in table.policies:
            cell, says = table.cells[policy, row.name], _paper_says(table, policy, row)
            title = row.title.strip()
            if says is True and cell.witness is not None:
                yield f"Against its paper: {policy} violates {title}{_beyond(cell.witness)}."
            if says is False and cell.witness is None:
                why = _reason(table, policy, row) or "and none was found here"
                yield f"The paper has a blank for {policy}, {title}: {why}."


def _beyond(witness: Witness) -> str:
    """Names parts of the witness that no paper's claims are about."""
    beyond = []
    if any(job.tasks is not None for job in witness.input.jobs):
        beyond.append("jobs run out of tasks")
    if isinstance(witness.change, Lie) and len(witness.change.liars) > 1:
        beyond.append("two lie together")
    return f", where {' and '.join(beyond)} (not so in its paper)" if beyond else ""
