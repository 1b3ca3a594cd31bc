"""`fairlead simulate`: replays one's own jobs, a trace or a drawn workload, under policies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import say_result
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.simulation.ideal.kinds import Kind
    from fairlead.simulation.studies.study import Study

EPILOG = """\
examples:
  fairlead simulate cluster.yaml jobs.yaml        (or jobs.csv, a row for each job)
  fairlead simulate table-ii --policy tsf
  fairlead simulate google-2011/ --policies tsf,drf,fifo --out study
  fairlead simulate tsf-study --policies tsf,drf,cdrf,cmmf:cpu,cmmf:memory,fifo --repeat 50
  fairlead simulate tsf-study --failures mtbf=240h,repair=1h --distance 300s --json

With --out every run keeps its tables in a folder of its own; the same command again does only what
is not there yet. Times are written as 90s, 5m or 1h.
"""

POLICY = "tsf"
NEVER = "never"
MOST_SEEDS = 1_000_000
"""So many runs of a workload are listed before the first one begins."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="FILE|GENERATOR",
        help="YAML files of machines and jobs, the files or the directory of a trace, or a"
        " generator: table-ii(vary=0)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--policy", metavar="POLICY", help=f"what to share by (default: {POLICY})")
    which.add_argument("--policies", metavar="LIST", help="several, one run each: tsf,drf,fifo")
    parser.add_argument("--placement", metavar="RULE", help="which machine a task gets")
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="decide as `fairlead serve --config FILE` does: policy, placement, times",
    )
    parser.add_argument(
        "--ideal",
        metavar="KIND",
        help="an ideal scheduler instead: restricted, migration, preemption or periodic",
    )
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: 0)")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="run with N seeds, from --seed on"
    )
    parser.add_argument("--format", metavar="NAME", help="the trace's format, if it is not clear")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what the files do not say: duration=10m; `fairlead trace info` lists a trace's",
    )
    parser.add_argument(
        "--machines", action="append", default=[], metavar="FILE", help="other machines instead"
    )
    parser.add_argument(
        "--failures", metavar="mtbf=TIME,repair=TIME", help="machines fail and come back, by seed"
    )
    parser.add_argument(
        "--evictions",
        metavar="TIME",
        help="the newest task of each machine is evicted, by seed",
    )
    parser.add_argument("--until", metavar="TIME", help="nothing happens after this moment")
    parser.add_argument(
        "--reserve-after",
        metavar="TIME",
        help=f"how long a tenant waits with no more before machines are kept (60s; or {NEVER})",
    )
    parser.add_argument(
        "--reserve-for",
        metavar="TIME",
        help="how long machines are kept for a job at least (ten times --reserve-after)",
    )
    parser.add_argument(
        "--preempt-after",
        metavar="TIME",
        help="tasks are stopped for a job that was below its guarantee for so long (never)",
    )
    parser.add_argument(
        "--advise",
        metavar="TIME",
        help="price-guided, --preempt-after: solve for exact shares so often at most (1s)",
    )
    parser.add_argument(
        "--divisible", action="store_true", help="stand-alone numbers count parts of tasks, too"
    )
    parser.add_argument(
        "--distance", metavar="TIME", help="measure the distance from exact so often"
    )
    parser.add_argument("--out", metavar="DIR", help="keep the tables of every run there")
    parser.add_argument(
        "--record", metavar="LIST", help="which tables: jobs,tasks,shares,utilisation (all)"
    )
    parser.add_argument(
        "--sample",
        metavar="TIME",
        help="shares and utilisation so often (default: by the length of the run)",
    )
    parser.add_argument("--csv", action="store_true", help="tables as CSV, not as Parquet")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: all cores, where it helps)"
    )
    parser.add_argument("--on", choices=["ray"], help="do the runs on a Ray cluster")
    parser.add_argument("--check", action="store_true", help="check the core's invariants; slow")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> int:
    """Does the runs that are not there yet, and prints all results."""
    from fairlead.files import holding

    with holding([*args.words, *args.machines]):
        return simulate(args)


