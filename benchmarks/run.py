"""Runs the project's benchmarks: `python benchmarks/run.py NAME [--json]`; `list` names them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

# Found through the path above.
from benchmarks import showing  # noqa: E402
from benchmarks.cases import Case, Options, Row, Target  # noqa: E402
from benchmarks.measuring import measure  # noqa: E402

SUITES = ROOT / "benchmarks" / "suites"
WRONG_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0; 1 if a program failed or results differ; 2 for a wrong command line."""
    options = _parser().parse_args(arguments)
    if options.name == "list":
        for name in names():
            print(f"{name:10} {_summary(name)}")
        return 0
    if options.name == "show":
        return _show(options.file, as_markdown=options.markdown)
    return _run(options)


def names() -> list[str]:
    """Every benchmark: the files in `suites/`."""
    return sorted(path.stem for path in SUITES.glob("*.py") if path.stem != "__init__")


def suite(name: str, options: Options) -> list[Case]:
    """The benchmark's cases, in the order in which they are run."""
    cases: list[Case] = import_module(f"benchmarks.suites.{name}").cases(options)
    if options.quick:  # the targets are about the full sizes
        return [replace(case, target=Target()) for case in cases]
    return cases


def _run(options: argparse.Namespace) -> int:
    every = suite(options.name, Options(quick=options.quick, seed=options.seed))
    wanted = options.only or ["*"]
    cases = [case for case in every if any(_matches(case, pattern) for pattern in wanted)]
    if not cases:
        known = ", ".join(case.name for case in every)
        return _refuse(f"no case is called {' or '.join(wanted)}; there are {known}")
    if missing := _missing(cases):
        return _refuse(
            f"{', '.join(missing)} must be installed for the baselines: "
            "python -m pip install -r requirements/benchmarks.txt"
        )
    rows: list[Row] = []
    columns = showing.widths(cases)
    before = showing.machine()
    progress = _Progress(len(cases))
    if not options.json:
        print(showing.size_words(cases))
        print(showing.line(showing.HEADINGS, columns), flush=True)
    for case in cases:
        progress.show(case)
        row = measure(case, options.repeat, options.limit, options.threads)
        rows.append(row)
        progress.clear()
        if not options.json:
            print(showing.line(showing.cells(row), columns), flush=True)
    if options.json:
        found = showing.document(
            options.name,
            rows,
            seed=options.seed,
            quick=options.quick,
            limit=options.limit,
            threads=options.threads,
            measured_on=before,
        )
        print(json.dumps(found, indent=1, ensure_ascii=False))
    return int(any(_wrong(row) for row in rows))


def _show(file: str, *, as_markdown: bool) -> int:
    try:
        rows = showing.rows_of(json.loads(Path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError) as error:
        return _refuse(f"{file} does not hold the --json output of a benchmark: {error}")
    if as_markdown:
        print(showing.markdown(rows))
        return 0
    cases = [row.case for row in rows]
    columns = showing.widths(cases)
    print(showing.size_words(cases))
    for texts in (showing.HEADINGS, *(showing.cells(row) for row in rows)):
        print(showing.line(texts, columns))
    return 0


class _Progress:
    """A line on what is being measured and the time left, on a terminal only."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.started = total, 0, time.monotonic()
        self.on = sys.stderr.isatty()

    def show(self, case: Case) -> None:
        text = f"[{self.done + 1}/{self.total}] {case.name}"
        if self.done:
            each = (time.monotonic() - self.started) / self.done
            text += f", about {each * (self.total - self.done):.0f} s left"
        if self.on:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        self.done += 1

    def clear(self) -> None:
        if self.on:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in names():
        command = commands.add_parser(name, help=_summary(name))
        command.add_argument("--json", action="store_true", help=f"print {showing.SCHEMA}")
        command.add_argument("--quick", action="store_true", help="small sizes, in seconds")
        command.add_argument(
            "--only", action="append", metavar="CASE", help="a case, or a pattern as local*"
        )
        command.add_argument(
            "--repeat", type=_positive, default=3, help="processes for each program (3)"
        )
        command.add_argument("--seed", type=int, default=1, help="of the instances (1)")
        command.add_argument(
            "--limit", type=float, default=600.0, help="seconds after which a run stops (600)"
        )
        command.add_argument(
            "--threads", type=_positive, help="of the linear algebra under NumPy (as it likes)"
        )
    commands.add_parser("list", help="the names of all benchmarks")
    show = commands.add_parser("show", help="the table of a file that --json wrote")
    show.add_argument("file")
    show.add_argument("--markdown", action="store_true")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _summary(name: str) -> str:
    """The first line of the benchmark's file."""
    first = (SUITES / f"{name}.py").read_text(encoding="utf-8").partition("\n")[0]
    return first.strip('"')


def _matches(case: Case, pattern: str) -> bool:
    return fnmatch(case.name, pattern) or fnmatch(case.name, f"{pattern}/*")


def _missing(cases: Sequence[Case]) -> list[str]:
    calls = [call for case in cases for call in (case.ours, case.baseline) if call]
    needed = dict.fromkeys(module for call in calls for module in call.needs)
    return [module for module in needed if find_spec(module) is None]


def _wrong(row: Row) -> bool:
    sides = [side for side in (row.ours, row.baseline) if side]
    apart = row.difference is not None and row.difference > showing.AGREE
    return apart or any(side.error for side in sides)


def _refuse(sentence: str) -> int:
    print(f"benchmarks: {sentence}", file=sys.stderr)
    return WRONG_INPUT


if __name__ == "__main__":
    sys.exit(main())
