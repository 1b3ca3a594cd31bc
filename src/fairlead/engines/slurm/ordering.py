"""Site factors by which Slurm's queue is in the order that is wanted, with few of them changed."""

from __future__ import annotations

import subprocess
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.reading.commands import PATIENCE

SPACE = 10_000
"""Between the factors of two neighbours: Slurm's other factors should differ by less."""

CLOSEST = 100
"""Two neighbours are never closer: then all factors are written anew."""

Factors = Mapping[str, int]


def factors_for(order: Sequence[str], known: Factors) -> dict[str, int]:
    """The factors of these jobs, the first one's the largest; as many as possible stay as they are
    known."""
    kept = _longest_falling([(name, known[name]) for name in order if name in known])
    found = dict(kept)
    run: list[str] = []
    above: int | None = None
    for name in (*order, None):
        if name is not None and name not in found:
            run.append(name)
            continue
        below = 0 if name is None else found[name]
        if above is None:  # before the first that stays
            found |= {each: below + SPACE * i for i, each in enumerate(reversed(run), 1)}
        else:
            step = (above - below) // (len(run) + 1)
            if run and step < CLOSEST:
                return {each: SPACE * i for i, each in enumerate(reversed(order), 1)}
            found |= {each: above - step * i for i, each in enumerate(run, 1)}
        run, above = [], below
    return found


def _longest_falling(pairs: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """The most of these, in their order, whose numbers fall."""
    ends: list[int] = []  # the least negative number with which a chain of that length ends
    last: list[int] = []  # which pair it is
    before: list[int | None] = []
    for at, (_, number) in enumerate(pairs):
        length = bisect_left(ends, -number)
        before.append(last[length - 1] if length else None)
        ends[length:], last[length:] = (
            [-number, *ends[length + 1 :]],
            [at, *last[length + 1 :]],
        )
    chain: list[tuple[str, int]] = []
    step = last[-1] if last else None
    while step is not None:
        chain.append(pairs[step])
        step = before[step]
    return chain[::-1]


def write_factors(changes: Factors) -> None:
    """Writes all of them by one command. A job that is gone by then is nobody's loss. Raises
    EngineError where Slurm refuses."""
    lines = [f"update JobId={job} SiteFactor={factor}\n" for job, factor in changes.items()]
    try:
        done = subprocess.run(
            ("scontrol",),  # with --quiet it says nothing of errors either
            input="".join(lines).encode(),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"scontrol cannot be used: {error}") from error
    said = done.stderr.decode("utf-8", "replace").splitlines()
    wrong = [line.strip() for line in said if line.strip() and not _is_gone(line)]
    if wrong:
        raise EngineError(f"scontrol does not set the site factor of jobs: {wrong[-1]}")


def _is_gone(line: str) -> bool:
    return "Invalid job id" in line or "Job has already finished" in line