def simulate(args: argparse.Namespace) -> int:
    """As `run`, where what can be read only once is held."""
    from fairlead.cli.common.inputs import complain
    from fairlead.cli.serving.compiling import compiling_progress
    from fairlead.cli.text.simulation import lines
    from fairlead.compiled import SIMULATION, first_time, note, tidy
    from fairlead.simulation.engine.progress import progress
    from fairlead.simulation.engine.run import compile_all
    from fairlead.simulation.measure.result import tree
    from fairlead.simulation.measure.sampling import BYTES_A_ROW, MOST_ROWS, MOST_SAMPLES
    from fairlead.simulation.studies.study import claim
    from fairlead.simulation.studies.workers import run_study
    from fairlead.simulation.traces.matching import never_placed

    study = study_of(args)
    workers = None if args.workers is None else at_least_1("--workers", args.workers)
    # Before anything is made: what cannot be read is refused now, not by some worker.
    workload = study.source.workload(study.seeds[0])
    if workload.jobs == 0 or not workload.machines.names:
        raise nothing_runs(args.words, workload.notes, workload.jobs)
    claim(study)
    if first_time(SIMULATION):
        with compiling_progress() as show:
            compile_all(show)
        note(SIMULATION)
    tidy()
    if study.samples_are_chosen:
        complain(
            f"shares and utilisation: at most {MOST_SAMPLES:,} samples of a run, with at most"
            f" {MOST_ROWS:,} rows ({MOST_ROWS * BYTES_A_ROW // 10**6} MB); --sample TIME chooses"
            " otherwise"
        )
    several = len(study.seeds) * len(study.policies) > 1
    with progress(len(study.seeds) * len(study.policies), "run", wanted=several) as bar:
        results = run_study(
            study,
            workers,
            lambda _, done: bar.update(len(done)),
            workload=workload,
            ray=args.on == "ray",
            show=not several,
        )
    short = any(result.placed < result.tasks for result in results)
    never = never_placed(workload) if short and not study.source.drawn else None
    say_result(
        args.json,
        lambda: tree(results),
        lambda screen: lines(study, results, workload.notes, screen, never),
    )
    return 0


def nothing_runs(words: Sequence[str], notes: Sequence[str], jobs: int | None) -> InputError:
    """The refusal of a trace of jobs, or of machines alone, naming files that no loader knew and
    jobs that were left out."""
    from fairlead.files import called

    files = " ".join(map(called, words))
    if jobs != 0:
        wrong = f"{files}: no machines in it, so that nothing could run"
        return InputError(wrong, "give the file of the cluster, too: cluster.yaml jobs.csv")
    if out := [note for note in notes if note.startswith("left out: ")]:
        right = "choose other jobs: `fairlead trace info` lists the options"
        return InputError(f"{files}: no job of it is left ({'; '.join(out)})", right)
    more = "".join(f" ({note})" for note in notes if note.startswith("not read, for they are no"))
    return InputError(f"{files}: no jobs in it{more}", "give the files of the jobs, too")


def study_of(args: argparse.Namespace) -> Study:
    """Builds the study that the arguments ask for. Raises InputError."""
    from pathlib import Path

    from fairlead.scheduling.placement.registry import DEFAULT, find
    from fairlead.sharing.rules.spec import split
    from fairlead.simulation.engine.failures import read_failures
    from fairlead.simulation.engine.options import Options
    from fairlead.simulation.engine.workload_core import policy_named
    from fairlead.simulation.studies.source import source_of
    from fairlead.simulation.studies.study import RECORDS, Study

    said = read_deployment(args.config)
    if at_least_1("--repeat", args.repeat) > MOST_SEEDS:
        raise InputError(f"--repeat cannot be {args.repeat}", f"write at most {MOST_SEEDS}")
    seeds = range(args.seed, args.seed + args.repeat)
    if args.seed < 0:
        raise InputError(f"--seed {args.seed} is no seed", "write a whole number from 0")
    given = args.policy if args.policies is None else args.policies
    texts = split(said.policy if given is None else given)
    if "" in texts and texts[1:]:
        wrong = f"--policies {args.policies!r} has a comma without a policy beside it"
        raise InputError(wrong, "write a list such as tsf,drf,fifo")
    policies = [policy_named(text) for text in texts]
    twice = sorted({policy for policy in policies if policies.count(policy) > 1})
    if twice:
        raise InputError(f"{twice[0]} is given twice", "give each policy once")
    ideal = ideal_of(args)
    source = source_of(args.words, args.format, args.set, args.machines)
    failures = None if args.failures is None else read_failures(args.failures)
    evictions = optional_span("--evictions", args.evictions)
    if len(seeds) > 1 and not source.drawn and failures is None and evictions is None:
        raise InputError(
            f"--repeat {len(seeds)} would do the same run {len(seeds)} times: a trace draws"
            " nothing",
            "leave it out, or add --failures or --evictions, which are drawn",
        )
    if args.out is not None and not args.out.isascii():
        try:
            args.out.encode()
        except UnicodeEncodeError as error:  # the libraries that write tables take no other name
            wrong = f"--out {args.out!r} is no text in UTF-8"
            raise InputError(wrong, "name another folder") from error
    if args.out is None and args.record is not None:
        raise InputError("--record needs a place for the tables", "add --out DIR")
    records = tuple(RECORDS if args.record is None else split(args.record))
    for name in records:
        if name not in RECORDS:
            right = f"the tables are {', '.join(RECORDS)}"
            raise InputError(f"--record knows no table {name!r}", right)
    placement = find(
        args.placement if args.placement is not None else said.placement or DEFAULT
    ).name
    return Study(
        source=source,
        policies=tuple(policies),
        placement=f"ideal-{ideal.value}" if ideal else placement,
        seeds=tuple(seeds),
        options=Options(
            reserve_after=span_or_never("--reserve-after", args.reserve_after, said.reserve_after),
            reserve_for=optional_span("--reserve-for", args.reserve_for) or said.reserve_for,
            preempt_after=span_or_never("--preempt-after", args.preempt_after, said.preempt_after),
            whole=said.whole and not args.divisible,
            advise=optional_span("--advise", args.advise) or said.advise,
            failures=failures,
            evictions=evictions,
            until=optional_span("--until", args.until),
            check=args.check,
        ),
        out=None if args.out is None else Path(args.out),
        records=tuple(name for name in RECORDS if name in records),
        sample=optional_span("--sample", args.sample),
        distance=optional_span("--distance", args.distance),
        ending=".csv" if args.csv else ".parquet",
        ideal=ideal,
    )


