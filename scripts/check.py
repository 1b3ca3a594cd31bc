"""Runs the steps of the gate and says what failed, how long each took and what was left out."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from scripts.times import grown

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/test_docs*.py"))
LIVE = ("tests/cli/live", "tests/client", "tests/engines", "tests/service", "tests/vopr")
"""What starts services and engines, and waits for them most of the time."""

PARTS = {
    "live": "tests of the service and its engines",
    "docs": "docs complete, examples as shown",
    "tests": "all other tests",
}
"""The parts of the tests, which run in one pool."""

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as command; command()"
"""import-linter has no `python -m`, and its script breaks when the checkout is moved."""

TIMES = ("--durations=12", "--durations-min=2")
"""A test that takes long is named, so that the gate does not grow slow unseen."""

EPILOG = """\
examples:
  ./check                          everything, as CI runs it
  ./check fast                     without the slow tests (the wheel), for every few minutes
  ./check lint types               some steps
  ./check --fix                    format and repair what the linter can, then check
  ./check --cases 20               twenty times as many random instances
  ./check --all                    with the tests marked `deep`, and newer versions of Slurm
  ./check tests -- -k certificate  arguments for pytest
  ./check search --minutes 30      new inputs, worlds, sequences and kills, with the seed of
                                   whatever is wrong
"""


@dataclass(frozen=True)
class Step:
    """A step of the gate: its name, its command, and what it says in the list of `--help`. Steps
    run side by side, each as soon as the one is over that it needs."""

    name: str
    command: tuple[str, ...]
    purpose: str
    needs: str = ""
    shown: bool = False  # what it says comes as it says it, and also where it passes
    kept: bool = False  # its time is a matter of what is kept of the last run, and says nothing


@dataclass(frozen=True)
class Outcome:
    """How a step ended: the time on the clock, and that of processors, of all that it started."""

    step: Step
    passed: bool
    seconds: float
    processor: float


def steps(parts: Sequence[str] = tuple(PARTS), pytest: Sequence[str] = ()) -> list[Step]:
    """All steps: the quick ones first, the chosen parts of the tests at last, which begin when the
    core is compiled and while types are still checked. `pytest`: what is said to it."""
    python = (sys.executable, "-m")
    imports = (sys.executable, "-c", LINT_IMPORTS, "--no-logo")
    purpose = "; ".join(PARTS[part] for part in parts)
    tests = (*python, "pytest", "--quiet", *TIMES, *pytest, *places(parts))
    return [
        Step("format", (*python, "ruff", "format", "--check", "--quiet", "."), "formatting"),
        Step("lint", (*python, "ruff", "check", "--quiet", "."), "the linter"),
        Step("imports", imports, "import directions"),
        Step(
            "types",
            (sys.executable, "scripts/check_types.py", "--no-error-summary"),
            "types (mypy, strict)",
            kept=True,
        ),
        Step("kernels", (sys.executable, "scripts/compile.py", "tests"), "compiles all", kept=True),
        Step("+".join(parts), tests, purpose, needs="kernels", shown=True),
    ]


def places(parts: Sequence[str]) -> list[str]:
    """The words by which pytest finds these parts of the tests."""
    named = [*(LIVE if "live" in parts else ()), *(DOCS if "docs" in parts else ())]
    if "tests" not in parts:
        return named
    return ["tests", *(f"--ignore={path}" for path in (*LIVE, *DOCS) if path not in named)]


def pool() -> tuple[str, ...]:
    """Says to pytest that tests run in so many processes: three more than there are cores, since
    some tests wait most of the time."""
    return (f"--processes={(os.cpu_count() or 1) + 3}",)


def environment() -> dict[str, str]:
    """What steps are told: as this process, but that what Python compiles is kept. Thousands of
    processes are started, and each would compile again all that it imports. And NumPy's library has
    one thread, as in our commands: its threads would end and begin anew with each fork."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"OPENBLAS_NUM_THREADS": "1"} | kept


