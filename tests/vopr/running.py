"""Runs seeds: one with its trace, many on all cores, one that fails with less and less of it."""

from __future__ import annotations

import gc
import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

from tests.vopr.faults import BrokenPromiseError, Fault, Trace
from tests.vopr.mutants import MUTANTS
from tests.vopr.plan import Plan, draw
from tests.vopr.simulation import Simulation
from tests.vopr.tally import Tally, tally

CHUNK = 25
"""Seeds that a process runs before it reports."""


@dataclass(frozen=True)
class Failure:
    """A run that broke a promise. `rule` is the promise, or the exception that came through."""

    seed: int
    rule: str
    what: str
    mutant: str | None = None

    def __str__(self) -> str:
        mutant = f" --mutant {self.mutant}" if self.mutant else ""
        return (
            f"seed {self.seed}: {self.rule}: {self.what}\n"
            f"  replay: python -m tests.vopr --trace {self.seed}{mutant}\n"
            f"  shrink: python -m tests.vopr --shrink {self.seed}{mutant}"
        )


def run(
    plan: Plan, mutant: str | None = None, trace: Trace | None = None
) -> tuple[Failure | None, Tally]:
    """Runs a plan; how it failed, if it did, and what it met."""
    planted: AbstractContextManager[object] = MUTANTS[mutant].plant() if mutant else nullcontext()
    with planted:
        world = Simulation(plan, trace or Trace(wanted=False))
        try:
            world.run()
        except BrokenPromiseError as error:
            return Failure(plan.seed, error.rule, str(error), mutant), tally(world)
        except Exception as error:  # noqa: BLE001 - whatever the service raises is a failure
            rule = f"{type(error).__name__} came out of the service"
            last = traceback.format_exc()
            return Failure(plan.seed, rule, f"{error}\n{last}", mutant), tally(world)
    return None, tally(world)


def run_many(seeds: Iterable[int], mutant: str | None = None) -> tuple[list[Failure], Tally]:
    """Runs these seeds one after the other."""
    failures: list[Failure] = []
    found: Tally = Counter()
    gc.collect()
    gc.freeze()  # what is there by now stays: looking through it again and again takes a tenth
    for seed in seeds:
        failure, met = run(draw(seed), mutant)
        found.update(met)
        if failure is not None:
            failures.append(failure)
    return failures, found


def run_all(
    seeds: Sequence[int],
    workers: int = 0,
    said: Callable[[int], None] = lambda _: None,
    mutant: str | None = None,
) -> tuple[list[Failure], Tally]:
    """Runs these seeds on all cores. The result depends on the seeds alone. `said` is told how
    many are done."""
    workers = workers or os.cpu_count() or 1
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    failures: list[Failure] = []
    found: Tally = Counter()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        done = 0
        done_by_chunks = pool.map(partial(run_many, mutant=mutant), chunks)
        for chunk, (failed, met) in zip(chunks, done_by_chunks, strict=True):
            failures += failed
            found.update(met)
            done += len(chunk)
            said(done)
    return failures, found


def shrink(seed: int, mutant: str | None = None) -> tuple[Plan, Failure] | None:
    """The smallest plan found that breaks the same promise as the seed; None if it breaks none."""
    plan = draw(seed)
    failure, _ = run(plan, mutant)
    if failure is None:
        return None
    again = True
    while again:
        again = False
        for smaller in _smaller(plan):
            failed, _ = run(smaller, mutant)
            if failed is not None and failed.rule == failure.rule:
                plan, failure, again = smaller, failed, True
                break
    return plan, failure


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Plans with less in them, the boldest first."""
    for size in (len(plan.asks) // 2, len(plan.asks) - 1):
        if 0 < size < len(plan.asks):
            yield replace(plan, asks=plan.asks[:size])
    for i in range(len(plan.asks)):
        yield replace(plan, asks=plan.asks[:i] + plan.asks[i + 1 :])
    if plan.incidents:
        yield replace(plan, incidents=())
        for i in range(len(plan.incidents)):
            yield replace(plan, incidents=plan.incidents[:i] + plan.incidents[i + 1 :])
    for fault in Fault:
        if fault in plan.rates and fault not in plan.off:
            yield replace(plan, off=plan.off | {fault})
    for machine in plan.machines[1:]:
        yield replace(plan, machines=tuple(m for m in plan.machines if m is not machine))
    most = min(plan.most, 64)
    for fewer in (most // 2, most - 1):
        if 0 <= fewer < plan.most:
            yield replace(plan, most=fewer)
