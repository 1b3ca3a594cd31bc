"""Counts the first hour of Google's 2011 trace into the numbers that the generators use.

    python scripts/first_hour.py task_events_part-00000-of-00500.csv.gz > \
        src/fairlead/simulation/workloads/first_hour.json
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import numpy as np

# Started as a script, this finds the checkout that it belongs to.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fairlead.simulation.workload import Floats, Ints
from fairlead.simulation.workloads.first_hour_file import BEGIN, FirstHour, read_first_hour

SOURCE = (
    "clusterdata-2011-2 by John Wilkes and Charles Reiss, Google, CC-BY 4.0: the tasks submitted "
    "up to 4,200 s in task_events/part-00000-of-00500.csv.gz, counted by scripts/first_hour.py"
)

CLASSES = (1, 2, 11, 101, 501)
"""The smallest job of each class: single tasks, then the classes of TSF VI.B."""

CHANCES = (0, 0.02, 0.05, *(k / 10 for k in range(1, 10)), 0.95, 0.98, 0.99, 1)


def ranks(values: Floats) -> Floats:
    """The rank of each value, the mean one among equals."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def demands(hour: FirstHour) -> list[dict[str, object]]:
    """What jobs of each class ask for, from the first of their tasks."""
    sizes: Ints = hour.sizes
    begins, found = hour.first[:-1], []
    for low, high in zip(CLASSES, (*CLASSES[1:], np.inf), strict=True):
        jobs = (sizes >= low) & (sizes < high)
        cpu, memory = hour.cpu[begins[jobs]], hour.memory[begins[jobs]]
        known = ~(np.isnan(cpu) | np.isnan(memory))
        cpu, memory = cpu[known], memory[known]
        found.append(
            {
                "from": low,
                "spread": round(float(hour.spread[jobs].mean()), 4),
                "correlation": round(float(np.corrcoef(ranks(cpu), ranks(memory))[0, 1]), 3),
                "cpu": [round(float(x), 5) for x in np.quantile(cpu, CHANCES)],
                "memory": [round(float(x), 5) for x in np.quantile(memory, CHANCES)],
            }
        )
    return found


def counted(hour: FirstHour) -> dict[str, object]:
    """The numbers by their names."""
    values, counts = np.unique(hour.sizes, return_counts=True)
    return {
        "source": SOURCE,
        "sizes": [[int(v), int(c)] for v, c in zip(values, counts, strict=True)],
        "at_start": round(float((hour.submit < BEGIN).mean()), 4),
        "chances": list(CHANCES),
        "demands": demands(hour),
    }


def main() -> None:
    """Prints the numbers as JSON, in lines that a person can look through."""
    found = counted(read_first_hour(sys.argv[1]))
    parts = [f"{json.dumps(key)}: {_wrapped(json.dumps(value))}" for key, value in found.items()]
    print("{\n" + ",\n".join(parts) + "\n}")


def _wrapped(text: str) -> str:
    # A text in quotes has to stay on its line.
    if text.startswith('"'):
        return text
    return "\n".join(textwrap.wrap(text, 96, subsequent_indent="  "))


if __name__ == "__main__":
    main()
