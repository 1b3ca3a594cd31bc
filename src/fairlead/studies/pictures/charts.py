"""Kinds of charts: lines, bars, points, and who holds what on which machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from fairlead.studies.pictures.picture import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

HATCHES = ("", "////", "----", "xxxx", "\\\\\\\\", "||||", "++", "//--")
"""Beside the colours, so that bars can be told apart in grey. Straight lines alone: a hatching of
dots is a quarter of a megabyte in an SVG."""
MANY = 60
"""Points of a cloud from which on it is one image in an SVG."""
MOST_MARKS = 20
"""Of a line."""
FEW_POWERS = 50
"""The largest ÷ the smallest number of a logarithmic axis, below which powers of ten are few."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK = "#1a1a1b"
ALONE = "_nolegend_"
"""Of a series that is the only one: what it is stands at the axis."""


@dataclass(frozen=True)
class Line:
    """A line of a chart; `low` and `high` are the ends of its spread, drawn as a band."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def lines(
    found: Sequence[Line],
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    steps: bool = False,
    marks: bool = False,
    log: str = "",
    y_from: float | None = 0.0,
    y_most: float | None = None,
    order: Sequence[str] | None = None,
) -> Panel:
    """Lines over x; `steps`: each value holds until the next; `log` has the letters of the axes
    that are logarithmic. By its place in `order` a name looks the same in every panel."""
    names = list(order or [line.name for line in found])

    def draw(axes: Axes) -> None:
        for line in found:
            look = _look(names, line.name)
            if marks:
                look |= {"marker": MARKS[names.index(line.name) % len(MARKS)], "markersize": 4}
                look |= {"markevery": max(1, len(line.x) // MOST_MARKS)}
            if steps:
                look |= {"drawstyle": "steps-post"}
            axes.plot(line.x, line.y, label=line.name if len(names) > 1 else ALONE, **look)
            if line.low is not None and line.high is not None:
                step: Literal["post"] | None = "post" if steps else None
                axes.fill_between(
                    line.x,
                    line.low,
                    line.high,
                    step=step,
                    color=look["color"],
                    alpha=0.18,
                    linewidth=0,
                )
        _label(axes, x_label, y_label, log)
        if "y" not in log and y_from is not None:
            axes.set_ylim(bottom=y_from)
        if y_most is not None:
            axes.set_ylim(top=y_most)
        if "x" not in log and all(isinstance(x, int) for line in found for x in line.x):
            axes.locator_params(axis="x", integer=True)

    return Panel(title, draw)


def bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    y_label: str,
    *,
    title: str = "",
    x_label: str = "",
    spread: Mapping[str, Sequence[float]] | None = None,
    numbers: str | None = None,
    line_at: float | None = None,
    y_most: float | None = None,
    order: Sequence[str] | None = None,
) -> Panel:
    """A group of bars for each name in `groups`, one of each series; `spread` are deviations,
    `numbers` the format in which each bar's number stands above it. By its place in `order` a
    series looks the same in every panel."""
    looks = list(order or series)

    def draw(axes: Axes) -> None:
        wide = 0.8 / len(series)
        for at, (name, values) in enumerate(series.items()):
            x = [place - 0.4 + wide * (at + 0.5) for place in range(len(groups))]
            look = _fill(looks.index(name))
            heights = [0.0 if isnan(value) else value for value in values]
            error = None if spread is None else spread.get(name)
            label = name if len(looks) > 1 else ALONE
            axes.bar(x, heights, wide * 0.92, label=label, yerr=error, capsize=2, **look)
            if numbers is not None:
                above = [0.0] * len(x) if error is None else error
                for place, value, more in zip(x, values, above, strict=True):
                    if not isnan(value):
                        text = format(value, numbers)
                        axes.annotate(
                            text,
                            (place, max(value + more, 0.0)),
                            xytext=(0, 2),
                            textcoords="offset points",
                            ha="center",
                            fontsize=8,
                        )
        if line_at is not None:
            axes.axhline(line_at, color=INK, linewidth=0.8)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(groups)), groups)
        _label(axes, x_label, y_label, "")
        axes.set_ylim(top=y_most if y_most is not None else axes.get_ylim()[1] * 1.06)

    return Panel(title, draw)


@dataclass(frozen=True)
class Cloud:
    """Points of one kind; `sizes` are relative areas."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    sizes: Sequence[float] | None = None
    words: Sequence[str] = ()


