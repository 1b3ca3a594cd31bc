"""`fairlead simulate --ideal`: an ideal scheduler on the same workload, beside the core's runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from fairlead.cli.commands import simulate
from fairlead.model.errors import InputError
from fairlead.simulation.report.reading import read_folder


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    simulate.configure(parser)
    return simulate.run(parser.parse_args(list(words)))


def test_an_ideal_run_is_kept_under_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "study"
    words = ("table-ii(vary=0)", "--workers", "1", "--out", str(out), "--sample", "10s", "--json")
    assert run(*words, "--ideal", "restricted") == 0
    assert run(*words, "--ideal", "preemption") == 0
    second = "{" + capsys.readouterr().out.rpartition("\n{")[2]
    (last,) = json.loads(second)["runs"]
    assert last["placement"] == "ideal-preemption"
    assert last["placed"] == last["tasks"] == 1350
    runs = read_folder(out).runs
    assert [r.placement for r in runs] == ["ideal-preemption", "ideal-restricted"]
    tables = {r.placement: sorted(file.stem for file in r.folder.glob("*.parquet")) for r in runs}
    assert tables["ideal-restricted"] == ["jobs", "shares", "tasks", "utilisation"]
    assert tables["ideal-preemption"] == ["jobs", "shares", "utilisation"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--ideal", "perfect"), "there are restricted, migration, preemption, periodic"),
        (("--ideal", "periodic", "--until", "5m"), "leave --until out"),
        (("--ideal", "periodic", "--reserve-after", "5m"), "leave --reserve-after out"),
        (("--ideal", "periodic", "--policy", "fifo", "--workers", "1"), "`fifo` knows no shares"),
        (("--ideal", "migration", "--workers", "1"), "differ in size"),
    ],
)
def test_what_an_ideal_scheduler_cannot_do_is_refused(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=sentence):
        run("table-ii", *words)
    assert capsys.readouterr().out == ""
