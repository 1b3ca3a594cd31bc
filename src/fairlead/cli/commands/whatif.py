"""`fairlead whatif`: who gains and who loses with other machines, weights, constraints, demands;
and which machines to buy."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import (
    add_files,
    add_live,
    add_policy,
    is_live,
    read_jobs,
    say_result,
    texts_of,
    with_places,
)
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.audit.finding import Input
    from fairlead.audit.outcome import Outcome, Rule
    from fairlead.audit.whatif.catalogue import Offer
    from fairlead.audit.whatif.compare import WhatIf

EPILOG = """\
examples:
  fairlead whatif cluster.yaml jobs.yaml --add "4 x h01" --weight vision=3
  fairlead whatif cluster.yaml jobs.yaml --remove "a[01-04]" --drop-constraint train
  fairlead whatif cluster.yaml jobs.yaml --drop-constraint "train:gpu-model in (h100)"
  fairlead whatif cluster.yaml jobs.yaml --set-demand train:cpu=2
  fairlead whatif cluster.yaml jobs.yaml --to other.yaml
  fairlead whatif cluster.yaml jobs.yaml --buy catalogue.yaml --budget 500000 --for language
  fairlead whatif --live --add "2 x h01"    what is present in a running service

Several changes together are one change. Names are those of the input as it is given, so the order
of the changes does not matter. Both inputs are shared, and both answers checked.
"""

CHANGES = ("add", "remove", "weight", "drop_constraint", "set_demand", "set_limit")
SOLVES = 200


def configure(parser: argparse.ArgumentParser) -> None:
    add_files(parser, least=0)
    add_policy(parser)
    for option, metavar, text in (
        ("--add", "N x NAME", "more machines like this one of the input, or of --catalogue"),
        ("--remove", "NAME", "machines of the input, as a name or a range, are not there"),
        ("--weight", "TENANT=W", "another weight"),
        ("--drop-constraint", "JOB[:PART]", "a job without its constraint, or a part of it"),
        ("--set-demand", "JOB:RES=N", "what a task of a job needs"),
        ("--set-limit", "TENANT:RES=N", "another limit of a tenant"),
    ):
        parser.add_argument(
            option, action="append", default=[], metavar=metavar, help=f"{text}; repeatable"
        )
    parser.add_argument(
        "--to", nargs="+", metavar="FILE", help="compare with this second input instead"
    )
    parser.add_argument(
        "--catalogue", metavar="FILE", help="machines that --add can name, beside those there are"
    )
    parser.add_argument(
        "--buy", metavar="FILE", help="which machines of this catalogue to buy for --budget"
    )
    parser.add_argument("--budget", metavar="MONEY", help="with --buy: what they may cost")
    parser.add_argument(
        "--for",
        dest="tenant",
        metavar="TENANT",
        help="with --buy: whose share to raise (default: the smallest that can rise)",
    )
    parser.add_argument(
        "--solves",
        type=int,
        metavar="N",
        help=f"with --buy: allocations to spend on the search at most (default: {SOLVES})",
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    changes = (f"--{name.replace('_', '-')}" for name in CHANGES)
    add_live(parser, "what is present in a running service, under its policy", *changes)


def run(args: argparse.Namespace) -> int:
    from fairlead.audit.finding import Input

    if is_live(args):
        from fairlead.cli.commands.whatif_live import run_live

        return run_live(args, {name: getattr(args, name) for name in CHANGES})
    _check(args)
    given = Input(*read_jobs(args.files))
    if args.buy is not None:
        _buy(args, given)
    else:
        _show(args, _changed(args, given))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raises InputError where the options do not go together."""
    if not args.files:
        raise InputError("no file is given", "give a file, or --live")
    edits = any(getattr(args, name) for name in CHANGES)
    kinds = [edits, args.to is not None, args.buy is not None]
    if sum(kinds) > 1:
        raise InputError("changes, --to and --buy are three questions", "ask one of them at a time")
    if args.catalogue is not None and not args.add:
        raise InputError("--catalogue without --add", "add a machine of it, or use --buy")
    if args.buy is not None and args.budget is None:
        raise InputError("--buy without --budget", "say how much money there is")
    only = (("--budget", args.budget), ("--for", args.tenant), ("--solves", args.solves))
    for name, value in only:
        if value is not None and args.buy is None:
            raise InputError(f"{name} without --buy", "give a catalogue to buy from")
    if sum(kinds) == 0:
        raise InputError("nothing is changed", 'say what, as in --add "4 x h01", or --to FILE')
    if args.solves is not None and args.solves < 1:
        raise InputError(f"--solves {args.solves} is too small", "write at least 1")


def _changed(args: argparse.Namespace, given: Input) -> WhatIf:
    """The comparison that the options ask for."""
    from fairlead.audit.finding import Input
    from fairlead.audit.whatif.compare import compare, what_if
    from fairlead.audit.whatif.parse import read_edits

    if args.to is not None:
        other = Input(*read_jobs(args.to))
        before = _solve(given, args.policy)
        try:
            return compare(before, _solve(other, before.rule))
        except InputError as error:  # what is said of nothing in it is said of it
            about = ("--to", args.to[0])
            raise InputError(replace(m, about=m.about or about) for m in error.mistakes) from error
    offers = () if args.catalogue is None else _catalogue(args.catalogue)
    asked = {name: getattr(args, name) for name in CHANGES}
    return what_if(given, read_edits(given, catalogue=offers, **asked), args.policy)


def _solve(given: Input, rule: str | Rule) -> Outcome:
    """One of two inputs, solved. Raises InputError with places in it."""
    from fairlead.audit.outcome import solve

    try:
        return solve(given, rule)
    except InputError as error:
        raise with_places(error, given.cluster) from error


def _catalogue(file: str) -> tuple[Offer, ...]:
    from fairlead.audit.whatif.catalogue import read_catalogue

    return tuple(offer for name, text in texts_of([file]) for offer in read_catalogue(name, text))


def _show(args: argparse.Namespace, found: WhatIf) -> None:
    from fairlead.audit.whatif.as_data import tree
    from fairlead.cli.text.whatif import lines

    say_result(args.json, lambda: tree(found), lambda screen: lines(found, screen))


def _buy(args: argparse.Namespace, given: Input) -> None:
    """Prints what to buy, and what would change with it."""
    from fairlead.audit.whatif.as_data import tree
    from fairlead.audit.whatif.buy import buy
    from fairlead.audit.whatif.parse import budget_of
    from fairlead.cli.text.buy import buying_lines, purchase_tree

    budget = budget_of(args.budget)
    offers = _catalogue(args.buy)
    found = buy(given, args.policy, offers, budget, args.tenant, args.solves or SOLVES)
    say_result(
        args.json,
        lambda: tree(found.result) | {"purchase": purchase_tree(found)},
        lambda screen: buying_lines(found, screen),
    )
