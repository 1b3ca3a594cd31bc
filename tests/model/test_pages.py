"""The pages of the reference about the input: every example is read, every key is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.model.constraint import Operator
from fairlead.model.errors import InputError
from fairlead.model.fields import JOB, MACHINE, SECTIONS, TENANT, Kind
from fairlead.model.quantity import UNITS, exact
from fairlead.model.reading import read
from fairlead.model.times import SECONDS
from tests.transcripts import blocks

REFERENCE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference"
PAGES = {name: (REFERENCE / name).read_text("utf-8") for name in ("input.md", "constraints.md")}

EXAMPLES = [
    pytest.param("\n".join(block.lines), block.file is not None, id=f"{name}:{block.first}")
    for name, text in PAGES.items()
    for block in blocks(text)
    if block.kind == "yaml"
]


@pytest.mark.parametrize(("text", "mistaken"), EXAMPLES)
def test_every_example_is_read_or_refused_as_the_page_says(text: str, mistaken: bool) -> None:
    if mistaken:
        with pytest.raises(InputError):
            read([("f.yaml", text)])
    else:
        assert read([("f.yaml", text)])[0].machines


@pytest.mark.parametrize("kind", [MACHINE, TENANT, JOB], ids=lambda kind: kind.word)
def test_every_key_is_explained(kind: Kind) -> None:
    rows = [line for line in PAGES["input.md"].splitlines() if line.startswith("| `")]
    assert [
        key for key in kind.fields if not any(row.startswith(f"| `{key}`") for row in rows)
    ] == []


def test_every_section_unit_and_operator_is_explained() -> None:
    written = [*SECTIONS, *filter(None, UNITS), *SECONDS]
    assert [word for word in written if f"`{word}`" not in PAGES["input.md"]] == []
    operators = [each.value for each in Operator if each is not Operator.EXISTS]
    assert [each for each in operators if each not in PAGES["constraints.md"]] == []


def test_units_are_worth_what_the_page_says() -> None:
    assert [exact(f"1{unit}") for unit in "kMGTP"] == [10**n for n in (3, 6, 9, 12, 15)]
    assert [exact(f"1{unit}i") for unit in "KMGTP"] == [2**n for n in (10, 20, 30, 40, 50)]
