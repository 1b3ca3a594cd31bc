"""Draws the plots of a study, as PNG and SVG: the same numbers give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from PIL import Image

from fairlead.simulation.report.figures import Curve, SpeedUps
from fairlead.simulation.workload import Floats

# Okabe and Ito's colours, which people with any kind of colour vision tell apart, darkened where
# they are too light for thin lines on white; each also has its own dashes.
COLOURS = ("#0072b2", "#d55e00", "#00805a", "#b0528a", "#8a6a00", "#3a8fc4", "#7a3fb0", "#555555")
DASHES = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (11, 2)),
    (0, (6, 1.5, 1.5, 1.5, 1.5, 1.5)),
)
INK, GRID = "#1a1a1b", "#d9d9da"

WIDTH, HEIGHT = 5.2, 3.2  # inches: at 72 points an inch as wide as a phone, text of 10 points
RESOLUTION = 160
SHADES = 64
"""Colours of a PNG: a chart has few, and is a third as large with so many as with all."""

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "path.simplify": True,
}


@dataclass(frozen=True)
class Plot:
    """A plot that is drawn: its file's name without an ending, what it shows, and its bytes."""

    name: str
    title: str
    caption: str
    png: bytes
    svg: str


def draw_plot(
    name: str,
    title: str,
    caption: str,
    draw: Callable[[Figure], None],
    size: tuple[float, float] = (WIDTH, HEIGHT),
) -> Plot:
    """The plot, drawn for the screen and for print; its size in inches."""
    # A salt of its own: plots stand in one page, and what they refer to by a name must not mix.
    with mpl.rc_context({**STYLE, "svg.hashsalt": f"fairlead {name}"}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        figure.draw_without_rendering()  # finds the places of all, once for both files
        # With "none" there would be a placeholder, for which each file is drawn twice.
        figure.set_layout_engine(None)
        png, svg = io.BytesIO(), io.StringIO()
        figure.savefig(
            png,
            format="png",
            dpi=RESOLUTION,
            facecolor="white",
            pil_kwargs={"compress_level": 0},  # it is made small with few shades
        )
        # The resolution is that of what an SVG holds as an image: clouds of many points.
        figure.savefig(
            svg,
            format="svg",
            dpi=RESOLUTION,
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    return Plot(name, title, caption, _few_shades(png.getvalue()), svg.getvalue())


def _few_shades(png: bytes) -> bytes:
    """The same picture in few colours, each the nearest."""
    few = Image.open(io.BytesIO(png)).convert("RGB")
    file = io.BytesIO()
    few.quantize(SHADES, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        file, format="PNG", optimize=True
    )
    return file.getvalue()


def lines(
    name: str,
    title: str,
    caption: str,
    curves: Sequence[Curve],
    order: Sequence[str],
    *,
    y_label: str,
    x_most: float,
    y_most: float | None = None,
    names: str | None = None,
) -> Plot:
    """Samples over time (seconds), each until the next one: what is between them is not known to
    rise or fall. By its place in the order each name looks the same everywhere.
    `names` says what they are names of, if that is not clear."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for curve in curves:
            axes.step(curve.x, curve.y, where="post", **look(order, curve.name), label=curve.name)
        axes.set_title(title)
        axes.set_ylabel(y_label)
        axes.set_ylim(0, y_most)
        over_time(axes, x_most)
        legend(figure, [curve.name for curve in curves], names)

    return draw_plot(name, title, caption, draw)


def cdfs(
    name: str,
    title: str,
    caption: str,
    curves: Sequence[Curve],
    order: Sequence[str],
    *,
    x_label: str,
    y_label: str,
) -> Plot:
    """Parts of all that are at most x seconds, on a logarithmic axis that has 0."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        least, most = _decades(curves)
        for curve in curves:
            x = np.concatenate([[0.0], curve.x])
            y = np.concatenate([[0.0], 100.0 * curve.y])
            axes.step(x, y, where="post", **look(order, curve.name), label=curve.name)
        axes.set_xscale("symlog", linthresh=least, linscale=0.4)
        axes.set_xlim(0, most)
        ticks = _marks(least, most)
        axes.set_xticks(ticks, [time_words(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(0, 101)
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        legend(figure, [curve.name for curve in curves])

    return draw_plot(name, title, caption, draw)


def bars(name: str, title: str, caption: str, found: SpeedUps, order: Sequence[str]) -> Plot:
    """Speed-ups by the size of jobs, a group of bars for each size."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        wide = 0.8 / len(found.others)
        for index, (other, parts) in enumerate(found.others):
            at = np.arange(len(parts)) - 0.4 + wide * (index + 0.5)
            heights = [0.0 if isnan(part) else part - 1.0 for part in parts]
            # From 1, where nothing changes: what is above is won, what is below is lost.
            axes.bar(
                at, heights, wide * 0.92, bottom=1.0, color=look(order, other)["color"], label=other
            )
        axes.axhline(1.0, color=INK, linewidth=0.8)
        axes.grid(visible=False, axis="x")
        words = [
            f"{size.words}\n({jobs:,} {'job' if jobs == 1 else 'jobs'})"
            for size, jobs in zip(found.sizes, found.jobs, strict=True)
        ]
        axes.set_xticks(np.arange(len(words)), words)
        axes.set_xlabel("tasks of the job")
        axes.set_ylabel(f"completion time ÷ under {short(found.first)}")
        axes.set_title(title)
        axes.set_ylim(*around_one([part for _, parts in found.others for part in parts]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}×"))
        legend(figure, [other for other, _ in found.others])

    return draw_plot(name, title, caption, draw)


# --- axes -----------------------------------------------------------------------------------

FEW = (1e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0, 86_400.0, 864_000.0, 8_640_000.0)
MANY = (
    *(t * unit for unit in (1e-3, 1e-2, 0.1, 1.0) for t in (1.0, 2.0, 5.0)),
    *(10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 18_000.0),
    *(36_000.0, 86_400.0, 172_800.0, 432_000.0, 864_000.0, 2_592_000.0, 8_640_000.0),
)
"""Marks of a logarithmic axis of times, in seconds."""

UNITS = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
STEPS = (1, 2, 5, 6, 10, 12, 15, 20, 24, 30, 50, 60, 100, 200, 500, 1000)
MOST_MARKS = 7
MOST_LETTERS = 18


LEAST_SEEN = 0.1
"""Less than a tenth of difference looks like little: no axis of factors is narrower than that."""


def around_one(factors: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis of factors: all are on it, and so is a tenth more or less than 1."""
    known = [factor for factor in factors if not isnan(factor)]
    least, most = min([1.0, *known]), max([1.0, *known])
    margin = 0.15 * (most - least)
    return min(1.0 - LEAST_SEEN, least - margin), max(1.0 + LEAST_SEEN, most + margin)


def look(order: Sequence[str], name: str) -> dict[str, Any]:
    """The colour and the dashes of a series."""
    place = order.index(name) if name in order else 0
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)]}


def over_time(axes: Axes, most: float) -> None:
    """An axis of time from 0 on, in a unit in which its numbers are small."""
    size, unit = next(((size, unit) for size, unit in UNITS if most >= 2 * size), UNITS[-1])
    marks = most / size
    step = next(
        (float(step) for step in STEPS if marks / step <= MOST_MARKS),
        float(10 ** np.ceil(np.log10(max(marks, 1.0)))) / 10,
    )
    ticks = np.arange(0.0, marks + 1e-9, step)
    axes.set_xlim(0, most)
    axes.set_xticks(ticks * size, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel(f"time ({unit})")


def legend(figure: Figure, names: Sequence[str], title: str | None = None) -> None:
    """Draws a legend below the plot, where it hides nothing; none for a line without a name."""
    if not any(names):
        return
    longest = max(len(short(name)) for name in names)
    columns = max(1, min(len(names), 4, 64 // (longest + 6)))
    handles, _ = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        [short(name) for name in names],
        loc="outside lower left",
        ncols=columns,
        handlelength=2.2,
        columnspacing=1.2,
        borderaxespad=0.2,
        title=title,
        title_fontsize=9,
        alignment="left",
    )


def short(name: str) -> str:
    """The name, cut in the middle where it is too long for a legend."""
    if len(name) <= 2 * MOST_LETTERS:
        return name
    return f"{name[:MOST_LETTERS]}…{name[-MOST_LETTERS + 1 :]}"


def time_words(seconds: float) -> str:
    """A mark of an axis of times: 0, 1 ms, 10 s, 1 min, 1 h, 10 d."""
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return "0"


def _decades(curves: Sequence[Curve]) -> tuple[float, float]:
    """The beginning of an axis's logarithmic part, and the axis's end."""
    values: Floats = np.concatenate([np.zeros(0), *(curve.x for curve in curves)])
    above = values[values > 0]
    if not len(above):
        return 1.0, 10.0
    most = float(above.max())
    # The smallest hundredth may be anything: it would take the most of the axis.
    least = max(float(np.quantile(above, 0.01)), most * 1e-6)
    begin = max((t for t in FEW if t <= least), default=FEW[0])
    return min(begin, most / 10), most * 1.05


def _marks(least: float, most: float) -> list[float]:
    """0 and times between; few where there are many, and the other way round."""
    few = [t for t in FEW if least <= t <= most]
    if len(few) >= MOST_MARKS:
        return [0.0, *few[::2]]
    if len(few) >= MOST_MARKS // 2 + 1:
        return [0.0, *few]
    many = [t for t in MANY if least <= t <= most]
    return [0.0, *many[:: -(-len(many) // (MOST_MARKS - 2))]] if many else [0.0, most]
