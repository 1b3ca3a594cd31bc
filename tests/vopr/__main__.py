"""The simulation as a program: `python -m tests.vopr --seeds 0-999`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.vopr.faults import Trace
from tests.vopr.mutants import MUTANTS
from tests.vopr.plan import START, draw
from tests.vopr.running import run, run_all, shrink
from tests.vopr.tally import missing, table


def main() -> int:
    """Runs what was asked for; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.vopr", description=__doc__)
    parser.add_argument("--seeds", default="0-999", help="these, as in 0-1999,2017")
    parser.add_argument("--trace", type=int, metavar="SEED", help="run it and say what happened")
    parser.add_argument("--shrink", type=int, metavar="SEED", help="find less that fails the same")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="with this bug planted")
    parser.add_argument("--workers", type=int, default=0, help="processes (default: all cores)")
    parser.add_argument("--table", action="store_true", help="print all counts")
    asked = parser.parse_args()
    if asked.trace is not None:
        return _traced(asked.trace, asked.mutant)
    if asked.shrink is not None:
        return _shrunk(asked.shrink, asked.mutant)
    seeds = [seed for part in asked.seeds.split(",") for seed in _range(part)]
    start = time.monotonic()
    failures, found = run_all(seeds, asked.workers, mutant=asked.mutant)
    seconds = time.monotonic() - start
    for failure in failures[:20]:
        _say(str(failure))
    if asked.table:
        _say(table(found))
    lacking = missing(found)
    for kind, what in lacking:
        _say(f"never met: {kind} {what}")
    _say(
        f"{len(seeds)} seeds in {seconds:.1f} s, {len(failures)} failed;"
        f" {found['run', 'lives']} lives, {found['run', 'attempts']} attempts at"
        f" {found['run', 'tasks']} tasks, {found['run', 'entries']} entries"
    )
    return 1 if failures or lacking else 0


def _range(words: str) -> range:
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def _traced(seed: int, mutant: str | None) -> int:
    trace = Trace(wanted=True)
    failure, _ = run(draw(seed), mutant, trace)
    _say("\n".join(trace.lines))
    _say(str(failure) if failure else "no promise was broken")
    return 1 if failure else 0


def _shrunk(seed: int, mutant: str | None) -> int:
    found = shrink(seed, mutant)
    if found is None:
        _say("no promise was broken")
        return 0
    plan, failure = found
    trace = Trace(wanted=True)
    run(plan, mutant, trace)
    _say("\n".join(trace.lines))
    _say(f"{len(plan.machines)} machines, {len(plan.incidents)} incidents, the requests:")
    for ask in plan.asks:
        _say(f"  {(ask.time - START) / 1e6:.3f} {ask.request}")
    _say(f"faults: {', '.join(f.name for f in plan.rates if f not in plan.off)}")
    _say(str(failure))
    return 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
