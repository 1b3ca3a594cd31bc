"""What the steps of the gate took on this machine, and which of them grew."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path

KEPT = Path(__file__).resolve().parent.parent / "build" / "check-times.json"
LAST = 5
"""So many runs of a step are remembered."""
SMALL = 5.0
"""Seconds by which a step that grew by half has grown at least, to be worth a word."""


def grown(seconds: Mapping[str, float], kept: Path = KEPT) -> list[str]:
    """A sentence for each step that took half as much again as in any of the last runs here. Notes
    what all of them took: processor time, for that of the clock is a matter of who else is busy."""
    every = _read(kept)
    runs = every.setdefault(platform.node(), {})
    told = []
    for step, now in seconds.items():
        before = runs.get(step, [])
        most = max(before, default=now)
        if now > 1.5 * most and now > most + SMALL:
            told.append(
                f"{step} took {now:.0f} s of processor time, and at most {most:.0f} s in the last"
                f" {len(before)} runs on this machine ({kept.name})"
            )
        runs[step] = [*before, round(now, 1)][-LAST:]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    return told


def _read(kept: Path) -> dict[str, dict[str, list[float]]]:
    """What was noted; nothing where that cannot be read."""
    try:
        every: dict[str, dict[str, list[float]]] = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return every
