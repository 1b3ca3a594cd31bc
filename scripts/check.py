"""Runs the steps of the gate and says what failed, how long each took and what was left out."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/test_docs*.py"))
LIVE = (
    "tests/client",
    "tests/engines",
    "tests/service",
    "tests/vopr",
    "tests/cli/live",
)
"""What starts services and engines, and waits for them most of the time."""

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as command; command()"
"""import-linter has no `python -m`, and its script breaks when the checkout is moved."""

TIMES = ("--durations=5", "--durations-min=5")
"""A test that takes long is named, so that the gate does not grow slow unseen."""

EPILOG = """\
examples:
  ./check                          everything, as CI runs it
  ./check fast                     without the slow tests (the wheel), for every few minutes
  ./check lint types               some steps
  ./check --fix                    format and repair what the linter can, then check
  ./check --cases 20               twenty times as many random instances
  ./check tests -- -k certificate  arguments for pytest
  ./check search --minutes 30      new inputs of all kinds, with the seed of whatever is wrong
"""


@dataclass(frozen=True)
class Step:
    """A step of the gate: its name, its command, and what it says in the list of `--help`."""

    name: str
    command: tuple[str, ...]
    purpose: str
    beside: bool = False  # it may run beside the others of which this is true


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    step: Step
    passed: bool
    seconds: float


def steps(
    cases: int = 1, fast: bool = False, left_out: Path = ROOT, extra: Sequence[str] = ()
) -> list[Step]:
    """All steps, in the order in which they run: the quick ones first."""
    python = (sys.executable, "-m")
    slow = ("-m", "not slow") if fast else ()
    pytest = (
        *python,
        "pytest",
        "--quiet",
        f"--cases={cases}",
        f"--left-out={left_out}",
        *TIMES,
        *slow,
    )
    rest = (f"--ignore={path}" for path in (*DOCS, *LIVE))
    return [
        Step("format", (*python, "ruff", "format", "--check", "--quiet", "."), "formatting (ruff)"),
        Step("lint", (*python, "ruff", "check", "--quiet", "."), "the linter (ruff)"),
        Step(
            "imports",
            (sys.executable, "-c", LINT_IMPORTS, "--no-logo"),
            "import directions (import-linter)",
        ),
        Step("types", (*python, "mypy", "--no-error-summary"), "types (mypy, strict)"),
        Step("live", (*pytest, *LIVE, *extra), "tests of the service and its engines", True),
        Step("docs", (*pytest, *DOCS, *extra), "docs complete, examples as shown", True),
        Step("tests", (*pytest, *rest, *extra), "all other tests", True),
    ]


def run(step: Step) -> Outcome:
    """Runs a step; a step that passes says nothing but its time, tests excepted. What it says comes
    all at once when it ends, since others may run beside it."""
    if not step.beside:
        print(f"== {step.name}", flush=True)
    start = time.monotonic()
    # No stdin: a test that waits for somebody to type fails instead.
    done = subprocess.run(
        step.command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        errors="replace",
    )
    head = f"== {step.name}\n" if step.beside else ""
    if step.beside or done.returncode:
        print(head + done.stdout, end="", flush=True)
    return Outcome(step, done.returncode == 0, time.monotonic() - start)


def run_all(chosen: Sequence[Step]) -> list[Outcome]:
    """Runs the steps one after the other, and at last those that may run beside each other."""
    alone = [run(step) for step in chosen if not step.beside]
    beside = [step for step in chosen if step.beside]
    if len(beside) > 1:
        print(f"== {', '.join(step.name for step in beside)}, side by side", flush=True)
    with ThreadPoolExecutor(max(1, len(beside))) as pool:
        return alone + list(pool.map(run, beside))


def repair() -> None:
    """Formats, and repairs what the linter can."""
    for arguments in (("check", "--fix", "--quiet"), ("format", "--quiet")):
        subprocess.run([sys.executable, "-m", "ruff", *arguments, "."], cwd=ROOT, check=False)


def arguments(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """What was asked for, and what goes on to pytest."""
    end = words.index("--") if "--" in words else len(words)
    own, rest = words[:end], words[end + 1 :]
    every = steps()
    parser = argparse.ArgumentParser(
        prog="./check",
        description="Runs the gate: " + "; ".join(f"{s.name}: {s.purpose}" for s in every) + ".",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("step", nargs="*", help="`fast`, or the steps to run (default: all)")
    parser.add_argument("--cases", type=int, default=1, help="times as many random instances")
    parser.add_argument("--fix", action="store_true", help="format and repair first")
    asked = parser.parse_args(own)
    known = [step.name for step in every]
    for name in asked.step:
        if name not in [*known, "fast"]:
            parser.error(f"there is no step {name!r}; the steps are {', '.join(known)}, and `fast`")
    if asked.cases < 1:
        parser.error("--cases is a positive number")
    return asked, rest


def search(words: Sequence[str]) -> int:
    """Runs the search, which has arguments of its own and is no step of the gate."""
    command = (sys.executable, "-m", "tests.search.hunt", *words)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    """Runs what was asked for; 0 if all of it passed."""
    if sys.argv[1:2] == ["search"]:
        return search(sys.argv[2:])
    asked, extra = arguments(sys.argv[1:])
    if asked.fix:
        repair()
    fast = "fast" in asked.step
    chosen = [name for name in asked.step if name != "fast"]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        skipped = Path(directory) / "left-out"
        skipped.touch()
        every = steps(asked.cases, fast, skipped, extra)
        outcomes = run_all([step for step in every if not chosen or step.name in chosen])
        left_out = skipped.read_text(encoding="utf-8").splitlines()
    not_run = [step.name for step in every if chosen and step.name not in chosen]
    if not_run:
        left_out.insert(0, f"the steps {', '.join(not_run)}")
    summarise(outcomes, left_out)
    print(f"in all {time.monotonic() - start:17.1f} s")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def summarise(outcomes: list[Outcome], left_out: list[str]) -> None:
    """Prints each step with its time, and what was not looked at."""
    print("\nleft out:" if left_out else "\nnothing was left out")
    for line in left_out:
        print(f"  {line}")
    for outcome in outcomes:
        word = "passed" if outcome.passed else "FAILED"
        print(f"{outcome.step.name:<8} {word} {outcome.seconds:8.1f} s")


if __name__ == "__main__":
    sys.exit(main())
