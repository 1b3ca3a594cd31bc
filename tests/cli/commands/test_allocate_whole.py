"""`fairlead allocate` with whole tasks: the JSON, the draw, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from tests.cli.commands.test_allocate import run, schema
from tests.transcripts import EXAMPLES

FIGURE_3 = """\
machines:
  - {name: m1, capacity: {cpu: 4, memory: 6}}
  - {name: m2, capacity: {cpu: 4, memory: 4}}
jobs:
  - {name: a, demand: {cpu: 1, memory: 3}}
  - {name: b, demand: {cpu: 2, memory: 1}}
"""


@pytest.fixture
def figure_3(tmp_path: Path) -> str:
    """The paper's Figure 3 as a file."""
    (tmp_path / "figure-3.yaml").write_text(FIGURE_3, encoding="utf-8")
    return str(tmp_path / "figure-3.yaml")


def test_the_lottery_is_in_the_json_with_exact_probabilities(
    figure_3: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--policy", "cdrf-lottery", "--draw", "--seed", "7")
    tree = json.loads(run(capsys, "allocate", figure_3, "--json", *words))
    schema("allocation-1.json").validate(tree)
    assert tree["tasks"] == "whole"
    assert [{key: one[key] for key in ("probability", "jobs")} for one in tree["lottery"]] == [
        {"probability": "5/7", "jobs": {"a": 2, "b": 2}},
        {"probability": "2/7", "jobs": {"a": 1, "b": 3}},
    ]
    assert tree["drawn"] == {"allocation": 0, "seed": 7}
    drawn = run(capsys, "allocate", figure_3, *words)
    assert "5/7  a 2 and b 2  drawn by seed 7" in drawn


@pytest.mark.parametrize("policy", ["tsf", "drf", "market", "cmmf(cpu)"])
@pytest.mark.parametrize("example", ["tsf-figure-4", "gpu-generations", "tenant-tree", "pools"])
def test_rounded_tasks_are_integers_and_keep_to_the_schema(
    example: str, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--tasks", "whole", "--json", "--policy", policy)
    tree = json.loads(run(capsys, "allocate", str(EXAMPLES / example), *words))
    schema("allocation-1.json").validate(tree)
    assert tree["tasks"] == "whole"
    assert all(isinstance(job["tasks"], int) for job in tree["jobs"])
    assert [each["tenant"] for each in tree["distances"]] == [t["name"] for t in tree["tenants"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--policy", "cdrf-lotery"], "no policy `cdrf-lotery`; did you mean `cdrf-lottery`?"),
        (["--policy", "cdrf-lottery", "--seed", "3"], "--seed is what --draw draws by; add --draw"),
        (["--policy", "cdrf-lottery", "--draw", "--seed", "-1"], "the seed -1 is below 0"),
        (["--policy", "gim-cdrf(seed=-1)"], "the seed -1 is below 0; write 0 or more"),
        (["--policy", "gim-cdrf", "--draw"], "gim-cdrf has no lottery to draw from"),
        (["--policy", "serial-dictatorship(order=1)"], "has no parameter for `order`"),
    ],
)
def test_what_is_meant_otherwise_is_refused(
    words: list[str], says: str, figure_3: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["allocate", figure_3, *words]) == Exit.BAD_INPUT
    out, error = capsys.readouterr()
    assert out == ""
    assert says in error


def test_a_command_that_shares_no_whole_tasks_says_so(
    figure_3: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "a", figure_3, "--policy", "cdrf-lottery"]) == Exit.BAD_INPUT
    assert "is a mechanism for whole tasks, which this cannot use" in capsys.readouterr().err


def test_parts_that_are_no_pieces_are_refused_with_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(
        "machines: [{name: m, capacity: {gpu: 4}}]\ndevices: [gpu]\n"
        "jobs:\n  - {name: j, demand: {gpu: 1.5}, tasks: 2}\n"
    )
    assert main(["allocate", str(file), "--tasks", "whole"]) == Exit.BAD_INPUT
    assert capsys.readouterr().err == (
        f'error: {file}:4:29: job "j", demand, gpu: a task asks for 1.5, and gpu comes in pieces;'
        " a task takes a part of one, or whole ones\n"
    )
