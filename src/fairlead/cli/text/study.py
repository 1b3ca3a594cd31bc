"""`fairlead study`: what there is, and the verdicts, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.studies.claims import Verdict
from fairlead.studies.folder import SCHEMA
from fairlead.studies.folder import tree as study_tree
from fairlead.studies.page import PAGE, WORDS, heading
from fairlead.studies.run import Outcome
from fairlead.studies.study import Study


def list_tree(studies: Sequence[Study]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "studies": [
            {"study": s.name, "paper": s.paper, "figure": s.figure, "title": s.title}
            for s in studies
        ],
    }


def list_lines(studies: Sequence[Study], screen: Screen) -> list[str]:
    return table(("", ""), [(s.name, heading(s)) for s in studies], "<<", screen)


def tree(outcomes: Sequence[Outcome], *, of_all: bool) -> dict[str, object]:
    if not of_all:
        return study_tree(outcomes[0].study, outcomes[0].rows)
    return {
        "schema": SCHEMA,
        "studies": [study_tree(one.study, one.rows) for one in outcomes if not one.refused],
        "left_out": [
            {"study": one.study.name, "because": one.refused} for one in outcomes if one.refused
        ],
    }


def lines(outcomes: Sequence[Outcome], out: Path, screen: Screen) -> Iterator[str]:
    """The rows of one study, or the verdicts of all."""
    if len(outcomes) == 1:
        yield from _rows(outcomes[0], screen)
        yield ""
        yield f"Written: {out / outcomes[0].study.name / PAGE}"
        return
    yield from _counts(outcomes, screen)
    for one in outcomes:
        if one.refused:
            yield from wrap(f"{one.study.name} is left out: {one.refused}", screen)
    yield ""
    made = sum(not one.again and not one.refused for one in outcomes)
    yield f"made {made} of {len(outcomes)}; {sum(one.again for one in outcomes)} were there"
    yield f"Written: {out / PAGE}"


def _rows(outcome: Outcome, screen: Screen) -> Iterator[str]:
    yield screen.bold(heading(outcome.study))
    yield ""
    rows = [(row.claim, row.paper, row.ours, WORDS[row.verdict]) for row in outcome.rows]
    yield from table(("claim", "paper", "here", "verdict"), rows, "<<<<", screen)
    for row in outcome.rows:
        if row.because:
            yield from wrap(f"{row.claim}: {row.because}", screen)


def _counts(outcomes: Sequence[Outcome], screen: Screen) -> list[str]:
    rows = []
    for one in outcomes:
        if not one.refused:
            of = Counter(row.verdict for row in one.rows)
            rows.append((one.study.name, *(str(of[verdict] or "") for verdict in Verdict)))
    header = ("study", "agree", "differ", "contradict", "cannot")
    return table(header, rows, "<>>>>", screen)
