"""Every setting is documented, with its default, and the example in the docs can be read."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from fairlead.cli.serving.config import read_config
from fairlead.scheduling.options import MICROSECONDS, USUAL, Options
from fairlead.service.api.settings import ApiSettings
from fairlead.service.settings import DAY, Limits, Retention, Settings
from tests.transcripts import ROOT

PAGE = (ROOT / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
GROUPS = ("options", "limits", "retention", "tenants")
NOT_CHOSEN = ("filling",)
IN_WORDS = {"reserve_for": (USUAL, {"ten times that"})}
"""Defaults that stand for something else."""
DEFAULTS = [
    (name, value)
    for made in (Settings(), Options(), Limits(), Retention(), ApiSettings())
    for name, value in ((each.name, getattr(made, each.name)) for each in fields(made))
    if name not in (*GROUPS, *NOT_CHOSEN)
]


def written(value: object) -> set[str]:
    """The ways in which a default may be written in a table."""
    if value is None:
        return {"off"}
    if isinstance(value, tuple):
        return {f"[{', '.join(value)}]"}
    if isinstance(value, bool):
        return {str(value).lower()}
    if isinstance(value, (int, float)):
        found = {f"{value:,}", f"{value:g}", f"{value:g}s"}
        for unit, size in (("s", MICROSECONDS), ("m", 60 * MICROSECONDS), ("d", DAY)):
            if value % size == 0:
                found.add(f"{int(value) // size}{unit}")
        return found
    return {str(value)}  # an empty cell for an empty text


@pytest.mark.parametrize(("name", "value"), DEFAULTS, ids=[name for name, _ in DEFAULTS])
def test_every_setting_is_documented_with_its_default(name: str, value: object) -> None:
    rows = re.findall(rf"^\| `{name}` \|([^|]+)\|", PAGE, re.MULTILINE)
    rows += re.findall(rf"^`{name}` \(([^)]+)\)", PAGE, re.MULTILINE)
    usual, words = IN_WORDS.get(name, (value, written(value)))
    assert value == usual
    assert {row.strip().strip("`") for row in rows} & words


def test_the_example_of_the_docs_is_read(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    path = tmp_path / "config.yaml"
    path.write_text(example[1], encoding="utf-8")
    settings = read_config(path).settings
    assert settings.limits == Limits(jobs_per_tenant=10_000)
    assert settings.retention == Retention(time=30 * DAY, jobs=50_000)
    assert settings.options == Options()
