"""A table of properties as data, as a picture and as files of witnesses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.audit.witness.file import witness_json
from fairlead.studies.pictures.charts import grid
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.properties.search import Cell, Key
from fairlead.studies.properties.search import Table as Judged
from fairlead.studies.study import Table

ROW_HEIGHT, AROUND = 0.24, 1.6
"""Inches of a row of the picture, and of what stands around the rows."""


def cells_table(name: str, found: Judged) -> Table:
    """A line a cell: the verdict, what it rests on, and the witness in words."""
    about = ("policy", "property", "inputs", "verdict")
    header = (*about, "judged", "refused", "changes", "gain", "input", "witness")
    rows = []
    for row in found.rows:
        for policy in found.policies:
            cell = found.cells[policy, row.name]
            said = "" if cell.judged else cell.silent
            rows.append(
                (
                    policy,
                    row.name,
                    row.family.value,
                    _verdict(cell),
                    cell.judged,
                    cell.refused,
                    cell.trials,
                    cell.best,
                    cell.at,
                    said if cell.witness is None else cell.witness.sentence,
                )
            )
    return Table.of_rows(name, header, rows)


def inputs_table(name: str, found: Judged) -> Table:
    """How hard the inputs of each family were."""
    header = ("inputs", "drawn", "constrained", "contended", "several levels", "all three")
    rows = [
        (family.value, of.instances, of.constrained, of.contended, of.levels, of.hard)
        for family, of in found.counts.items()
    ]
    return Table.of_rows(name, header, rows)


def picture(name: str, title: str, found: Judged) -> Picture:
    """The table as a picture: `no` where there is a witness, else the inputs without one."""
    words = [[_word(found.cells[p, row.name]) for p in found.policies] for row in found.rows]
    shades = {"no": 1.0, "–": 0.0}
    panel: Panel = grid(
        found.policies,
        [row.title for row in found.rows],
        words,
        [[shades.get(word, 0.25) for word in line] for line in words],
    )
    return Picture(
        title,
        "no: there is a witness. A number: none was found in so many inputs, which proves nothing."
        " –: the property says nothing of the policy.",
        (panel,),
        height=AROUND + ROW_HEIGHT * len(found.rows),
        width=AROUND + 0.55 * len(found.policies),
        name=name,
    )


def witness_files(found: Judged, keys: Iterable[Key]) -> dict[str, str]:
    """The witnesses of these cells as files that `fairlead audit --replay` takes."""
    files = {}
    for policy, row in keys:
        witness = found.cells[policy, row].witness
        if witness is not None:
            files[f"witnesses/{slug(policy)}-{row}.json"] = witness_json(witness)
    return files


def slug(policy: str) -> str:
    """A policy's name as a part of a file's."""
    return re.sub(r"[^a-z0-9]+", "-", policy).strip("-")


def sentence(cell: Cell) -> str:
    """The ground of the cell's verdict."""
    if cell.witness is not None:
        return cell.witness.sentence.rstrip(".")
    return f"none in {cell.judged} inputs"


def _verdict(cell: Cell) -> str:
    if cell.witness is not None:
        return "violated"
    return "not found" if cell.judged else "not applicable"


def _word(cell: Cell) -> str:
    if cell.witness is not None:
        return "no"
    return str(cell.judged) if cell.judged else "–"