@dataclass(frozen=True)
class Deployed:
    """Settings of a service that a run can follow to decide alike. Times in microseconds."""

    policy: str = POLICY
    placement: str | None = None
    reserve_after: int | None = 60_000_000
    reserve_for: int | None = 0  # as long as is usual beside `reserve_after`
    preempt_after: int | None = None
    whole: bool = True
    advise: int = 1_000_000


def read_deployment(config: str | None) -> Deployed:
    """Reads the configuration of `fairlead serve`, or takes the defaults of a run. Raises
    InputError."""
    if config is None:
        return Deployed()
    from pathlib import Path

    from fairlead.cli.serving.config import read_config

    settings = read_config(Path(config)).settings
    options = settings.options
    return Deployed(
        policy=str(settings.policy),
        placement=settings.placement,
        reserve_after=options.reserve_after,
        reserve_for=options.reserve_for,
        preempt_after=options.preempt_after,
        whole=options.whole,
        advise=settings.advise_every,
    )


def span_or_never(option: str, text: str | None, default: int | None) -> int | None:
    """A time, or None for `never`; the default where nothing was said. Raises InputError."""
    if text is None:
        return default
    return None if text == NEVER else span(option, text)


NOT_IDEAL = (
    *("config", "placement", "failures", "evictions", "until", "reserve_after", "reserve_for"),
    *("preempt_after", "divisible", "check"),
)


def ideal_of(args: argparse.Namespace) -> Kind | None:
    """The ideal scheduler that is asked for. Raises InputError, also where options are given that
    only the online core has."""
    from fairlead.simulation.ideal.kinds import Kind

    if args.ideal is None:
        return None
    known = {kind.value: kind for kind in Kind}
    if args.ideal not in known:
        raise InputError(
            f"there is no ideal scheduler {args.ideal!r}", f"there are {', '.join(known)}"
        )
    for name in NOT_IDEAL:
        if getattr(args, name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is of the online core, not of --ideal", f"leave {option} out"
            )
    return known[args.ideal]


def optional_span(option: str, text: str | None) -> int | None:
    """As `span`, where the option is there at all."""
    return None if text is None else span(option, text)


def span(option: str, text: str) -> int:
    """The microseconds of a time that is longer than 0. Raises InputError."""
    from fairlead.simulation.traces.options import microseconds

    found = microseconds(text)
    if not found:
        raise InputError(f"{option} cannot be {text!r}", "write a time such as 90s, 1h or 1d")
    return found


def at_least_1(option: str, number: int) -> int:
    """The number. Raises InputError where it is less than 1."""
    if number < 1:
        raise InputError(f"{option} cannot be {number}", "write a whole number from 1")
    return number
