"""`fairlead compare`: who gains, who loses, who is refused."""

from __future__ import annotations

import csv
import io
import json

import pytest

from fairlead.cli.compare import change, signed, verdict
from fairlead.cli.main import Exit, main
from tests.cli.test_allocate import run, schema
from tests.transcripts import EXAMPLES

CHOOSY = str(EXAMPLES / "choosy-figure-1")
GENERATIONS = str(EXAMPLES / "gpu-generations")


def test_commas_in_brackets_do_not_part_policies(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "compare", GENERATIONS, "--policies", "kdf(k=2, gpu=2), tsf,drfh")
    assert "the change against kdf(k=2, gpu=2)" in out
    assert out.splitlines()[2].split() == ["job", "tenant", "kdf(k=2,", "gpu=2)", "tsf", "drfh"]


def test_gains_and_losses_are_against_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compare", CHOOSY, "--policies", "cmmf(slot),independent")
    out = run(capsys, *words)
    assert "independent: 1 job gains (c4 +25%) and 3 jobs lose (c2 -44.4%, c1 -11.1% and c3" in out
    rows = list(csv.DictReader(io.StringIO(run(capsys, *words, "--csv"))))
    gains = {row["job"]: float(row["change"]) for row in rows if row["policy"] == "independent"}
    assert gains == pytest.approx({"c1": -1 / 9, "c2": -4 / 9, "c3": -1 / 18, "c4": 1 / 4})


def test_a_policy_that_cannot_be_applied_does_not_sink_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("compare", str(EXAMPLES / "tenant-tree"), "--policies", "tsf,cmmf(gpu),drfh")
    out = run(capsys, *words)
    assert "cmmf(gpu) cannot be applied: " in out
    assert "drfh: " in out
    tree = json.loads(run(capsys, *words, "--json"))
    schema("comparison-1.json").validate(tree)
    assert [bool(policy["refused"]) for policy in tree["policies"]] == [False, True, False]
    assert {job["tasks"] for job in tree["jobs"] if job["policy"] == "cmmf(gpu)"} == {None}


def test_the_first_policy_must_be_applicable(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", str(EXAMPLES / "tenant-tree"), "--policies", "cmmf(gpu),tsf"]
    assert main(words) == Exit.BAD_INPUT
    assert "no machine has any `gpu`" in capsys.readouterr().err


def test_json_keeps_to_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compare", GENERATIONS, "--json", "--policies", "tsf,drf,market,slots(gpu=1)")
    schema("comparison-1.json").validate(json.loads(run(capsys, *words)))


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [(1, 1, "="), (1, 1 + 1e-12, "="), (4, 5, "+25%"), (4, 3, "-25%"), (0, 1, "new"), (0, 0, "=")],
)
def test_noise_is_no_change(before: float, after: float, shown: str) -> None:
    assert signed(change(before, after)) == shown


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, "p: every job runs as many tasks."),
        ({"a": 1}, {"a": 2}, "p: 1 job gains (a +100%)."),
        ({"a": 1, "b": 0}, {"a": 2, "b": 1}, "p: 2 jobs gain (b new and a +100%)."),
        (
            {"a": 1, "b": 2, "c": 3},
            {"a": 1, "b": 1, "c": 6},
            "p: 1 job gains (c +100%), 1 job loses (b -50%) and 1 job runs as many tasks.",
        ),
    ],
)
def test_the_verdict_is_a_sentence(
    before: dict[str, float], after: dict[str, float], sentence: str
) -> None:
    assert verdict("p", before, after) == sentence
