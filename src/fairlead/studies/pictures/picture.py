"""A picture of a study: panels that know how to draw themselves once Matplotlib is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from fairlead.simulation.report.plots import Plot

WIDTH, HEIGHT = 4.4, 3.3
"""Inches of a panel; one alone is a third wider."""
ABREAST = 3


@dataclass(frozen=True)
class Panel:
    """A part of a picture with axes of its own."""

    title: str
    draw: Callable[[Axes], None]


@dataclass(frozen=True)
class Picture:
    """Panels beside each other; `caption` says what is seen. `name` is the files', without an
    ending; the study's, where there is none."""

    title: str
    caption: str
    panels: tuple[Panel, ...]
    height: float = HEIGHT
    width: float = WIDTH
    name: str = ""


def draw(picture: Picture) -> Plot:
    """The picture as PNG and SVG: the same picture gives the same bytes. One legend below holds
    what the panels name."""
    from matplotlib.figure import Figure

    from fairlead.simulation.report.plots import draw_plot

    count = len(picture.panels)
    wide = min(count, 2 if count == 4 else ABREAST)
    down = -(-count // ABREAST)
    size = (picture.width * (wide if wide > 1 else 4 / 3), picture.height * down)

    def draw(figure: Figure) -> None:
        handles: dict[str, Artist] = {}
        for number, panel in enumerate(picture.panels, 1):
            axes = figure.add_subplot(down, wide, number)
            panel.draw(axes)
            axes.set_title(panel.title or picture.title)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if handles:
            longest = max(map(len, handles))
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower left",
                ncols=max(1, min(len(handles), int(11 * size[0]) // (longest + 6))),
                handlelength=2.2,
                columnspacing=1.2,
            )

    plot = draw_plot(picture.name, picture.title, picture.caption, draw, size)
    return replace(plot, svg=styled(named(rounded(plot.svg))))


def rounded(svg: str) -> str:
    """The SVG with its numbers rounded to tenths of a point: half as many bytes, and nothing that
    can be seen; lines are not indented. Numbers below 1 (opacities, scales) keep four digits."""

    def short(found: re.Match[str]) -> str:
        number = float(found[0])
        text = f"{number:.{1 if abs(number) >= 1 else 4}f}"
        return text.rstrip("0").rstrip(".")

    return re.sub(r"[ \t]*\n[ \t]*", "\n", re.sub(r"-?\d+\.\d{2,}", short, svg))


def named(svg: str) -> str:
    """The SVG without the names that nothing in it refers to: each tick has one."""
    wanted = set(re.findall(r"#([\w.-]+)", svg))
    return re.sub(r' id="([^"]*)"', lambda one: one[0] if one[1] in wanted else "", svg)


def styled(svg: str) -> str:
    """The SVG with each style that occurs again and again written once, as a class: marks and ticks
    have the same few."""
    counts = Counter(re.findall(r' style="([^"]*)"', svg))
    names = {style: f"s{at}" for at, style in enumerate(s for s, n in counts.items() if n > 1)}

    def classed(found: re.Match[str]) -> str:
        return f' class="{names[found[1]]}"' if found[1] in names else found[0]

    rules = "\n".join(f".{name}{{{style}}}" for style, name in names.items())
    return re.sub(r' style="([^"]*)"', classed, svg).replace("</style>", f"\n{rules}\n</style>", 1)
