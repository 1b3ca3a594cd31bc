"""The charts of a report as numbers: drawn on its page by the page, and as files for papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from fairlead.simulation.report.figures import Curve, SpeedUps

if TYPE_CHECKING:
    from fairlead.model.report import Tree
    from fairlead.simulation.report.plots import Plot


class Kind(Enum):
    """The quantity along a chart."""

    TIME = "time"  # seconds from 0 on; each value holds until the next
    PARTS = "parts"  # seconds, on a logarithmic axis that has 0; upwards a part of all
    SIZES = "sizes"  # sizes of jobs, a bar for each policy


@dataclass(frozen=True)
class Chart:
    """A chart. By its place in `order` each name looks the same everywhere."""

    name: str
    title: str
    caption: str
    kind: Kind
    order: tuple[str, ...]
    curves: tuple[Curve, ...] = ()
    x_label: str = ""
    y_label: str = ""
    x_most: float = 0.0
    y_most: float | None = None
    names: str | None = None
    speed: SpeedUps | None = None

    def plot(self) -> Plot:
        """The chart as files. matplotlib is loaded here."""
        from fairlead.simulation.report.plots import bars, cdfs, lines

        about = self.name, self.title, self.caption
        if self.kind is Kind.SIZES:
            assert self.speed is not None  # it is of these
            return bars(*about, self.speed, self.order)
        if self.kind is Kind.PARTS:
            labels = {"x_label": self.x_label, "y_label": self.y_label}
            return cdfs(*about, self.curves, self.order, **labels)
        return lines(
            *about,
            self.curves,
            self.order,
            y_label=self.y_label,
            x_most=self.x_most,
            y_most=self.y_most,
            names=self.names,
        )

    def tree(self) -> Tree:
        return {
            "title": self.title,
            "caption": self.caption,
            "kind": self.kind.value,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "x_most": self.x_most,
            "y_most": self.y_most,
            "curves": [
                {
                    "name": curve.name,
                    "place": self.order.index(curve.name) if curve.name in self.order else 0,
                    "x": short(curve.x.tolist()),
                    "y": short(curve.y.tolist()),
                }
                for curve in self.curves
            ],
            "sizes": _sizes(self.speed, self.order),
        }


def _sizes(speed: SpeedUps | None, order: Sequence[str]) -> list[Tree]:
    """For each size of jobs the factor of each policy; null where there is none."""
    if speed is None:
        return []
    return [
        {
            "name": f"{size.words} tasks",
            "jobs": speed.jobs[at],
            "factors": [
                {
                    "name": name,
                    "place": order.index(name),
                    "factor": None if parts[at] != parts[at] else parts[at],
                }
                for name, parts in speed.others
            ],
        }
        for at, size in enumerate(speed.sizes)
    ]


def short(values: Sequence[float]) -> list[float | None]:
    """The numbers as a drawing needs them; null where there is none."""
    return [None if value != value else float(f"{value:.5g}") for value in values]
