"""`fairlead compare`: who gains, who loses, who is refused."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.cli.text.comparison import format_change, verdict
from fairlead.model.unrounded import change, compared
from tests.cli.commands.test_allocate import run, schema
from tests.transcripts import EXAMPLES

CHOOSY = str(EXAMPLES / "choosy-figure-1")
GENERATIONS = str(EXAMPLES / "gpu-generations")


def test_commas_in_brackets_do_not_part_policies(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "compare", GENERATIONS, "--policies", "kdf(k=2, gpu=2), tsf,drfh")
    assert "the change against kdf(k=2, gpu=2)" in out
    assert out.splitlines()[2].split() == ["job", "tenant", "kdf(k=2,", "gpu=2)", "tsf", "drfh"]


def test_a_list_with_the_same_mistake_twice_says_it_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", GENERATIONS, "--policies", "tsf,,"]) == Exit.BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("a policy has no name; write a name such as tsf") == 1


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
    [
        ("1", "1", "="),
        ("1", "1.0000000001", "+1e-08%"),
        ("1", "0.9999999999", "-1e-08%"),
        ("4", "5", "+25%"),
        ("4", "3", "-25%"),
        ("0", "1", "new"),
        ("0", "0", "="),
    ],
)
def test_a_change_is_one_however_small(before: str, after: str, shown: str) -> None:
    assert format_change(change(Fraction(before), Fraction(after))) == shown


def test_a_change_that_no_double_can_say_is_none_the_less_one() -> None:
    tiny = Fraction(1, 10**400)
    assert format_change(change(Fraction(1), 1 - tiny)).startswith("-")
    assert compared(Fraction(1), 1 + tiny) == 1


def test_what_a_market_computes_in_doubles_is_compared_to_its_bound() -> None:
    within = Fraction(1, 10**6)
    assert change(Fraction(1), Fraction("1.0000001"), within) == 0
    assert change(Fraction(1), Fraction("1.00001"), within) == pytest.approx(1e-5)


SEVENTHS = """
machines: [{name: m, capacity: {cpu: 1, gpu: 1}}]
jobs:
  - {name: a, demand: {cpu: 0.7, gpu: 0.3}}
  - {name: b, demand: {cpu: 0.3, gpu: 0.7}}
"""


def test_policies_that_come_to_the_same_by_other_sums_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sevenths.yaml"
    file.write_text(SEVENTHS, encoding="utf-8")
    out = run(capsys, "compare", str(file), "--policies", "tsf,drfh,cdrf,drf")
    assert out.count("every job runs as many tasks") == 3


TINY = """
machines: [{name: m, capacity: {cpu: 1}}, {name: n, capacity: {cpu: 0.0000000001}}]
jobs: [{name: a, demand: {cpu: 1}}, {name: b, demand: {cpu: 1}, machines: [m]}]
"""


def test_a_policy_that_gives_a_ten_billionth_less_gives_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # b may not use the second machine: under tsf it counts for it all the same.
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY, encoding="utf-8")
    out = run(capsys, "compare", str(file), "--policies", "tsf,cdrf")
    assert "1 job gains (a +" in out
    assert "1 job loses (b -" in out


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"a": 0.0, "b": 0.0}, "p: every job runs as many tasks."),
        ({"a": 1.0}, "p: 1 job gains (a +100%)."),
        ({"a": 1.0, "b": None}, "p: 2 jobs gain (b new and a +100%)."),
        (
            {"a": 0.0, "b": -0.5, "c": 1.0},
            "p: 1 job gains (c +100%), 1 job loses (b -50%) and 1 job runs as many tasks.",
        ),
    ],
)
def test_the_verdict_is_a_sentence(changes: dict[str, float | None], sentence: str) -> None:
    assert verdict("p", changes) == sentence
