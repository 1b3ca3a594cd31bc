"""Draws how the cost of an event grows, from the `grow-*` rows of `run.py online --json`.

`python benchmarks/growth.py FILE... [--out FILE.svg]` prints them as a Markdown table as well. The
exponent is the slope of the logarithms of cost and size, by least squares; 1 is in proportion.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

GROUPS = {
    "grow-machines": "machines",
    "grow-jobs": "jobs",
    "grow-tenants": "tenants",
    "grow-trees": "trees",
}
WORDS = {
    "machines": "machines",
    "jobs": "waiting jobs",
    "tenants": "tenants",
    "trees": "tenants below ten others",
}


@dataclass(frozen=True)
class Point:
    """One row: the size that grew, and the cost of an event in microseconds."""

    size: int
    cost: float


def curves(documents: Sequence[dict[str, object]]) -> dict[str, list[Point]]:
    """The points of each group that is there, by size. Every task is an event when it starts and
    one when it ends, and every job is one when it comes. Rows that were stopped are left out."""
    found: dict[str, list[Point]] = {}
    for document in documents:
        rows = document["rows"]
        assert isinstance(rows, list)
        for row in rows:
            grows = GROUPS.get(row["name"].partition("/")[0])
            ours = row["ours"]
            if grows is None or ours["median"] is None or ours["limit_reached"]:
                continue
            size = row["size"]
            events = 2 * size["tasks"] + size["jobs"]
            cost = 1e6 * ours["median"] / events
            found.setdefault(grows, []).append(Point(size[grows], cost))
    return {grows: sorted(points, key=lambda point: point.size) for grows, points in found.items()}


def exponent(points: Sequence[Point]) -> float:
    """By which power of the size the cost grows."""
    sizes = [math.log(point.size) for point in points]
    return linear_regression(sizes, [math.log(point.cost) for point in points]).slope


def table(found: dict[str, list[Point]]) -> str:
    """The points as Markdown."""
    lines = ["| what grows | size: µs per event | exponent |", "|---|---|---|"]
    for grows, points in found.items():
        cells = ", ".join(f"{point.size:,}: {point.cost:.3g}" for point in points)
        lines.append(f"| {WORDS[grows]} | {cells} | {exponent(points):.2f} |")
    return "\n".join(lines)


def draw(found: dict[str, list[Point]], out: Path) -> None:
    """The points as curves, both axes logarithmic, with a line in proportion to compare with."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "growth"  # the same bytes each time
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for grows, points in found.items():
        sizes, costs = [p.size for p in points], [p.cost for p in points]
        label = f"{WORDS[grows]} (exponent {exponent(points):.2f})"
        axes.loglog(sizes, costs, marker="o", label=label)
    if "jobs" in found:
        first, last = found["jobs"][0], found["jobs"][-1]
        ends = [first.size, last.size]
        axes.loglog(
            ends,
            [first.cost, first.cost * last.size / first.size],
            linestyle=":",
            color="gray",
            label="in proportion to waiting jobs",
        )
    axes.set_xlabel("how many")
    axes.set_ylabel("µs per event")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend()
    figure.savefig(out, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0; 2 where there is nothing to draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="what --json wrote")
    parser.add_argument("--out", type=Path, help="the picture, as .svg or .png")
    options = parser.parse_args(arguments)
    found = curves([json.loads(Path(name).read_text(encoding="utf-8")) for name in options.files])
    if not any(len(points) > 1 for points in found.values()):
        print("growth: the files hold no two rows of one group of grow-*", file=sys.stderr)
        return 2
    found = {grows: points for grows, points in found.items() if len(points) > 1}
    print(table(found))
    if options.out is not None:
        draw(found, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
