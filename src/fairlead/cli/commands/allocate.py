"""`fairlead allocate`: the exact fair shares of a cluster."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import add_files, add_policy, as_csv, read, say
from fairlead.cli.common.pages import add_html, check_target, write_page
from fairlead.cli.common.patience import patience
from fairlead.cli.common.screen import screen_of
from fairlead.model.errors import InputError
from fairlead.sharing.rules.whole_names import is_whole

if TYPE_CHECKING:
    from fairlead.model.allocation import Allocation

EPILOG = """\
examples:
  fairlead allocate cluster.yaml jobs.yaml
  fairlead allocate cluster.yaml --policy "kdf(k=2)"
  fairlead allocate cluster.yaml --json > shares.json
  fairlead allocate cluster.yaml --quiet --proof proof.json
  fairlead allocate cluster.yaml jobs.yaml --html shares.html
  fairlead allocate cluster.yaml --tasks whole
  fairlead allocate cluster.yaml --policy cdrf-lottery --draw --seed 7
"""

CSV = (
    "job",
    "tenant",
    "weight",
    "tenant_share",
    "share",
    "level",
    "tasks",
    "alone",
    "scale",
    "policy",
    "stopped_by",
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    add_policy(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the allocation as JSON")
    parser.add_argument(
        "--fractions",
        action="store_true",
        help="with --json: exact numbers as fractions however long they are",
    )
    form.add_argument("--csv", action="store_true", help="print one row per job as CSV")
    form.add_argument("--quiet", action="store_true", help="print nothing; useful with --proof")
    parser.add_argument(
        "--tasks",
        choices=("divisible", "whole"),
        help="whether tasks may run in part (default: divisible)",
    )
    parser.add_argument(
        "--draw", action="store_true", help="draw an allocation of the lottery (cdrf-lottery)"
    )
    parser.add_argument("--seed", type=int, help="what --draw draws by (default: 0)")
    parser.add_argument(
        "--proof", metavar="FILE", help="write what proves the shares, for `fairlead verify`"
    )
    add_html(parser, "draws the shares")


def run(args: argparse.Namespace) -> int:
    from fairlead.sharing.allocate import allocate

    if args.seed is not None and not args.draw:
        raise InputError("--seed is what --draw draws by", "add --draw, or leave out --seed")
    if args.fractions and not args.json:
        raise InputError("--fractions is about what --json prints", "add --json, or leave it out")
    if args.tasks == "divisible" and is_whole(args.policy):
        raise InputError(
            f"{args.policy} shares whole tasks alone", "leave out --tasks, or choose a policy"
        )
    cluster, jobs = read(args.files)
    for option in ("proof", "html"):
        check_target(option, getattr(args, option), args.files)
    if not jobs:
        print("warning: no jobs are described: give their file, too", file=sys.stderr)
    with patience():
        allocation = allocate(cluster, jobs, args.policy, args.tasks or "divisible")
    if args.draw:
        allocation = draw_from_lottery(allocation, args.seed or 0)
    if args.proof is not None:
        write_proof(args.proof, allocation)
    if args.html is not None:
        from fairlead.dashboard.picture import picture

        data = picture(cluster, jobs, allocation)
        write_page(args.html, "Fair shares", args.files, "allocation_page", data)
    if args.json:
        say([allocation.to_json(fractions=args.fractions)], exact=True)
    elif args.csv:
        from fairlead.sharing.analysis.stop_names import reasons

        why = reasons(cluster, jobs, allocation)
        rows = [row | {"stopped_by": why[str(row["job"])]} for row in allocation.table()]
        say(as_csv(rows, CSV), exact=True)
        for text in allocation.sentences():
            print(f"warning: {text}", file=sys.stderr)
    elif not args.quiet:
        from fairlead.cli.text.allocation import allocation_lines

        say(allocation_lines(cluster, jobs, allocation, screen_of(sys.stdout)))
    return 0


def draw_from_lottery(allocation: Allocation, seed: int) -> Allocation:
    from dataclasses import replace

    from fairlead.sharing.whole_tasks.lottery import draw

    whole = allocation.whole
    if whole is None or not whole.lottery:
        raise InputError(f"{allocation.policy} has no lottery to draw from", "use cdrf-lottery")
    number = draw([chance.probability for chance in whole.lottery], seed)
    return replace(allocation, whole=replace(whole, drawn=(number, seed)))


def write_proof(file: str, allocation: Allocation) -> None:
    """Writes the proof, whole or not at all."""
    from pathlib import Path

    from fairlead.model.shares import Tasks
    from fairlead.whole_file import write_whole

    if allocation.proof is None:
        what = f"{allocation.policy} has no proof to write: a mechanism fills no levels"
        right = "leave out --proof, or choose a policy"
        if allocation.tasks is Tasks.WHOLE:
            what = "whole tasks have no proof to write: only exact shares have levels to prove"
            right = "leave out --proof, or --tasks whole"
        raise InputError(what, right)
    write_whole(Path(file), allocation.proof.to_json())