def run(step: Step) -> Outcome:
    """Runs a step; one that passes says nothing but its time, tests excepted."""
    if step.shown:
        print(f"== {step.name}", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            step.command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,  # a test that waits for somebody to type fails instead
            stdout=None if step.shown else said,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        told = said.read().decode(errors="replace")
    if not step.shown:
        print(f"== {step.name}\n{told if process.returncode else ''}", end="", flush=True)
    seconds, processor = time.monotonic() - start, used.ru_utime + used.ru_stime
    return Outcome(step, process.returncode == 0, seconds, processor)


def run_all(chosen: Sequence[Step]) -> list[Outcome]:
    """Runs the steps side by side, each after the one that it needs, if that is chosen."""
    started: dict[str, Future[Outcome]] = {}

    def run_after(step: Step) -> Outcome:
        if step.needs in started:
            started[step.needs].result()
        return run(step)

    with ThreadPoolExecutor(max_workers=len(chosen)) as threads:
        for step in chosen:
            started[step.name] = threads.submit(run_after, step)
    return [each.result() for each in started.values()]


def repair() -> None:
    """Formats, and repairs what the linter can."""
    for arguments in (("check", "--fix", "--quiet"), ("format", "--quiet")):
        subprocess.run([sys.executable, "-m", "ruff", *arguments, "."], cwd=ROOT, check=False)


def arguments(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """What was asked for, and what goes on to pytest."""
    end = words.index("--") if "--" in words else len(words)
    own, rest = words[:end], words[end + 1 :]
    known = {step.name: step.purpose for step in steps()[:-1]} | PARTS
    parser = argparse.ArgumentParser(
        prog="./check",
        description="Runs the gate: "
        + "; ".join(f"{n}: {what}" for n, what in known.items())
        + ".",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", nargs="*", help="`fast`, or the steps to run (default: all)")
    parser.add_argument("--cases", type=int, default=1, help="times as many random instances")
    parser.add_argument(
        "--all", action="store_true", help="with deep tests, and as root newer versions of Slurm"
    )
    parser.add_argument("--fix", action="store_true", help="format and repair first")
    asked = parser.parse_args(own)
    for name in asked.step:
        if name not in [*known, "fast"]:
            parser.error(f"there is no step {name!r}; the steps are {', '.join(known)}, and `fast`")
    if asked.cases < 1:
        parser.error("--cases is a positive number")
    return asked, rest


def chosen_steps(asked: argparse.Namespace, extra: list[str], left_out: Path) -> list[Step]:
    """The steps that were asked for. Whoever asks for tests needs the compiled core."""
    names = [name for name in asked.step if name != "fast"] or [*(s.name for s in steps()), *PARTS]
    parts = [part for part in PARTS if part in names]
    marked = [] if asked.all else ["not deep"]
    if "fast" in asked.step:
        marked.append("not slow")
    words = [f"--cases={asked.cases}", f"--left-out={left_out}", *pool()]
    words += [f"-m={' and '.join(marked)}", *extra] if marked else extra
    every = steps(parts, words)
    if parts:
        names += ["kernels", every[-1].name]
    chosen = [step for step in every if step.name in names]
    if asked.all:  # after the tests, which have clusters of their own
        newer = (sys.executable, "-m", "tests.engines.slurm.versions")
        named = "newer versions of Slurm"
        chosen.append(Step("versions", newer, named, needs=every[-1].name, shown=True))
    return chosen


def search(words: Sequence[str]) -> NoReturn:
    """Becomes the search, which has arguments of its own and is no step of the gate: who ends this
    process ends the search."""
    os.chdir(ROOT)
    os.execve(sys.executable, [sys.executable, "-m", "tests.search", *words], environment())


def main() -> int:
    """Runs what was asked for; 0 if all of it passed."""
    if sys.argv[1:2] == ["search"]:
        search(sys.argv[2:])
    asked, extra = arguments(sys.argv[1:])
    if asked.fix:
        repair()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        skipped = Path(directory) / "left-out"
        skipped.touch()
        chosen = chosen_steps(asked, extra, skipped)
        outcomes = run_all(chosen)
        left_out = skipped.read_text(encoding="utf-8").splitlines()
    ran = {name for step in chosen for name in (step.name, *step.name.split("+"))}
    not_run = [name for name in [*(s.name for s in steps()[:-1]), *PARTS] if name not in ran]
    if not_run:
        left_out.insert(0, f"the steps {', '.join(not_run)}")
    summarise(outcomes, left_out)
    if not extra:
        kind = f"{' fast' if 'fast' in asked.step else ''} --cases {asked.cases}"
        compared = [o for o in outcomes if o.passed and not o.step.kept]
        passed = {o.step.name + kind: o.processor for o in compared}
        print("".join(f"warning: {line}\n" for line in grown(passed)), end="")
    processor = sum(outcome.processor for outcome in outcomes)
    print(f"in all {time.monotonic() - start:26.1f} s, of processors {processor:7.1f} s")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def summarise(outcomes: list[Outcome], left_out: list[str]) -> None:
    """Prints each step with its times, and what was not looked at."""
    print("\nleft out:" if left_out else "\nnothing was left out")
    for line in left_out:
        print(f"  {line}")
    for each in outcomes:
        word = "passed" if each.passed else "FAILED"
        times = f"{each.seconds:8.1f} s, of processors {each.processor:7.1f} s"
        print(f"{each.step.name:<16} {word:<6} {times}")


if __name__ == "__main__":
    sys.exit(main())
