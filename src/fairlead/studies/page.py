"""A study's page, and the page of all studies, in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fairlead.simulation.report.words import duration
from fairlead.studies.claims import Row, Verdict
from fairlead.studies.cost import Cost
from fairlead.studies.study import Findings, Study
from fairlead.version import __version__

PAGE = "index.md"

WORDS = {
    Verdict.AGREES: "agrees",
    Verdict.DIFFERS: "differs",
    Verdict.CONTRADICTION: "the paper contradicts itself",
    Verdict.IMPOSSIBLE: "cannot be repeated",
}


def page(study: Study, found: Findings, *, quick: bool, cost: Cost) -> str:
    lines = [f"# {heading(study)}", "", beginning(study), ""]
    for picture in found.pictures:
        lines += [f"![{picture.title}]({picture.name}.png)", "", f"*{picture.caption}*", ""]
    theirs = "the paper" if study.figure else "expected"
    lines += [f"| claim | {theirs} | here | verdict |", "|---|---|---|---|"]
    lines += [_line(row) for row in found.rows]
    assumes = (*study.assumes, *found.notes)
    if assumes:
        lines += ["", "## Assumptions", "", *(f"- {sentence}" for sentence in assumes)]
    lines += ["", "## This run", ""]
    lines += [f"- {sentence}" for sentence in _about(study, found, quick, cost)]
    return "\n".join(lines) + "\n"


def beginning(study: Study) -> str:
    """What the figure shows, as its paper's: whoever reads no further is not to take it for what
    was found here."""
    return f"**What the paper shows.** {study.shows}" if study.figure else study.shows


def heading(study: Study) -> str:
    """The study's title with its place in the paper."""
    if study.figure:
        return f"{study.paper}, {study.figure}: {study.title}"
    return study.title[0].upper() + study.title[1:]


def _line(row: Row) -> str:
    verdict = WORDS[row.verdict]
    if row.because:
        colon = {Verdict.DIFFERS: " because ", Verdict.IMPOSSIBLE: " because "}
        verdict += colon.get(row.verdict, ": ") + row.because
    elif row.how:
        verdict += f" {row.how}"
    return f"| {_cell(row.claim)} | {_cell(row.paper)} | {_cell(row.ours)} | {_cell(verdict)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _about(study: Study, found: Findings, quick: bool, cost: Cost) -> Iterator[str]:
    option = " --quick" if quick else ""
    yield f"`fairlead study {study.name}{option}`, Fairlead {__version__}"
    if quick:
        yield "quick: less is drawn than in a full run, where anything is"
    if found.seeds:
        one = len(found.seeds) == 1
        yield f"seed {found.seeds[0]}" if one else f"seeds {found.seeds[0]} to {found.seeds[-1]}"
    else:
        yield "nothing is drawn: no seed"
    yield f"took {cost.words}"
    if found.tables:
        files = ", ".join(f"[{table.name}.csv]({table.name}.csv)" for table in found.tables)
        yield f"data: {files}"
    if found.files:
        yield f"files: {', '.join(f'[{name}]({name})' for name in found.files)}"


def index(
    done: Sequence[tuple[Study, Sequence[Row], Cost]], missing: Sequence[tuple[Study, str]]
) -> str:
    """The page of all studies: the verdicts and the cost of each, and those that could not be
    made."""
    counts = Counter(row.verdict for _, rows, _ in done for row in rows)
    verdicts = (
        f"Figures and tables of the papers, made again by Fairlead {__version__}. Of"
        f" {sum(counts.values())} claims {counts[Verdict.AGREES]} agree,"
        f" {counts[Verdict.DIFFERS]} differ, {counts[Verdict.CONTRADICTION]} contradict"
        f" something else in their paper, and {counts[Verdict.IMPOSSIBLE]} cannot be repeated."
    )
    total = sum(cost.processors for _, _, cost in done)
    lines = ["# Studies", "", verdicts, "", f"They took {duration(total)} of processors.", ""]
    lines += [
        "| study | | agree | differ | contradict | cannot | processors |",
        "|---|---|---|---|---|---|---|",
    ]
    for study, rows, cost in done:
        of = Counter(row.verdict for row in rows)
        numbers = " | ".join(str(of[verdict]) if of[verdict] else "" for verdict in Verdict)
        link = f"[{study.name}]({study.name}/{PAGE})"
        took = duration(cost.processors)
        lines.append(f"| {link} | {_cell(heading(study))} | {numbers} | {took} |")
    lines += [
        f"| {study.name} | {_cell(heading(study))}: {_cell(why)} | | | | | |"
        for study, why in missing
    ]
    return "\n".join(lines) + "\n"
