"""The benchmark runner: fresh processes, limits, failures, the table and the documented JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import psutil
import pytest

from benchmarks import run, showing
from benchmarks.cases import Call, Case, Options, Row, Side, Target
from benchmarks.measuring import measure
from tests.zygote.forked import finished

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = "tests.benchmarks.test_runner"
PROGRAMS = "tests.benchmarks.programs"
SIZE = {"tenants": 2}


def call(numbers: Sequence[float], seconds: float = 0.0) -> Call:
    return Call("program", f"{PROGRAMS}:gives", {"numbers": numbers, "seconds": seconds})


def test_a_row_compares_times_and_numbers() -> None:
    case = Case("row", SIZE, call([1.0, 2.0]), call([1.0, 2.2], 0.3), Target(ratio=2.0))
    row = measure(case, repeat=1, limit=60)
    assert row.baseline is not None
    assert row.baseline.seconds[0] >= 0.3
    assert row.ratio == row.baseline.seconds[0] / row.ours.seconds[0]
    assert row.difference == pytest.approx(0.2 / 2.2)
    assert row.met
    assert row.ours.peak_memory > 1e6
    assert "results differ by 9.1e-02" in showing.cells(row)[-1]


def test_a_program_is_stopped_at_the_limit_and_its_time_is_a_lower_bound() -> None:
    case = Case("slow", SIZE, call([1.0]), call([1.0], 60.0), Target(ratio=2.0))
    row = measure(case, repeat=2, limit=0.5)
    assert row.baseline is not None
    assert row.baseline.limit_reached
    assert row.baseline.seconds == (0.5,)
    assert row.difference is None
    assert row.met
    assert showing.cells(row)[4].startswith(">")


def test_a_program_ends_with_a_runner_that_is_killed() -> None:
    words = (
        "from benchmarks.measuring import measure; from benchmarks.cases import Case;"
        f" from {HERE} import SIZE, call; measure(Case('slow', SIZE, call([1.0], 900.0)), 1, 900)"
    )
    runner = psutil.Popen([sys.executable, "-c", words], cwd=ROOT)
    while not (children := runner.children()):
        time.sleep(0.05)
    runner.kill()
    runner.wait()
    _, alive = psutil.wait_procs(children, timeout=120)
    assert alive == []


def test_a_failure_is_shown_in_its_row() -> None:
    row = measure(Case("bad", SIZE, call([1.0]), Call("bad", f"{PROGRAMS}:fails")), 1, 60)
    assert row.baseline is not None
    assert row.baseline.error == "RuntimeError: no optimum"
    assert row.ratio is None
    assert "bad: RuntimeError: no optimum" in showing.cells(row)[-1]


def rows() -> list[Row]:
    """Rows of every kind: met, a lower bound, different numbers, failed, without a baseline."""
    ours = Side("fill", (0.1, 0.3, 0.2), 10**8)
    slow = Side("plain", (600.0,), 2 * 10**8, limit_reached=True)
    case = Case("a/b", SIZE, Call("fill", ""), Call("plain", ""), Target(ratio=5.0))
    alone = Case("alone", SIZE, Call("fill", ""), None, Target(seconds=0.1))
    return [
        Row(case, ours, slow, None),
        Row(case, ours, Side("plain", (2.0,), 10**8), float("inf")),
        Row(case, ours, Side("plain", (2.0,), 10**8), 1e-12),
        Row(case, ours, Side("plain", error="RuntimeError: no"), None),
        Row(alone, ours, None, None),
    ]


def test_json_follows_the_schema_and_can_be_shown_again() -> None:
    document = showing.document(
        "solver",
        rows(),
        seed=1,
        quick=False,
        limit=600.0,
        threads=None,
        measured_on=showing.machine(),
    )
    written = json.loads(json.dumps(document))
    schema = json.loads((ROOT / "benchmarks" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(written, schema)
    again = showing.rows_of(written)
    assert [showing.cells(row) for row in again] == [showing.cells(row) for row in rows()]
    assert showing.markdown(again).count("\n") == len(again) + 1


def test_the_median_of_an_even_number_of_times_is_one_of_them() -> None:
    assert Side("fill", (3.0, 1.0, 2.0, 4.0)).median == 2.0


@pytest.mark.parametrize("name", run.names())
@pytest.mark.parametrize("quick", [False, True])
def test_every_benchmark_lists_cases_with_names_of_their_own(name: str, quick: bool) -> None:
    cases = run.suite(name, Options(quick=quick))
    assert cases
    assert len({case.name for case in cases}) == len(cases)


@pytest.mark.parametrize("name", run.names())
def test_every_benchmark_is_in_the_reference(name: str) -> None:
    reference = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"## `{name}`" in reference


def test_a_benchmark_runs_as_a_command() -> None:
    arguments = "flow --quick --repeat 1 --json --only max-flow/local"
    done = finished(["benchmarks/run.py", *arguments.split()], ROOT, os.environ)
    assert done.stderr == ""
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["rows"]] == ["max-flow/local"]
    assert found["rows"][0]["difference"] <= showing.AGREE


def test_a_case_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["flow", "--only", "nothing"]) == run.WRONG_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("benchmarks: no case is called nothing; there are max-flow/")


def test_a_missing_library_is_named_with_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "find_spec", lambda _: None)
    assert run.main(["solver", "--only", "water-filling"]) == run.WRONG_INPUT
    assert capsys.readouterr().err == (
        "benchmarks: cvxpy must be installed for the baselines: "
        "python -m pip install -r requirements/benchmarks.txt\n"
    )
