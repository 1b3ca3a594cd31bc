"""CDRF, Theorems 2.3, 3.1 and 3.2, sections 2.4, 3.2 and 4.2: who keeps which promise with whole
tasks, with witnesses."""

from __future__ import annotations

from fairlead.model.shares import Tasks
from fairlead.studies.claims import whether
from fairlead.studies.properties.report import (
    cells_table,
    inputs_table,
    picture,
    sentence,
    witness_files,
)
from fairlead.studies.properties.search import search_table, with_smaller
from fairlead.studies.properties.whole import BECAUSE, CLAIMED, DENIED, WHOLE_COLUMNS, WHOLE_ROWS
from fairlead.studies.study import About, Findings, Setting

SEED = 1
INPUTS, FEW = 100, 1
TRIES, FEW_TRIES = 60, 6
"""Allocations to spend on making each witness smaller."""
SAID = {*CLAIMED, *(policy for policy, _ in DENIED)}


def run(setting: Setting) -> Findings:
    """Looks for a witness against each property of each mechanism."""
    inputs = FEW if setting.quick else INPUTS
    # A quick run has those alone of which a row says something.
    columns = [p for p in WHOLE_COLUMNS if not setting.quick or p in SAID]
    said = [(policy, row, True) for policy, rows in CLAIMED.items() for row in rows]
    said += [(policy, row, False) for policy, row in DENIED]
    found = with_smaller(
        search_table(columns, inputs, SEED, WHOLE_ROWS, setting.spread, tasks=Tasks.WHOLE),
        FEW_TRIES if setting.quick else TRIES,
        [(policy, row) for policy, row, _ in said],
        setting.spread,
    )
    titles = {row.name: row.title for row in WHOLE_ROWS}
    return Findings(
        rows=tuple(
            whether(
                f"{policy}: {titles[row]}",
                found.cells[policy, row].witness is None,
                BECAUSE.get((policy, row), "a search may find nothing, and so many inputs are few"),
                paper=claimed,
                shown=sentence(found.cells[policy, row]),
            )
            for policy, row, claimed in said
        ),
        tables=(cells_table("mechanisms", found), inputs_table("inputs", found)),
        pictures=(picture("cdrf-promises", "Whole tasks: every mechanism, every property", found),),
        seeds=(SEED,),
        files=witness_files(found, [(policy, row) for policy, row, _ in said]),
    )


STUDY = About(
    figure="Theorems 2.3, 3.1 and 3.2",
    title="promises with whole tasks",
    shows="Before it is drawn the lottery has the sharing incentive, wastes nothing, cannot be lied"
    " to, loses nobody anything when another leaves, and does not care about machines that are of"
    " no use; the moving knife keeps the sharing incentive for certain; serial dictatorship wastes"
    " nothing and cannot be lied to; drawn by lot, it wastes much before the draw.",
    assumes=(
        "A mark is a search that found nothing, which proves nothing; a blank is a witness.",
        f"{INPUTS} small inputs of each kind, four lies an input.",
        "The paper knows no constraints: rows with `closed` are ours.",
    ),
    weight=150.0,
)
