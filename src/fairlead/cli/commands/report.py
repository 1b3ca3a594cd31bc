"""`fairlead report`: what a study found, as a page with plots and as a table."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import say
from fairlead.cli.common.screen import Screen, screen_of, table, wrap
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.model.report import Tree
    from fairlead.simulation.report.reading import Run
    from fairlead.simulation.report.tables import Table

EPILOG = """\
examples:
  fairlead simulate tsf-study --policies tsf,drf,fifo --out study
  fairlead report study                    writes study/report/index.html
  fairlead report study --table            only the table, no files
  fairlead report study --first drf        how the others compare with DRF

The page needs nothing beside it: it can be sent, and opened without a network. The plots are also
there as PNG and SVG.
"""

FOLDER = "report"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the folder that `fairlead simulate --out` made")
    parser.add_argument(
        "--out", metavar="FOLDER", help=f"where the report is written (default: DIR/{FOLDER})"
    )
    parser.add_argument(
        "--first",
        metavar="POLICY",
        help="the policy that the others are compared with (default: tsf if it was run)",
    )
    parser.add_argument("--table", action="store_true", help="print the table and write no file")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from fairlead.extras import need

    if not args.table:
        need("matplotlib")
    from fairlead.simulation.report.reading import read_folder

    path = Path(args.dir)
    folder = read_folder(path, args.first)
    screen = screen_of(sys.stdout)
    if args.table:
        from fairlead.simulation.report.making import tables_of

        say(lines(folder.workload, tables_of(folder), screen))
        return 0
    from fairlead.dashboard.page import page
    from fairlead.simulation.report.making import PAGE, report_of, write

    report = report_of(folder)
    out = path / FOLDER if args.out is None else Path(args.out)
    shown = {**report.tree(), "moment": _moment(report.first)}
    write(report, page(report.title, "report_page", shown), out)
    say([*lines(report.title, report.tables, screen), "", f"Written: {out / PAGE}"])
    return 0


def _moment(run: Run) -> Tree | None:
    """The exact allocation of the moment at which most wait, as the views draw it; None where the
    run kept none."""
    from fairlead.cli.common.inputs import read
    from fairlead.dashboard.picture import picture
    from fairlead.sharing.allocate import allocate
    from fairlead.simulation.measure.crowded import FILE
    from fairlead.simulation.report.figures import WITHOUT_SCALE

    file = run.folder / FILE
    if not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    cluster, jobs = read([str(file)])
    policy = "tsf" if run.policy in WITHOUT_SCALE else run.policy
    told = text.partition("\n")[0].removeprefix("# ")
    return {
        "sentence": told,
        "seed": run.seed,
        "picture": picture(cluster, jobs, allocate(cluster, jobs, policy)),
    }


def lines(title: str, tables: Sequence[Table], screen: Screen) -> list[str]:
    """The tables as text, each with what it says of itself."""
    found = [screen.bold(escaped(title))]
    for each in tables:
        rows = [[escaped(cell) for cell in row] for row in each.rows]
        found += ["", screen.bold(each.title)]
        found += table(each.header, rows, each.right, screen)
        found += [screen.dim(line) for line in wrap(each.caption, screen)]
    return found
