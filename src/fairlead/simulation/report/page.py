"""The page: one HTML file with all in it, for screens of any size, in the light and in the dark."""

from __future__ import annotations

import re
from html import escape

from fairlead.simulation.report.plots import COLOURS, GRID, INK, Plot
from fairlead.simulation.report.tables import Table

DARK = ("#5ab4ef", "#ff9a52", "#3fcf9f", "#ec9cca", "#d9b84a", "#9bd2f5", "#c49cf0", "#b5b5b5")
"""COLOURS on a dark ground."""

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1a1a1b; --dim: #5d5d60; --grid: #d9d9da;
  --card: #f6f6f7; LIGHT }
@media (prefers-color-scheme: dark) { :root { --ground: #141416; --ink: #ececee; --dim: #a3a3a8;
  --grid: #3a3a3e; --card: #1d1d20; DARK } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 1.25rem 1rem 3rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
p, li { max-width: 46rem; overflow-wrap: anywhere }
.dim, figcaption { color: var(--dim); font-size: .875rem }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr));
  gap: 1rem }
figure { margin: 0; padding: .75rem; background: var(--card); border-radius: .5rem; min-width: 0 }
figure svg { width: 100%; height: auto; display: block }
figure svg text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif !important }
figcaption { margin-top: .5rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9375rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid) }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
th { font-weight: 600; vertical-align: bottom }
"""


def page(
    title: str,
    about: tuple[str, ...],
    tables: tuple[Table, ...],
    plots: tuple[tuple[str, tuple[Plot, ...]], ...],
    notes: tuple[str, ...],
    version: str,
) -> str:
    """The whole page. `plots` are in groups with a heading each."""
    light = " ".join(f"--s{n}: {colour};" for n, colour in enumerate(COLOURS))
    dark = " ".join(f"--s{n}: {colour};" for n, colour in enumerate(DARK))
    style = STYLE.replace("LIGHT", light).replace("DARK }", f"{dark} }}")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="Fairlead {escape(version)}">',
        f"<title>{escape(title)} – Fairlead</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="dim">{escape(line)}</p>' for line in about),
    ]
    parts += [part for table in tables for part in _table(table)]
    for heading, group in plots:
        parts.append(f"<h2>{escape(heading)}</h2>")
        parts.append('<div class="plots">')
        parts += [part for plot in group for part in _figure(plot)]
        parts.append("</div>")
    if notes:
        parts.append("<h2>What was assumed</h2>")
        parts.append("<ul>")
        parts += [f"<li>{escape(note)}</li>" for note in notes]
        parts.append("</ul>")
    parts += ["</body>", "</html>"]
    return "\n".join(parts) + "\n"


def _table(table: Table) -> list[str]:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    ]
    return [
        f"<h2>{escape(table.title)}</h2>",
        '<div class="wide">',
        f'<table aria-label="{escape(table.title)}">',
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody>",
        "</table>",
        "</div>",
        f'<p class="dim">{escape(table.caption)}.</p>',
    ]


def _figure(plot: Plot) -> list[str]:
    return [
        "<figure>",
        inline(plot),
        f"<figcaption>{escape(plot.caption)}</figcaption>",
        "</figure>",
    ]


def inline(plot: Plot) -> str:
    """The plot as it stands in the page: its colours are the page's, in the light and the dark."""
    svg = plot.svg[plot.svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # Its size is that of its place; how wide it is to high stays in the viewBox.
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(plot.title)}"', 1)
    for colour, variable in ((INK, "--ink"), (GRID, "--grid")):
        svg = svg.replace(colour, f"var({variable})")
    for index, colour in enumerate(COLOURS):
        svg = svg.replace(colour, f"var(--s{index})")
    return svg.strip()
