"""`fairlead audit`: are the promises kept here? A verdict on each property, a witness for each
violation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import (
    add_files,
    add_live,
    complain,
    is_live,
    read_jobs,
    say,
    say_result,
    texts_of,
)
from fairlead.cli.common.pages import add_html, check_target, write_page
from fairlead.cli.main import Exit
from fairlead.model.errors import InputError, Mistake, Mistakes
from fairlead.model.words import number

if TYPE_CHECKING:
    from fairlead.audit.finding import Finding, Input, Witness
    from fairlead.audit.outcome import Rule
    from fairlead.audit.run import Refused
    from fairlead.cli.common.halting import Halting

EPILOG = """\
examples:
  fairlead audit cluster.yaml jobs.yaml
  fairlead audit cluster.yaml jobs.yaml --policy tsf,cdrf --property envy-freeness
  fairlead audit cluster.yaml jobs.yaml --witness witnesses/
  fairlead audit cluster.yaml jobs.yaml --html audit.html
  fairlead audit --replay witnesses/cdrf-envy-freeness.json
  fairlead audit cluster.yaml jobs.yaml --tasks whole --policy tsf,cdrf-lottery,moving-knife
  fairlead audit --live    of a running service: who is short now, and why

`holds` was computed exactly for this input; `violated` has a witness; `none in N` means that N
changes were tried and none violated the property, which proves nothing.
"""

POLICIES = "tsf,cdrf,drfh,drf"
WHOLE = "tsf,cdrf,cdrf-lottery,shapley-folkman,moving-knife"
TRIES = 200
TRIALS = 20
MOST = 1_000_000
"""Of both: each is an allocation, and at a thousandth of a second each this is a quarter of an
hour."""

ENDING = "ending with what was found so far, after this allocation; Ctrl-C once more ends it now"
SMALL = 5_000
"""Jobs times machines up to which witnesses are made smaller if nothing is said: every try is an
allocation."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_files(parser, least=0)
    parser.add_argument(
        "--trace",
        action="store_true",
        help="the files are a trace, as for `fairlead trace info`: judge all its jobs at once",
    )
    parser.add_argument("--format", metavar="NAME", help="with --trace: the trace's format")
    parser.add_argument(
        "--unlimited",
        action="store_true",
        help="with --trace: judge as if no job ever ran out of tasks",
    )
    parser.add_argument(
        "--set",
        action="append",
        metavar="NAME=VALUE",
        help="with --trace: an assumption about what the trace does not say; repeatable",
    )
    parser.add_argument(
        "--policy",
        action="append",
        metavar="POLICY",
        help=f"what to judge, also several separated by commas; repeatable (default: {POLICIES})",
    )
    parser.add_argument(
        "--tasks",
        choices=("divisible", "whole"),
        default="divisible",
        help="whether tasks may run in part; whole: what `fairlead allocate --tasks whole` gives"
        f" (default: divisible; with whole the default policies are {WHOLE})",
    )
    parser.add_argument(
        "--property",
        action="append",
        metavar="NAME",
        help="a property, also several separated by commas; repeatable (default: all)",
    )
    parser.add_argument(
        "--pool",
        action="append",
        metavar="TENANT=MACHINES",
        help="judge as if the tenant had brought these machines, as in vision=a[1-4]; repeatable",
    )
    parser.add_argument(
        "--deal",
        action="store_true",
        help="judge as if the tenants had brought all machines: dealt out by the seed, each to one"
        " whose jobs can use it",
    )
    parser.add_argument(
        "--trials",
        type=int,
        metavar="N",
        default=TRIALS,
        help=f"changes to try at most for each property that is searched, the smallest lies not"
        f" counted (default: {TRIALS})",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="of what is drawn (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--strict", action="store_true", help="exit code 1 on a violation")
    parser.add_argument(
        "--witness", metavar="DIR", help="write a file for each violation into this directory"
    )
    add_html(parser, "draws the verdicts with what shows each violation")
    parser.add_argument(
        "--shrink",
        type=int,
        metavar="N",
        help=f"allocations to spend on making a witness smaller (default: {TRIES}, or 0 where jobs"
        f" × machines are more than {SMALL:,})",
    )
    parser.add_argument(
        "--replay", metavar="WITNESS", help="show a witness again, from its file alone"
    )
    what = "who has less than is guaranteed now, in a running service, and why"
    add_live(parser, what, "--strict")


