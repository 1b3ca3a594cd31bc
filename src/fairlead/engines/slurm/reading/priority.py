"""The parts of a job's priority, as Slurm's `sprio` has them."""

from __future__ import annotations

import re

from fairlead.engines.interface import EngineError
from fairlead.engines.observing import Priority
from fairlead.engines.slurm.reading.commands import run

PARTS = {
    "site factor": "%S",
    "age": "%A",
    "fair tree": "%F",
    "job size": "%J",
    "partition": "%P",
    "QOS": "%Q",
    "association": "%B",
    "nice": "%N",
}
"""The parts by Slurm's names of them, and how `sprio` is asked for each, weights included. That of
TRES is a list of its own."""

TRES = "TRES"


def priority_of(job: str) -> Priority:
    """The priority of a job by its number, or of the first row of an array. Raises EngineError."""
    number = re.match(r"[0-9]+", job)
    if number is None:
        raise EngineError(f"{job} is no number of a job of Slurm")
    fields = "|".join(("%Y", *PARTS.values(), "%T"))
    said = run(("sprio", "--noheader", f"--jobs={number[0]}", f"--format={fields}"))
    # Where it has none it says so in words, on standard output, and that all is well.
    row = next((line.split("|") for line in said.splitlines() if "|" in line), None)
    if row is None:
        raise EngineError(
            f"sprio has no row of job {number[0]}: it does not wait for its turn, or Slurm has not"
            " looked at it yet"
        )
    total, *amounts = (int(float(text)) for text in row[: len(PARTS) + 1])
    parts = dict(zip(PARTS, amounts, strict=True))
    parts["nice"] = -parts["nice"]
    parts[TRES] = sum(int(float(each)) for each in re.findall(r"=([0-9.]+)", row[-1]))
    return Priority(total, parts, _sentence(total, parts))


def _sentence(total: int, parts: dict[str, int]) -> str:
    """The parts that are not 0, the largest first."""
    counted = sorted(parts.items(), key=lambda part: -abs(part[1]))
    said = ", ".join(f"{name} {amount}" for name, amount in counted if amount)
    return f"sprio has {total} for it: {said or 'all parts are 0'}"
