"""Pictures of studies can be told apart in grey, and are small."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.studies.pictures.charts import HATCHES, Cloud, bars, points
from fairlead.studies.pictures.picture import Picture, draw, named, rounded, styled

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 150_000
"""Bytes of an SVG among the docs."""
ALL = 3_000_000
"""Bytes of all that studies have among the docs."""


def picture(*panels: object) -> Picture:
    return Picture("title", "caption", tuple(panels), name="picture")  # type: ignore[arg-type]


def test_hatches_of_lines_are_few_bytes_and_all_different() -> None:
    assert len(set(HATCHES)) == len(HATCHES)
    series = {str(at): [1.0] for at in range(len(HATCHES))}
    assert len(draw(picture(bars(["a"], series, "y"))).svg) < 40_000


def test_a_series_looks_the_same_in_every_panel() -> None:
    one = draw(picture(bars(["a"], {"B": [1.0]}, "y", order=["A", "B"]))).svg
    other = draw(picture(bars(["a"], {"B": [1.0]}, "y"))).svg
    assert "pattern" in one
    assert "pattern" not in other


def test_a_cloud_of_many_points_is_an_image_in_an_svg() -> None:
    many = Cloud("many", list(range(500)), list(range(500)))
    few = Cloud("few", [1.0], [1.0])
    assert "<image" in draw(picture(points([many], "x", "y"))).svg
    assert "<image" not in draw(picture(points([few], "x", "y"))).svg


def test_numbers_of_an_svg_are_short() -> None:
    path = '<path d="M 12.345678 -0.123456 L 7 3.5"/>'
    assert rounded(path) == '<path d="M 12.3 -0.1235 L 7 3.5"/>'


def test_names_that_nothing_refers_to_are_left_out() -> None:
    svg = '<g id="a"/><clipPath id="b"/><g clip-path="url(#b)" id="c.1"/><use href="#d"/>'
    assert named(svg) == '<g/><clipPath id="b"/><g clip-path="url(#b)"/><use href="#d"/>'


def test_styles_that_occur_again_are_written_once() -> None:
    svg = '<style>*{a: b}</style><g style="c: d"/><g style="c: d"/><g style="e: f"/>'
    assert styled(svg) == (
        '<style>*{a: b}\n.s0{c: d}\n</style><g class="s0"/><g class="s0"/><g style="e: f"/>'
    )


def test_a_png_has_few_colours_and_the_same_bytes_each_time() -> None:
    shown = picture(bars(["a"], {"B": [1.0], "C": [2.0]}, "y"))
    png = draw(shown).png
    # The header of a PNG: eight bits of a palette, each pixel one of its colours.
    assert (png[24], png[25]) == (8, 3)
    assert draw(shown).png == png


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "studies").glob("*/*.svg")), ids=str)
def test_an_svg_among_the_docs_is_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


def test_the_studies_among_the_docs_are_small_together() -> None:
    files = (ROOT / "docs" / "studies").rglob("*")
    assert sum(file.stat().st_size for file in files if file.is_file()) <= ALL
