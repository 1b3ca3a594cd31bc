"""`fairlead study`: figures and tables of the papers, made again beside the papers' numbers."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.inputs import say_result
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fairlead.studies.run import Outcome
    from fairlead.studies.study import Spread, Study

EPILOG = """\
examples:
  fairlead study list
  fairlead study tsf-fig2              the data, the picture and the page, in studies/tsf-fig2
  fairlead study tsf-fig2 --json       what the paper has, what came out, and the verdict
  fairlead study all --quick           all of them, smaller where anything is drawn
  fairlead study all --on ray          spread over the Ray cluster that RAY_ADDRESS names

`fairlead study all` goes on where it was stopped: studies that this version has made in the folder
are not made again.
"""

OUT = "studies"
LIST, ALL = "list", "all"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fairlead study [options] NAME"
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help=f"a study, `{LIST}` for what there is, or `{ALL}`"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions and smaller inputs where it matters"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help=f"where each study's folder is written (default: {OUT})",
    )
    parser.add_argument("--on", choices=["ray"], help="spread the parts over a Ray cluster")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(args: argparse.Namespace) -> int:
    from fairlead.studies.registry import every, study_of

    if args.name is None:
        raise InputError(
            "fairlead study needs NAME", f"`fairlead study {LIST}` shows what there is"
        )
    if args.name == LIST:
        return _list(args)
    studies: Sequence[Study] = every() if args.name == ALL else (study_of(args.name),)
    from pathlib import Path

    from fairlead.cli.text.study import lines, tree
    from fairlead.extras import need

    need("matplotlib")
    out = Path(OUT if args.out is None else args.out)
    outcomes = _run(studies, out, quick=args.quick, resumed=args.name == ALL, ray=args.on == "ray")
    say_result(
        args.json,
        lambda: tree(outcomes, of_all=args.name == ALL),
        lambda screen: lines(outcomes, out, screen),
    )
    return 0


def _list(args: argparse.Namespace) -> int:
    from fairlead.cli.text.study import list_lines, list_tree
    from fairlead.studies.registry import every

    if args.quick or args.out is not None or args.on is not None:
        raise InputError(f"`{LIST}` runs nothing", "leave --quick, --out and --on out")
    say_result(args.json, lambda: list_tree(every()), lambda screen: list_lines(every(), screen))
    return 0


def _run(
    studies: Sequence[Study], out: Path, *, quick: bool, resumed: bool, ray: bool
) -> list[Outcome]:
    """Runs the studies, with a bar on a terminal that says which one runs and how many of its parts
    are done."""
    from tqdm import tqdm

    from fairlead.studies.run import run_all, run_one
    from fairlead.studies.study import Setting

    form = "{desc}{percentage:3.0f}%|{bar}| {elapsed}, {remaining} left{postfix}"
    total = sum(study.weight for study in studies)
    # disable=None: a bar on a terminal, nothing in a pipe.
    with tqdm(total=total, bar_format=form, disable=None, leave=False) as bar:

        def begin(study: Study) -> None:
            bar.set_postfix_str("", refresh=False)
            bar.set_description(f"{study.name} ")

        def tell(done: int, parts: int) -> None:
            bar.set_postfix_str(f"{done} of {parts} parts")

        def end(outcome: Outcome) -> None:
            if outcome.again:
                bar.total = (bar.total or 0.0) - outcome.study.weight
            else:
                bar.update(outcome.study.weight)

        with (_spread_on_ray if ray else _spread)(tell) as spread:
            setting = Setting(quick=quick, spread=spread)
            if resumed:
                return run_all(studies, setting, out, begin, end)
            begin(studies[0])
            return [run_one(studies[0], setting, out)]


@contextmanager
def _spread_on_ray(tell: Callable[[int, int], object]) -> Iterator[Spread]:
    """Applies functions on a Ray cluster, which is joined at once; `tell` hears how many of the
    parts are done, and of how many. Files that parts read must be there under the same path."""
    from fairlead.simulation.studies.on_ray import joined

    with joined() as away:

        def everywhere(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
            done: dict[int, Any] = {}
            for place, one in away(function, parts):
                done[place] = one
                tell(len(done), len(parts))
            return [done[place] for place in range(len(parts))]

        yield everywhere


@contextmanager
def _spread(tell: Callable[[int, int], object]) -> Iterator[Spread]:
    """Applies functions in a process a core, which begin when first there is something to do;
    `tell` hears how many of the parts are done, and of how many."""
    from concurrent.futures import ProcessPoolExecutor

    from fairlead import children
    from fairlead.simulation.studies.workers import cores

    pools: list[ProcessPoolExecutor] = []

    def everywhere(function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        done = []
        for one in answers(function, parts):
            done.append(one)
            tell(len(done), len(parts))
        return done

    def answers(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        if cores() == 1 or len(parts) < 2:
            return map(function, parts)
        if not pools:
            pools.append(children.pool(cores()))
        return pools[0].map(function, parts)

    try:
        yield everywhere
    except BaseException:
        for pool in pools:
            children.end(pool)
        raise
    for pool in pools:
        pool.shutdown()