def run(args: argparse.Namespace) -> int:
    from fairlead.audit.finding import Verdict
    from fairlead.audit.outcome import Options
    from fairlead.audit.run import Refused, audit
    from fairlead.cli.common.halting import halting
    from fairlead.cli.text.audit import lines, page_tree, sentence_of, tree

    if is_live(args):
        from fairlead.cli.commands.audit_live import run_live

        return run_live(args)
    if args.html is not None and args.replay is not None:
        raise InputError("--html draws the verdicts on an input", "give its file")
    check_target("html", args.html, args.files)
    if args.replay is not None:
        return _replay(args)
    if not args.files:
        right = "give a file, or --replay WITNESS or --live"
        raise InputError("no file is given", right)
    for name, least in (("trials", 1), ("seed", 0), ("shrink", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise InputError(f"--{name} {value} is too small", f"write at least {least}")
    for name in ("trials", "shrink"):
        value = getattr(args, name)
        if value is not None and value > MOST:
            raise InputError(f"--{name} {value} is too much", f"write at most {MOST}")
    given, notes = _read_input(args)
    rules = _rules(args.policy or [WHOLE if args.tasks == "whole" else POLICIES], args.tasks)
    found: list[Finding] = []
    refused: list[Refused] = []
    with halting(ENDING) as watch:
        options = Options(trials=args.trials, seed=args.seed, go_on=watch.go_on)
        for one in audit(given, rules, _words(args.property or ()), options, watch.tell):
            if isinstance(one, Refused):
                refused.append(one)
            else:
                found.append(one)
            if watch.over:
                break
        if not found:
            if watch.over:
                raise KeyboardInterrupt
            raise InputError(dict.fromkeys(each for one in refused for each in one.mistakes))
        # The sentences are about the input as it is, the witnesses about less of it.
        small = _smaller(found, given, args.shrink, watch) if args.json or args.witness else found
    _keep(args, ((one.policy, one.property + _moment(one), one.witness) for one in small))
    if args.html is not None:
        data = page_tree(found, refused, given, notes)
        write_page(args.html, "Audit", args.files, "audit_page", data)
    say_result(
        args.json,
        lambda: tree(small, refused, notes, [sentence_of(one) for one in found]),
        lambda screen: lines(found, refused, given, notes, screen),
    )
    if watch.over:
        complain("interrupted: this is what was found by then, and what is not here was not judged")
        return Exit.INTERRUPTED
    violations = any(one.verdict is Verdict.VIOLATED for one in found)
    return Exit.REFUTED if args.strict and violations else Exit.OK


def _keep(args: argparse.Namespace, witnesses: Iterable[tuple[str, str, Witness | None]]) -> None:
    """Writes the witnesses that there are, each with its policy and what it is about, where they
    are asked for."""
    if args.witness:
        from fairlead.cli.common.witness_files import write_witnesses

        some = ((policy, about, one) for policy, about, one in witnesses if one is not None)
        write_witnesses(some, args.witness)


def _read_input(args: argparse.Namespace) -> tuple[Input, tuple[str, ...]]:
    """Reads the input that is judged, with sentences on how it came about."""
    from dataclasses import replace

    from fairlead.audit.finding import Input
    from fairlead.audit.run import able, with_pools

    notes: tuple[str, ...] = ()
    if args.trace:
        from fairlead.cli.commands.trace import assignments
        from fairlead.simulation.traces.backlog import as_input
        from fairlead.simulation.traces.registry import load

        workload = load(args.files, args.format, assignments(args.set or []))
        cluster, jobs, notes = as_input(workload)
        if args.unlimited:
            jobs = tuple(replace(job, tasks=None) for job in jobs)
            notes += ("all jobs are taken to have tasks without end",)
    elif args.format is not None or args.set is not None or args.unlimited:
        what = "--format, --set and --unlimited are about a trace"
        raise InputError(what, "write --trace, too")
    else:
        cluster, jobs = read_jobs(args.files)
    given, never = able(Input(cluster, jobs))
    notes += never
    if not args.deal:
        return with_pools(given, _pools(args.pool or ())), notes
    if args.pool:
        raise InputError("--deal and --pool both say who brought what", "write one of them")
    from fairlead.audit.holdings.dealing import deal_pools

    given, told = deal_pools(given, args.seed)
    return given, notes + told


def _words(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def _rules(given: Sequence[str], kind: str) -> list[Rule]:
    from fairlead.audit.outcome import InWhole, rule_of
    from fairlead.model.shares import Tasks
    from fairlead.sharing.rules.spec import split

    mistakes = Mistakes()
    rules: dict[str, Rule] = {}
    for text in (part for one in given for part in split(one)):
        try:
            rule = rule_of(text, Tasks(kind))
        except InputError as error:
            mistakes += error.mistakes
        else:
            if isinstance(rule, InWhole) and kind != "whole":
                mistakes.append(
                    Mistake(f"{rule.spec} shares whole tasks", "write --tasks whole, too")
                )
            rules.setdefault(rule.spec, rule)
    mistakes.report()
    return list(rules.values())


def _pools(given: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Reads `--pool`: each tenant with the machines that it brought. Raises InputError."""
    from fairlead.model.tenant import some

    found = []
    for text in given:
        name, equals, machines = text.partition("=")
        if not equals or not name or not machines:
            raise InputError(
                f"--pool {text} names no pool", "write TENANT=MACHINES: vision=a[1-4],b7"
            )
        found.append((name, some(part.strip() for part in machines.split(","))))
    return found


def _smaller(
    found: Sequence[Finding], given: Input, tries: int | None, watch: Halting
) -> list[Finding]:
    from dataclasses import replace

    from fairlead.audit.witness.shrink import shrink

    if tries is None:
        tries = TRIES if len(given.jobs) * len(given.cluster.machines) <= SMALL else 0
    smaller = []
    for one in found:
        if one.witness is not None and tries and not watch.over:
            watch.tell(f"{one.policy}: {one.property}: a smaller witness")
            one = replace(one, witness=shrink(one.witness, tries))
        smaller.append(one)
    return smaller


def _moment(finding: Finding) -> str:
    return "" if finding.lottery is None else f"-{finding.lottery.value}"


def _replay(args: argparse.Namespace) -> int:
    """Shows a witness again; the exit code says whether it still does."""
    from fairlead.audit.witness.file import witness_from_json
    from fairlead.audit.witness.replay import Again, replay

    if args.files:
        raise InputError("--replay takes no other file", "the witness holds its input")
    ((name, text),) = texts_of([args.replay])
    written = witness_from_json(text, name)
    found = replay(written)
    about = f"{written.policy}, {written.property}, {', '.join(written.who)}"
    then = f"{number(written.after)} against {number(written.before)} ({written.unit})"
    if found.shown is None:
        say([f"{about}: the question cannot be asked of this input"])
    else:
        now = f"{number(found.shown.after)} against {number(found.shown.before)}"
        said = "as the file says" if found.again is Again.SAME else f"the file says {then}"
        say([f"{about}: {now} ({found.shown.unit}), {said}", found.shown.sentence])
    if found.again is Again.GONE:
        say(["It no longer shows."])
    return Exit.OK if found.again is Again.SAME else Exit.REFUTED
