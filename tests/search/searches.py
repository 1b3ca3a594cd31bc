"""The searches: each draws something new by a seed, looks at it, and says what is wrong with it.

Shares: inputs whose answers are checked. Worlds: the whole service in simulation, with faults.
Sequences: events that the compiled core and the plain reference live through. Forgeries: forged
proofs, which the check may not believe. Examples: the gate's own property tests, with new examples
and more of them. Deep: the tests that the gate leaves out. Fuzz: requests to all routes that nobody
means well. Kills: `kill -9` of real processes of the service and its engines, where a seed decides
what is asked and who is killed, but not at which instruction.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fairlead.model.proof import Proof
from fairlead.model.writing import write
from tests.reference.policies import POLICIES
from tests.scheduling.agreement import failure, shrunk
from tests.scheduling.draw import draw as draw_sequence
from tests.scheduling.stint_lives import life
from tests.scheduling.written import written_case
from tests.search.fuzz import fuzzed
from tests.search.hunt import questions, told
from tests.sharing.certificate.adversary import Fair, attempts, corrupt, draw, sell
from tests.vopr.plan import draw as draw_world
from tests.vopr.running import run as run_world

ROOT = Path(__file__).resolve().parents[2]
SHARES, WORLDS, SEQUENCES, FORGED, FUZZED, KILLS = 12, 25, 25, 12, 1000, 12
"""Inputs, worlds, sequences, inputs whose proofs are forged, requests, and kills of a turn."""

PROGRAMS = (
    *("tests.service.kills", "tests.service.failovers"),
    *("tests.engines.kills", "tests.engines.ray.kills"),
)
"""What kills: the service and what starts its tasks; the local engine; the service on Ray."""

TIMES = 45
"""So many times the gate's examples of a property."""

OWN = ("test_kills", "test_vopr")
"""Tests whose worlds and kills are searches of their own."""

LONGEST = 3600.0
"""Seconds for a program, on a machine that is busy with the other searches."""


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
    """Events for the compiled core beside the reference, every third time a life of gangs; what
    they differ in is made smaller."""
    wrong = []
    for seed in range(turn.seed, turn.seed + SEQUENCES):
        case = life(seed) if seed % 3 == 0 else draw_sequence(seed)
        if failure(case) is not None:
            small = shrunk(case)
            wrong.append(f"seed {seed}: {failure(small)}\n{written_case(small)}")
    return SEQUENCES, wrong


def forgeries(turn: Turn) -> tuple[int, list[str]]:
    """Forged proofs, most of them mended by what the check says against them; one that it believes
    may state nothing but the fair shares, by the reference."""
    number = 0
    wrong: list[str] = []
    for n in range(FORGED):
        random = Random(f"{turn.seed} {n}")
        fair = draw(random.choice(list(POLICIES)), random)
        if fair is None:
            continue
        for forged in (attempts(fair, random), corrupt(fair, random)):
            sales = sell(fair, forged)
            number += sales.tried
            for fraud in sales.frauds:
                wrong.append(_as_files(fair, fraud, turn.out / f"forgery-{turn.seed}-{len(wrong)}"))
    return number, wrong


def _as_files(fair: Fair, fraud: Proof, file: Path) -> str:
    """The command that shows what the check believes, with the files for it."""
    given, proof = file.with_suffix(".yaml"), file.with_suffix(".json")
    given.write_text(write(*fair.given), encoding="utf-8")
    proof.write_text(fraud.to_json(), encoding="utf-8")
    right = {name: str(tasks) for name, tasks in fair.tasks.items() if tasks}
    sentence = f"a forged proof of {fair.policy} is believed; fair is {right}"
    return f"{sentence}\n  fairlead verify {given} {proof}"


def examples(turn: Turn) -> tuple[int, list[str]]:
    """New examples for the property tests of one file, and more worlds for those that draw theirs
    from numbers: the gate's numbers and those after them."""
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    files = [
        path
        for path in every
        if re.search(r"from hypothesis|\bcases: int", path.read_text(encoding="utf-8"))
        and path.stem not in OWN
    ]
    file = str(files[turn.seed % len(files)].relative_to(ROOT))
    return 1, _tested(turn, file, f"--cases={TIMES}", "-m", "not deep")


def deep(turn: Turn) -> tuple[int, list[str]]:
    """The tests of one file that go far into an engine."""
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    files = [path for path in every if "mark.deep" in path.read_text(encoding="utf-8")]
    return 1, _tested(turn, str(files[turn.seed % len(files)].relative_to(ROOT)), "-m", "deep")


def _tested(turn: Turn, file: str, *more: str) -> list[str]:
    words = ("--quiet", "--hypothesis-profile=explore", f"--hypothesis-seed={turn.seed}")
    done = run_program("pytest", *words, *more, file)
    return [f"{file}\n{done.stdout}"] if done.returncode else []


def fuzz(turn: Turn) -> tuple[int, list[str]]:
    """Requests that nobody means well."""
    return FUZZED, [f"seed {turn.seed}: {each}" for each in fuzzed(turn.seed, FUZZED)]


def run_program(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs a module of Python's; one that goes on for ever has failed."""
    try:
        return subprocess.run(
            [sys.executable, "-m", *words],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        late = f"it does not end within {LONGEST:.0f} s"
        return subprocess.CompletedProcess(words, -1, late, late)


def kills(turn: Turn) -> tuple[int, list[str]]:
    """Processes are killed while clients submit; what is left when something is wrong stays."""
    program = PROGRAMS[turn.seed % len(PROGRAMS)]
    folder = Path(tempfile.mkdtemp(prefix="kills-", dir=turn.out))
    done = run_program(program, str(folder), str(turn.seed), str(KILLS))
    wrong: list[str] = [f"it ends with {done.returncode}: {done.stderr[-2000:]}"]
    if done.returncode == 0:
        wrong = json.loads(done.stdout)["wrong"]
    if not wrong:
        shutil.rmtree(folder, ignore_errors=True)  # a task may still write there
    return KILLS, [f"{program}, seed {turn.seed}: {each} (in {folder})" for each in wrong]


SEARCHES: dict[str, Callable[[Turn], tuple[int, list[str]]]] = {
    "shares": shares,
    "worlds": worlds,
    "sequences": sequences,
    "forgeries": forgeries,
    "examples": examples,
    "deep": deep,
    "fuzz": fuzz,
    "kills": kills,
}
