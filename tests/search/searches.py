"""The searches: each draws something new by a seed, looks at it, and says what is wrong with it.

Shares: inputs whose answers are checked. Worlds: the whole service in simulation, with faults.
Sequences: events that the compiled core and the plain reference live through. Kills: `kill -9` of
real processes of the service and its engines, where a seed decides what is asked and who is killed,
but not at which instruction.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.scheduling.agreement import failure, shrunk
from tests.scheduling.draw import draw as draw_sequence
from tests.scheduling.written import written_case
from tests.search.hunt import questions, told
from tests.vopr.plan import draw as draw_world
from tests.vopr.running import run as run_world

ROOT = Path(__file__).resolve().parents[2]
SHARES, WORLDS, SEQUENCES, KILLS = 12, 25, 25, 12
"""Inputs, worlds, sequences and kills of a turn."""

PROGRAMS = ("tests.service.kills", "tests.engines.kills", "tests.engines.ray.kills")
"""What kills: the service and what starts its tasks; the local engine; the service on Ray."""

LONGEST = 1800.0
"""Seconds for a program that kills, on a machine that is busy with the other searches."""


@dataclass(frozen=True)
class Turn:
    """A part of a search, by what it is drawn from: the same for the same turn."""

    kind: str
    seed: int
    largest: int
    data: Path | None
    out: Path

    def taken(self) -> Taken:
        """What came of it."""
        start = time.monotonic()
        number, found = SEARCHES[self.kind](self)
        again = f"  again: python -m tests.search --again {self.kind} {self.seed}"
        said = [f"FOUND by {self.kind}: {each}\n{again}" for each in found]
        return Taken(number, said, time.monotonic() - start)


@dataclass(frozen=True)
class Taken:
    """What came of a turn: how much was looked at, what is wrong, and how long it took."""

    number: int
    found: list[str]
    seconds: float


def shares(turn: Turn) -> tuple[int, list[str]]:
    """Inputs of all kinds, whose answers are checked."""
    asked = questions(turn.seed, SHARES, turn.largest, turn.data)
    wrong = []
    for question in asked:
        found, policy = question.asked()
        if found is not None:
            wrong.append(told(question, found, policy, turn.out))
    return len(asked), wrong


def worlds(turn: Turn) -> tuple[int, list[str]]:
    """Simulated lives of the service."""
    failures = [run_world(draw_world(turn.seed + n))[0] for n in range(WORLDS)]
    return WORLDS, [str(each) for each in failures if each is not None]


def sequences(turn: Turn) -> tuple[int, list[str]]:
    """Events for the compiled core beside the reference; what they differ in is made smaller."""
    wrong = []
    for seed in range(turn.seed, turn.seed + SEQUENCES):
        case = draw_sequence(seed)
        if failure(case) is not None:
            small = shrunk(case)
            wrong.append(f"seed {seed}: {failure(small)}\n{written_case(small)}")
    return SEQUENCES, wrong


def kills(turn: Turn) -> tuple[int, list[str]]:
    """Processes are killed while clients submit; what is left when something is wrong stays."""
    program = PROGRAMS[turn.seed % len(PROGRAMS)]
    folder = Path(tempfile.mkdtemp(prefix="kills-", dir=turn.out))
    command = [sys.executable, "-m", program, str(folder), str(turn.seed), str(KILLS)]
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    wrong: list[str] = []
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LONGEST, check=False
        )
        seen = json.loads(done.stdout) if done.returncode == 0 else {}
        wrong = (
            seen["wrong"] if seen else [f"it ends with {done.returncode}: {done.stderr[-2000:]}"]
        )
    except subprocess.TimeoutExpired:
        wrong = [f"it does not end within {LONGEST:.0f} s"]
    if not wrong:
        shutil.rmtree(folder, ignore_errors=True)  # a task may still write there
    return KILLS, [f"{program}, seed {turn.seed}: {each} (in {folder})" for each in wrong]


SEARCHES: dict[str, Callable[[Turn], tuple[int, list[str]]]] = {
    "shares": shares,
    "worlds": worlds,
    "sequences": sequences,
    "kills": kills,
}
