"""Runs studies: one after the other, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.model.errors import InputError
from fairlead.studies.claims import Row
from fairlead.studies.cost import NOTHING, Cost, Meter
from fairlead.studies.folder import find_rows, keep
from fairlead.studies.page import PAGE, index
from fairlead.studies.study import Setting, Study
from fairlead.whole_file import write_whole


@dataclass(frozen=True)
class Outcome:
    """The outcome of a study: its rows and what they cost, or why there are none; `again`: it was
    there already."""

    study: Study
    rows: tuple[Row, ...] = ()
    cost: Cost = NOTHING
    refused: str = ""
    again: bool = False


def run_one(study: Study, setting: Setting, out: Path) -> Outcome:
    """Runs a study and writes its folder. Raises InputError where its data is not there."""
    meter = Meter()
    found = study.findings(replace(setting, spread=meter.counted(setting.spread)))
    cost = meter.cost()
    keep(study, found, out, quick=setting.quick, cost=cost)
    return Outcome(study, found.rows, cost)


def run_all(
    studies: Sequence[Study],
    setting: Setting,
    out: Path,
    begin: Callable[[Study], object] = lambda _: None,
    end: Callable[[Outcome], object] = lambda _: None,
) -> list[Outcome]:
    """Runs those that this version has not made in `out` yet, and writes the page of all. Studies
    whose data is not there are left out and say why."""
    outcomes = []
    for study in studies:
        begin(study)
        there = find_rows(study, out, quick=setting.quick)
        if there is not None:
            outcome = Outcome(study, *there, again=True)
        else:
            try:
                outcome = run_one(study, setting, out)
            except InputError as error:
                outcome = Outcome(study, refused=str(error))
        outcomes.append(outcome)
        end(outcome)
    done = [(one.study, one.rows, one.cost) for one in outcomes if not one.refused]
    missing = [(one.study, one.refused) for one in outcomes if one.refused]
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / PAGE, index(done, missing))
    return outcomes
