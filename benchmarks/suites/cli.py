"""`fairlead` as a whole process on small inputs: what a person waits for."""

from __future__ import annotations

from pathlib import Path

from benchmarks.cases import Call, Case, Measured, Options, Target

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = "src/fairlead/cli/demo.yaml"
# The least that a program of this kind must load before it can begin.
FLOOR = "import numpy, highspy, yaml"


def cases(options: Options) -> list[Case]:  # noqa: ARG001 (small as it is)
    """The rows: commands on the demo's file, against an interpreter that only loads libraries."""
    floor = Call("imports alone", "benchmarks.suites.cli:process", {"arguments": ["-c", FLOOR]})
    return [
        Case(
            name,
            {"input": "demo"},
            Call(
                f"fairlead {name}",
                "benchmarks.suites.cli:process",
                {"arguments": ["-m", "fairlead", *arguments]},
            ),
            floor,
            Target(seconds=seconds),
        )
        for name, arguments, seconds in (
            ("allocate", ["allocate", DEMO], 0.5),
            ("allocate-json", ["allocate", DEMO, "--json"], 0.5),
            ("version", ["--version"], None),
        )
    ]


def process(arguments: list[str]) -> Measured:
    """A fresh interpreter with these arguments, warm: it has run once before."""
    import os
    import subprocess
    import sys

    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

    def measured() -> None:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")

    measured()
    return measured
