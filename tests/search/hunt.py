"""The search for inputs whose exact shares are wrong, refused or late.

What is found is made smaller, written as a file that `fairlead allocate` reads, and told with the
kind, the size and the seed that it came from.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fairlead.model.machine import Cluster
from fairlead.model.writing import write
from tests.search.asking import Finding, ask, policies_for
from tests.search.kinds import KINDS, Input
from tests.search.real import REAL

LARGEST = 5_000  # jobs
_SHRINK_SECONDS = 60.0
SLOW = 120.0
"""Seconds of a processor."""


@dataclass(frozen=True)
class Question:
    """An input, by what it is drawn from: the same one for the same question."""

    kind: str
    size: int
    seed: int
    data: Path | None = None

    def drawn(self) -> tuple[Input, str, Random]:
        """The input, a policy, and what else is drawn."""
        random = Random(f"{self.kind} {self.size} {self.seed}")
        if self.kind in KINDS:
            case = KINDS[self.kind](random, self.size)
        else:
            assert self.data is not None
            case = REAL[self.kind](random, self.size, self.data)
        known = policies_for(case) or ["tsf"]
        # What most people use is asked for most.
        policy = "tsf" if random.random() < 0.4 and "tsf" in known else random.choice(known)
        return case, policy, random

    def asked(self) -> tuple[Finding | None, str]:
        """What is wrong, and under which policy."""
        case, policy, random = self.drawn()
        return in_time(case, policy, random), policy


def in_time(case: Input, policy: str, random: Random) -> Finding | None:
    """What is wrong with the answer, or that it takes too long."""
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SLOW)  # of processors: a busy machine is no finding
    try:
        return ask(case, policy, random)
    except _TooLongError:
        return Finding("slow", f"no answer, or none that is proved, within {SLOW:.0f} s of work")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


class _TooLongError(BaseException):
    """An answer took too long."""


def _too_long(*_: object) -> None:
    raise _TooLongError


def sized(random: Random, largest: int) -> int:
    """A number of jobs from 5 up: small ones, which are compared with the reference, most often."""
    if random.random() < 0.5:
        return random.randint(5, 8)
    return int(5 * (largest / 5) ** (random.random() ** 2))


def questions(seed: int, number: int, largest: int, data: Path | None) -> list[Question]:
    """So many questions, each kind as often as the others."""
    random = Random(seed)
    kinds = [*KINDS, *(REAL if data is not None else ())]
    return [
        Question(kinds[n % len(kinds)], sized(random, largest), random.randrange(2**32), data)
        for n in range(number)
    ]


def smaller(case: Input, policy: str, found: Finding) -> Input:
    """The input without the jobs and machines that are not needed for what was found."""
    end = time.monotonic() + _SHRINK_SECONDS
    (cluster, jobs), part = case, max(len(case[0].machines), len(case[1]))
    while part:
        before = len(cluster.machines), len(jobs)
        for start in range(0, max(before), part):
            if time.monotonic() > end:
                return cluster, jobs
            fewer = jobs[:start] + jobs[start + part :]
            if fewer and _shows((cluster, fewer), policy, found):
                jobs = fewer
            machines = cluster.machines[:start] + cluster.machines[start + part :]
            without = Cluster(machines, cluster.tenants)
            if machines and _shows((without, jobs), policy, found):
                cluster = without
        if before == (len(cluster.machines), len(jobs)):
            part //= 2
    return cluster, jobs


def _shows(case: Input, policy: str, found: Finding) -> bool:
    again = in_time(case, policy, Random(0))
    return again is not None and again.what == found.what


def told(question: Question, found: Finding, policy: str, folder: Path) -> str:
    """What was found, with the file that shows it."""
    case = question.drawn()[0]
    if found.what != "slow":
        case = smaller(case, policy, found)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{question.kind}-{question.size}-{question.seed}.yaml"
    file.write_text(write(*case), encoding="utf-8")
    return (
        f"{question.kind}, {question.size} jobs, seed {question.seed}: {found.sentence}\n"
        f"  fairlead allocate {file} --policy '{policy}'"
    )
