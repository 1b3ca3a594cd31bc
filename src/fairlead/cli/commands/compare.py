"""`fairlead compare`: who gains and who loses under other policies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import add_files, as_csv, read_jobs, say, say_result, with_places
from fairlead.cli.common.pages import add_html, check_target, write_page
from fairlead.cli.common.patience import patience
from fairlead.cli.text.comparison import Outcome, lines
from fairlead.model.errors import InputError, Mistake
from fairlead.model.report import rounded

if TYPE_CHECKING:
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster

EPILOG = """\
examples:
  fairlead compare cluster.yaml
  fairlead compare cluster.yaml --policies "tsf, kdf(k=2), market"
  fairlead compare cluster.yaml jobs.yaml --html comparison.html

Shares mean something else under every policy, so what is compared is how many tasks each job
runs. A policy that cannot be applied to the input (a scale that does not exist) is shown as
refused, with the reason.
"""

SCHEMA = "fairlead.comparison/1"
POLICIES = "tsf,drf,cdrf"

CSV = ("job", "tenant", "policy", "tasks", "change", "refused")


def configure(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    parser.add_argument(
        "--policies",
        default=POLICIES,
        metavar="LIST",
        help=f"what to compare, the first with all others (default: {POLICIES})",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the comparison as JSON")
    form.add_argument("--csv", action="store_true", help="print a row per job and policy as CSV")
    add_html(parser, "draws the policies side by side")


def run(args: argparse.Namespace) -> int:
    check_target("html", args.html, args.files)
    cluster, jobs = read_jobs(args.files)
    with patience():
        outcomes = compare(cluster, jobs, args.policies)
    if args.html is not None:
        data = draw_comparison(cluster, jobs, outcomes)
        write_page(args.html, "Comparison", args.files, "comparison_page", data)
    if args.csv:
        say(as_csv(list(rows(outcomes)), CSV), exact=True)
    else:
        say_result(args.json, lambda: tree(outcomes), lambda screen: lines(outcomes, screen))
    return 0


def compare(cluster: Cluster, jobs: Sequence[Job], policies: str) -> list[Outcome]:
    """The outcome of every policy of the list. The first one must be applicable."""
    from fairlead.sharing.allocate import allocate
    from fairlead.sharing.rules.registry import parse
    from fairlead.sharing.rules.spec import split

    rules = []
    mistakes: list[Mistake] = []
    for text in split(policies):
        try:
            rules.append(parse(text))
        except InputError as error:
            mistakes += error.mistakes
    if mistakes:
        raise InputError(dict.fromkeys(mistakes))  # each once, of a list with the same one twice
    if len({rule.spec for rule in rules}) < 2:
        raise InputError(
            f"{policies!r} names one policy, and two are compared", "write two or more: tsf,drf"
        )
    outcomes = [Outcome(rules[0].spec, allocate(cluster, jobs, rules[0]))]
    for rule in rules[1:]:
        try:
            outcomes.append(Outcome(rule.spec, allocate(cluster, jobs, rule)))
        except InputError as error:
            reasons = tuple(str(mistake) for mistake in with_places(error).mistakes)
            outcomes.append(Outcome(rule.spec, None, reasons))
    return outcomes


def rows(outcomes: Sequence[Outcome]) -> Iterator[dict[str, object]]:
    first = outcomes[0]
    assert first.allocation is not None  # compare() has raised otherwise
    found = [(outcome, outcome.tasks(), outcome.changes(first)) for outcome in outcomes]
    for job in first.allocation.jobs:
        for outcome, tasks, changes in found:
            yield {
                "job": job.name,
                "tenant": job.tenant,
                "policy": outcome.policy,
                "tasks": tasks.get(job.name),
                "change": rounded(changes.get(job.name)),
                "refused": " ".join(outcome.refused) or None,
            }


def tree(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The comparison as `fairlead.comparison/1`."""
    return {
        "schema": SCHEMA,
        "policies": [
            {"policy": outcome.policy, "refused": list(outcome.refused) or None}
            for outcome in outcomes
        ],
        "jobs": [
            {key: row[key] for key in ("job", "tenant", "policy", "tasks", "change")}
            for row in rows(outcomes)
        ],
    }


def draw_comparison(
    cluster: Cluster, jobs: Sequence[Job], outcomes: Sequence[Outcome]
) -> dict[str, object]:
    """The picture of a comparison's page: the comparison, and a picture of each allocation."""
    from fairlead.dashboard.picture import picture

    pictures = [
        None if one.allocation is None else picture(cluster, jobs, one.allocation)
        for one in outcomes
    ]
    return tree(outcomes) | {"pictures": pictures}
