"""`fairlead demo`: three generations of GPU nodes and five teams, shared and explained."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import read, say
from fairlead.cli.common.pages import add_html, write_page
from fairlead.cli.common.screen import Screen, screen_of, table, wrap
from fairlead.model.errors import InputError, OutputError
from fairlead.model.names import compress
from fairlead.model.words import amount, number

if TYPE_CHECKING:
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster, Machine

FILE = Path(__file__).with_name("demo.yaml")

WHO = "pretrain"
POLICIES = "tsf,drf,cdrf"

PROBLEM = (
    "Five teams share three generations of GPU nodes. They need CPUs, memory and GPUs in different"
    " proportions, and most of them can use only some of the machines. What is fair?"
)
ANSWER = (
    "Count for each job the tasks that it could run alone in the cluster, on any machine: that is"
    " a share of 1. Then let all shares rise together, twice as fast for twice the weight, until"
    " something is used up; those that can still rise go on (TSF, task share fairness)."
)
EXPLANATION = "Why does the language team have less than the others, and what would change that?"
COMPARISON = (
    "DRF looks at one big machine: it promises `pretrain` 30 tasks, and there are 24 H100s."
    " Constrained CDRF counts only the machines that a job may use, so a picky job gets less:"
    " `pretrain` keeps 9 of the 24."
)

TURNS = (
    ("fairlead demo --write .", "writes demo.yaml here, to be changed"),
    ("fairlead allocate demo.yaml", "shares it again"),
    ("fairlead --help", "what else there is"),
)

EPILOG = """\
examples:
  fairlead demo
  fairlead demo --write my-cluster     get the file, to change it
  fairlead demo --html demo.html       its shares as a page, for a browser
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--write", metavar="DIR", help="write the demo's file into this directory and stop"
    )
    add_html(parser, "draws the shares")


def run(args: argparse.Namespace) -> int:
    """Tells the story, or writes the file."""
    if args.write is not None and args.html is not None:
        raise InputError("--write writes the demo's file and stops", "leave out --html")
    if args.write is not None:
        say(write(Path(args.write)))
    else:
        if args.html is not None:
            draw(args.html)
        say(story(screen_of(sys.stdout)))
    return 0


def draw(target: str) -> None:
    """Writes the page of the demo's shares."""
    from fairlead.dashboard.picture import picture
    from fairlead.sharing.allocate import allocate

    cluster, jobs = read([str(FILE)])
    data = picture(cluster, jobs, allocate(cluster, jobs))
    write_page(target, "Fair shares", [FILE.name], "allocation_page", data)


def write(directory: Path) -> list[str]:
    """Writes the demo's file, and never over another one."""
    target = directory / FILE.name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(FILE.read_text(encoding="utf-8"))
    except FileExistsError as error:
        if not directory.is_dir():
            raise InputError(f"{directory} is no directory", "name another one") from error
        raise InputError(f"{target} is there already", "name another directory") from error
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}") from error
    return [f"wrote {target}", f"try: fairlead allocate {target}"]


def story(screen: Screen) -> Iterator[str]:
    """The problem, the answer, the explanation, and what other policies would do."""
    from fairlead.cli.commands.compare import compare
    from fairlead.cli.commands.explain import explain_job
    from fairlead.cli.text.allocation import allocation_lines
    from fairlead.cli.text.comparison import lines as comparison_lines
    from fairlead.cli.text.explanation import explanation_lines
    from fairlead.sharing.allocate import allocate

    cluster, jobs = read([str(FILE)])
    allocation = allocate(cluster, jobs)

    def section(title: str, text: str, command: str = "") -> Iterator[str]:
        yield screen.bold(title)
        yield from wrap(text, screen)
        yield ""
        if command:
            yield screen.dim(f"$ fairlead {command}")

    yield from section("The problem", PROBLEM)
    yield from problem_lines(cluster, jobs, screen)
    yield ""
    yield from section("The answer", ANSWER, "allocate demo.yaml")
    yield from allocation_lines(cluster, jobs, allocation, screen)
    yield ""
    yield from section("The explanation", EXPLANATION, f"explain {WHO} demo.yaml")
    why, changes, tried = explain_job(cluster, jobs, allocation, WHO, "tsf")
    yield from explanation_lines(cluster, why, changes, tried, screen)
    yield ""
    yield from section("Other policies", COMPARISON, f"compare demo.yaml --policies {POLICIES}")
    yield from comparison_lines(compare(cluster, jobs, POLICIES), screen)
    yield ""
    yield screen.bold("Your turn")
    turns = [[f"  {command:29}", what] for command, what in TURNS]
    yield from table(["", ""], turns, "<<", screen)


def problem_lines(cluster: Cluster, jobs: Sequence[Job], screen: Screen) -> Iterator[str]:
    """The machines and the jobs, as two small tables."""
    kinds: dict[object, list[Machine]] = {}
    for machine in cluster.machines:
        kinds.setdefault((machine.capacity, machine.labels), []).append(machine)
    rows = []
    for machines in kinds.values():
        capacity = machines[0].capacity
        has = [amount(float(capacity[name]), name) for name in capacity]
        names = ", ".join(compress(machine.name for machine in machines))
        rows.append([names, str(len(machines)), ", ".join(has)])
    yield from table(["machines", "", "each has"], rows, "<><", screen)
    yield ""
    rows = []
    weight = {tenant.name: tenant.weight for tenant in cluster.tenants}
    for job in jobs:
        needs = ", ".join(amount(float(job.demand[name]), name) for name in job.demand)
        tasks = "any" if job.tasks is None else number(float(job.tasks))
        team = job.tenant or job.name
        pays = number(float(weight.get(team) or 1))
        rows.append([team, pays, job.name, tasks, needs, str(job.where) or "anywhere"])
    header = ["team", "weight", "job", "tasks", "a task needs", "can run"]
    yield from table(header, rows, "<><><<", screen)
