"""The gate itself: what it runs for which words, and what it says of steps that grew."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.check import PARTS, ROOT, arguments, chosen_steps, places, steps
from scripts.times import LAST, grown

LEFT_OUT = Path("left-out")


def names(*words: str) -> list[str]:
    return [step.name for step in chosen_steps(*arguments(list(words)), LEFT_OUT)]


def test_all_steps_are_run_where_none_is_named_and_tests_are_one_pool() -> None:
    everything = ["format", "lint", "imports", "types", "kernels", "live+docs+tests"]
    assert names() == names("fast") == everything
    assert [step.name for step in steps() if step.needs] == ["live+docs+tests"]


def test_newer_versions_of_slurm_are_run_where_they_are_asked_for() -> None:
    assert names("--all") == [*names(), "versions"]
    assert names("lint", "--all") == ["lint", "versions"]


@pytest.mark.parametrize(
    ("words", "marked"),
    [
        ([], "-m=not deep"),
        (["fast"], "-m=not deep and not slow"),
        (["fast", "--all"], "-m=not slow"),
    ],
)
def test_what_is_deep_is_left_to_who_asks_for_all(words: list[str], marked: str) -> None:
    assert marked in chosen_steps(*arguments(words), LEFT_OUT)[5].command
    everything = chosen_steps(*arguments(["--all"]), LEFT_OUT)[5].command
    assert not any(word.startswith("-m=") for word in everything)


def test_tests_find_the_core_compiled() -> None:
    assert names("docs") == ["kernels", "docs"]
    assert names("lint", "types") == ["lint", "types"]


def test_the_parts_of_the_tests_are_all_tests_and_each_once() -> None:
    assert places(tuple(PARTS)) == ["tests"]
    apart = [path for part in ("live", "docs") for path in places((part,))]
    assert places(("tests",)) == ["tests", *(f"--ignore={path}" for path in apart)]
    assert [path for path in apart if not (ROOT / path).exists()] == []


def test_words_for_pytest_reach_it() -> None:
    step = chosen_steps(*arguments(["docs", "--cases", "3", "--", "-k", "market"]), LEFT_OUT)[-1]
    assert "--cases=3" in step.command
    assert step.command[step.command.index("-k") + 1] == "market"


def test_a_step_that_grew_by_half_is_told_with_a_sentence(tmp_path: Path) -> None:
    kept = tmp_path / "build" / "times.json"
    assert grown({"tests": 100.0, "lint": 1.0}, kept) == []  # nothing was known
    assert grown({"tests": 140.0, "lint": 4.0}, kept) == []  # not by half; by nothing to speak of
    (said,) = grown({"tests": 220.0}, kept)
    assert said.startswith(
        "tests took 220 s of processor time, and at most 140 s in the last 2 runs"
    )


def test_what_a_step_takes_now_is_what_it_is_measured_by_later(tmp_path: Path) -> None:
    kept = tmp_path / "times.json"
    grown({"tests": 500.0}, kept)
    for _ in range(LAST):
        assert grown({"tests": 100.0}, kept) == []
    assert len(grown({"tests": 160.0}, kept)) == 1


def test_times_that_cannot_be_read_are_begun_anew(tmp_path: Path) -> None:
    kept = tmp_path / "times.json"
    kept.write_text("{half", encoding="utf-8")
    assert grown({"tests": 100.0}, kept) == []
    assert len(grown({"tests": 200.0}, kept)) == 1