def points(
    found: Sequence[Cloud],
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    log: str = "",
    line: Sequence[tuple[float, float]] = (),
    area: float = 30.0,
    square: bool = False,
) -> Panel:
    """Points, and a line through places if there is one."""

    def draw(axes: Axes) -> None:
        if line:
            axes.plot([x for x, _ in line], [y for _, y in line], color=INK, lw=0.9, ls=(0, (4, 2)))
        for at, cloud in enumerate(found):
            sizes: Any = area
            if cloud.sizes is not None and len(cloud.sizes):
                most = max(cloud.sizes)
                sizes = [12 * area * size / most for size in cloud.sizes]
            axes.scatter(
                cloud.x,
                cloud.y,
                s=sizes,
                label=cloud.name,
                marker=MARKS[at % len(MARKS)],
                color=_colour(at),
                edgecolors="white" if cloud.sizes is None else _colour(at),
                alpha=1.0 if cloud.sizes is None else 0.45,
                linewidths=0.5,
                rasterized=len(cloud.x) > MANY,
            )
            for x, y, words in zip(cloud.x, cloud.y, cloud.words, strict=False):
                axes.annotate(words, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8)
        _label(axes, x_label, y_label, log)
        if square:
            axes.set_aspect("equal")

    return Panel(title, draw)


def holdings(
    parts: Mapping[str, Mapping[str, float]],
    y_label: str,
    *,
    title: str = "",
    order: Sequence[str] | None = None,
    y_most: float = 1.0,
) -> Panel:
    """Stacked bars: for each place (a machine, or a resource of it) the part that each user has,
    with its name where there is room for it."""
    users = list(order or dict.fromkeys(user for place in parts.values() for user in place))

    def draw(axes: Axes) -> None:
        below = [0.0] * len(parts)
        for at, user in enumerate(users):
            heights = [place.get(user, 0.0) for place in parts.values()]
            if not any(heights):
                continue
            axes.bar(range(len(parts)), heights, 0.8, bottom=below, label=user, **_fill(at))
            for x, (low, height) in enumerate(zip(below, heights, strict=True)):
                if height > 0.06 * y_most:
                    axes.text(
                        x,
                        low + height / 2,
                        user,
                        ha="center",
                        va="center",
                        fontsize=8,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
                    )
            below = [low + height for low, height in zip(below, heights, strict=True)]
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(parts)), list(parts), fontsize=8 if len(parts) > 6 else 9)
        axes.set_ylim(0, y_most)
        if y_most > 1:  # things that are counted
            axes.locator_params(axis="y", integer=True)
        axes.set_ylabel(y_label)

    return Panel(title, draw)


def grid(
    places: Sequence[str],
    names: Sequence[str],
    words: Sequence[Sequence[str]],
    shades: Sequence[Sequence[float]],
    *,
    title: str = "",
) -> Panel:
    """Cells of words, a row for each of `names` and a column for each of `places`; the shade of
    each is from 0 (white) to 1."""

    def draw(axes: Axes) -> None:
        axes.imshow(shades, cmap="Blues", vmin=0, vmax=1.5, aspect="auto")
        for row, cells in enumerate(words):
            for column, text in enumerate(cells):
                axes.text(column, row, text, ha="center", va="center", fontsize=8)
        axes.grid(visible=False)
        axes.set_xticks(range(len(places)), places, rotation=35, ha="right", fontsize=8)
        axes.set_yticks(range(len(names)), names, fontsize=8)

    return Panel(title, draw)


def _label(axes: Axes, x_label: str, y_label: str, log: str) -> None:
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    for letter, scaled, axis in (
        ("x", axes.set_xscale, axes.xaxis),
        ("y", axes.set_yscale, axes.yaxis),
    ):
        if letter in log:
            scaled("log")
            _powers(axis)


def _powers(axis: Axis) -> None:
    """Ticks of a logarithmic axis: at powers of ten, or, where those are few, at 1, 2 and 5 in
    plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_minor_formatter(NullFormatter())
    if high / low < FEW_POWERS:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter("{x:g}")


def _look(names: Sequence[str], name: str) -> dict[str, Any]:
    from fairlead.simulation.report.plots import look

    return look(names, name)


def _fill(at: int) -> dict[str, Any]:
    """The colour and the hatching of bars."""
    look = {"color": _colour(at), "hatch": HATCHES[at % len(HATCHES)]}
    return {**look, "edgecolor": "white", "linewidth": 0.4}


def _colour(at: int) -> str:
    from fairlead.simulation.report.plots import COLOURS

    return COLOURS[at % len(COLOURS)]
