"""Five hundred inputs of the search in every gate, always the same ones, and the search itself."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from fairlead.files import load
from fairlead.model.allocation import Allocation
from fairlead.model.errors import SolverError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing import allocate as sharing
from tests.search import hunt
from tests.search.hunt import Question, sized
from tests.search.kinds import KINDS
from tests.search.real import REAL

EACH = 42  # of a kind, times --cases
LARGEST = 150  # jobs


def question(kind: str, number: int, data: Path | None) -> Question:
    random = Random(f"{kind} {number}")
    return Question(kind, sized(random, LARGEST), number, data)


@pytest.mark.parametrize("kind", [*KINDS, *REAL])
def test_nothing_is_refused_and_nothing_is_wrong(
    kind: str, cases: int, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue("data_dir") if kind in REAL else None
    for number in range(EACH * cases):
        asked = question(kind, number, data)
        found, policy = asked.asked()
        assert found is None, f"{asked}, policy {policy}: {found}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_question_is_the_same_input(kind: str) -> None:
    (first, policy, _), (second, again, _) = (question(kind, 3, None).drawn() for _ in range(2))
    assert (first, policy) == (second, again)


def test_what_is_found_is_told_with_a_small_file_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An allocation that fails wherever a job needs a GPU."""
    as_ever = sharing.allocate

    def fails(cluster: Cluster, jobs: Sequence[Job], policy: str) -> Allocation:
        if any(job.demand.get("gpu") for job in jobs):
            raise SolverError("no solver likes GPUs")
        return as_ever(cluster, jobs, policy)

    monkeypatch.setattr(sharing, "allocate", fails)
    asked = next(
        each
        for each in (Question("few_classes", 40, seed) for seed in range(100))
        if any(job.demand.get("gpu") for job in each.drawn()[0][1])
    )
    found, policy = asked.asked()
    assert found is not None
    sentence = hunt.told(asked, found, policy, tmp_path)
    assert "seed" in sentence
    assert "SolverError: no solver likes GPUs" in sentence
    (file,) = tmp_path.iterdir()
    assert str(file) in sentence
    cluster, jobs = load(file)
    assert len(jobs) == 1
    assert jobs[0].demand["gpu"] > 0
    assert len(cluster.machines) == 1


def test_a_wrong_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share that is off by one part in 10^30 is wrong."""
    as_ever = sharing.allocate

    def wrong(cluster: Cluster, jobs: Sequence[Job], policy: str) -> Allocation:
        answer = as_ever(cluster, jobs, policy)
        name = max(answer.unrounded.tasks, key=lambda each: answer.unrounded.tasks[each])
        tasks = dict(answer.unrounded.tasks)
        tasks[name] *= 1 + Fraction(1, 10**30)
        object.__setattr__(answer.unrounded, "tasks", tasks)
        return answer

    monkeypatch.setattr(sharing, "allocate", wrong)
    found, _ = Question("magnitudes", 5, 1).asked()
    assert found is not None
    assert found.what == "wrong"
