"""`audit --live` and `whatif --live` against a real service."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.main import Exit
from tests.cli.live.place import Terminal, names, until

CLUSTER = """\
machines:
  - {name: "a[1-2]", capacity: {cpu: 4, memory: 1GiB}}
tenants:
  - {name: vision}
  - {name: sales}
"""

TRAIN = "jobs: [{name: train, tenant: vision, demand: {cpu: 1}, tasks: 12, command: sleep 1000}]"
REPORT = "jobs: [{name: report, tenant: sales, demand: {cpu: 2}, tasks: 4, command: sleep 1000}]"


@pytest.fixture(scope="module")
def cluster() -> str:
    """Two machines, so that one tenant fills both."""
    return CLUSTER


def crowd(shell: Terminal, folder: Path) -> None:
    """vision has everything, and then sales comes."""
    (folder / "train.yaml").write_text(TRAIN, encoding="utf-8")
    (folder / "report.yaml").write_text(REPORT, encoding="utf-8")
    shell.good("submit", "train.yaml")
    until(lambda: shell.json("job", "train")["state"] == "running")
    shell.good("submit", "report.yaml")
    until(lambda: bool(shell.json("audit", "--live")["shortfalls"]))


def test_who_is_short_and_why(shell: Terminal, tmp_path: Path) -> None:
    crowd(shell, tmp_path)
    found = shell.json("audit", "--live")
    assert found["schema"] == "fairlead.live-audit/1"
    (short,) = found["shortfalls"]
    assert (short["tenant"], short["job"], short["tasks"]) == ("sales", "report", 2)
    assert (short["cause"], short["counts"]) == ("held", {"vision": 4})  # of its 8
    text = shell.good("audit", "--live")
    assert "sales" in text
    assert "tasks beyond what is guaranteed run: 4 of vision" in " ".join(text.split())
    assert shell("audit", "--live", "--strict")[0] == Exit.REFUTED


def test_a_tenant_is_explained_with_its_past(shell: Terminal, tmp_path: Path) -> None:
    crowd(shell, tmp_path)
    found = shell.json("explain", "sales", "--live")
    assert found["schema"] == "fairlead.tenant-live/1"
    assert found["tenant"]["name"] == "sales"
    assert names(found["jobs"]) == ["report"]
    assert [each["job"] for each in found["why"]] == ["report"]
    assert any("sales" in sentence for sentence in found["audit"])
    assert [each["name"] for each in found["history"]["tenants"]] == ["sales"]
    text = shell.good("explain", "sales", "--live")
    assert text.startswith("sales runs 0 tasks, 4 wait. Its share is 0, its fair share ")
    assert "report: too little cpu is free on all 2 machines" in " ".join(text.split())
    assert "The last day" in text


def test_who_asks_so_for_a_job_is_led_to_why(shell: Terminal, tmp_path: Path) -> None:
    (tmp_path / "train.yaml").write_text(TRAIN, encoding="utf-8")
    shell.good("submit", "train.yaml")
    said = shell.refused("explain", "train", "--live")
    assert "`train` is a job, and --live explains tenants; `fairlead why train` explains" in said
    assert "`fairlead explain vision --live` its tenant" in said
    shell.good("cancel", "train")
    until(lambda: shell.json("job", "train")["ended"])
    shell.good("forget", "train")
    shell.good("submit", "--name", "own one", "--wait", "--", "true")
    said = shell.refused("explain", "own one", "--live")
    assert said.endswith("; `fairlead why 'own one'` explains a job\n")
    assert "explain no-such" in shell.refused("explain", "no-such")
    assert "`fairlead why no-such` explains a job" in shell.refused("explain", "no-such")


def test_nobody_is_short(shell: Terminal, tmp_path: Path) -> None:
    (tmp_path / "train.yaml").write_text(TRAIN, encoding="utf-8")
    shell.good("submit", "train.yaml")
    until(lambda: shell.json("audit", "--live")["exact"] is not None)
    until(lambda: shell.json("audit", "--live")["behind"] is None)
    text = shell.good("audit", "--live", "--strict")
    assert text.endswith(
        "Everybody has what the exact allocation of the present demand guarantees.\n"
    )


def test_what_if_of_what_is_present(shell: Terminal, tmp_path: Path) -> None:
    crowd(shell, tmp_path)
    found = shell.json("whatif", "--live", "--add", "1 x a1", "--weight", "vision=3")
    assert found["schema"] == "fairlead.live-whatif/1"
    assert found["whatif"]["schema"] == "fairlead.whatif/1"
    assert {row["job"] for row in found["whatif"]["jobs"]} == {"train", "report"}
    text = shell.good("whatif", "--live", "--remove", "a2")
    assert "report" in text
    assert "loses" in text


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("audit", "--live", "file.yaml"), "--live takes no file"),
        (("audit", "file.yaml", "--url", "http://a:1"), "without --live none is asked; add --live"),
        (("explain", "a", "file.yaml", "--url", "x"), "without --live none is asked; add --live"),
        (("whatif", "file.yaml", "--url", ""), "without --live none is asked; add --live"),
        (("explain", "sales", "file.yaml", "--live"), "--live takes no file"),
        (("explain", "sale", "--live"), "sales"),
        (("whatif", "--live"), "nothing is changed"),
        (("whatif", "--live", "--to", "x.yaml", "--add", "1 x a1"), "--to has no effect"),
        (("whatif", "--live", "--add", "1 x a1", "--policy", "drf"), "--policy has no effect"),
        (("explain", "sales", "--live", "--policy", "drf"), "--policy has no effect"),
        (("audit", "--live", "--trials", "3"), "--trials has no effect"),
        (("whatif", "file.yaml", "--live", "--add", "1 x a1"), "--live takes no file"),
        (("whatif", "--add", "1 x a1"), "no file is given"),
        (("whatif", "--live", "--add", "1 x nothing"), "nothing"),
        (  # the text and its caret stand below the sentence
            ("whatif", "--live", "--remove", "nothing[1-"),
            "a range is missing; write a[01-25]\n    nothing[1-\n              ^\n",
        ),
    ],
)
def test_what_cannot_be_asked(
    shell: Terminal, tmp_path: Path, words: tuple[str, ...], what: str
) -> None:
    if "nothing" in words[-1]:
        crowd(shell, tmp_path)
    assert what in shell.refused(*words)
