"""`fairlead trace`: what is in a trace, and the same in Fairlead's own format."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import add_action, say, say_result
from fairlead.model.errors import InputError
from fairlead.model.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.simulation.workload import Workload

EPILOG = """\
examples:
  fairlead trace info openb_node_list_all_node.csv openb_pod_list_gpuspec33.csv
  fairlead trace info google-2011/ --set hours=1 --set missing-durations=300s
  fairlead trace convert google-2011/ --set hours=1 --out first-hour

The format of a trace is known from its files. Whatever a trace does not say is assumed by an
option with a default, given by --set NAME=VALUE and stated in the output.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="info|convert")
    for name, summary in (
        ("info", "what is in a trace, what is missing and what was assumed"),
        ("convert", "write a trace in Fairlead's own format"),
    ):
        action = add_action(actions, name, summary)
        add_trace(action)
        if name == "info":
            action.add_argument("--json", action="store_true", help="print the numbers as JSON")
        else:
            action.add_argument(
                "--out", required=True, metavar="DIR", help="a directory that is not there yet"
            )
            action.add_argument(
                "--tables",
                choices=("parquet", "csv"),
                default="parquet",
                help="how the tables are written (default: parquet)",
            )


def add_trace(parser: argparse.ArgumentParser) -> None:
    """The trace: files, format, options, and machines of another trace."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="the files of a trace, or a directory of them"
    )
    parser.add_argument(
        "--format", metavar="NAME", help="the format, where the files should be of no other"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an assumption about what the trace does not say; may be repeated",
    )
    parser.add_argument(
        "--machines",
        action="append",
        default=[],
        metavar="FILE",
        help="a trace, or a cluster.yaml, whose machines are taken instead; may be repeated",
    )


def read_trace(args: argparse.Namespace) -> Workload:
    """The workload that the arguments of `add_trace` name."""
    from fairlead.simulation.traces.registry import load

    return load(args.files, args.format, assignments(args.set), args.machines)


def assignments(words: Sequence[str]) -> dict[str, str]:
    """The options in `name=value` words. Raises InputError."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise InputError(f"--set {word} is no assignment", "write --set NAME=VALUE")
        if name in found:
            raise InputError(f"--set {name} is given twice", "give it once")
        found[name] = value
    return found


def run(args: argparse.Namespace) -> int:
    from fairlead.files import holding

    with holding([*args.files, *args.machines]):
        return show(args)


def show(args: argparse.Namespace) -> int:
    """Says what is in the trace, or writes it, where what can be read only once is held."""
    workload = read_trace(args)
    if args.action == "convert":
        return _convert(workload, args)
    from fairlead.cli.text.trace import lines, tree
    from fairlead.simulation.traces.describing import describe

    description = describe(workload)
    say_result(
        args.json,
        lambda: tree(workload, description),
        lambda screen: lines(workload, description, screen),
    )
    return 0


def _convert(workload: Workload, args: argparse.Namespace) -> int:
    from pathlib import Path

    from tqdm import tqdm

    from fairlead.simulation.traces.own.form import Form
    from fairlead.simulation.traces.own.writing import write

    # disable=None: a bar on a terminal, nothing in a pipe.
    with tqdm(total=workload.jobs, unit=" jobs", disable=None, leave=False) as bar:
        jobs, tasks = write(workload, Path(args.out), Form(args.tables), bar.update)
    size = f"{counted(jobs, 'job')} with {counted(tasks, 'task')}"
    machines = counted(len(workload.machines.names), "machine")
    say([f"wrote {args.out}: {machines}, {size}"])
    return 0
