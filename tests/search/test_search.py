"""Inputs of each kind of the search in every gate, always the same ones, and the search itself."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from fairlead.files import load
from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError, SolverError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.service.api.routes import jobs
from fairlead.sharing import allocate as sharing
from fairlead.sharing.certificate import check
from fairlead.sharing.certificate.check import verify
from tests.search import hunt, searches
from tests.search.__main__ import Turns
from tests.search.hunt import Question, sized
from tests.search.kinds import KINDS
from tests.search.real import REAL
from tests.search.searches import Turn
from tests.vopr.running import Failure

EACH = 1  # of a kind, times --cases
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


@pytest.mark.parametrize("kind", ["shares", "worlds", "sequences"])
def test_a_turn_looks_at_something_and_says_nothing_where_nothing_is_wrong(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SHARES", "WORLDS", "SEQUENCES"):
        monkeypatch.setattr(searches, name, 2)
    taken = Turn(kind, 11, 8, None, tmp_path).taken()
    assert (taken.number, taken.found) == (2, [])


def test_a_check_that_does_not_compare_what_a_proof_states_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "FORGED", 4)
    turn = Turn("forgeries", 1, 8, None, tmp_path)
    as_ever = turn.taken()
    assert as_ever.number > 40
    assert as_ever.found == []
    monkeypatch.setattr(check, "_same_tasks", lambda *_: None)
    found = turn.taken().found
    assert "a forged proof of" in found[0]
    assert "--again forgeries 1" in found[0]
    *_, given, proof = found[0].splitlines()[1].split()
    cluster, jobs = load(Path(given))
    assert verify(cluster, jobs, Path(proof).read_text(encoding="utf-8")).exact
    monkeypatch.undo()
    with pytest.raises(CertificateError):
        verify(cluster, jobs, Path(proof).read_text(encoding="utf-8"))


def test_what_a_turn_finds_is_told_with_how_to_take_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = Failure(7, "nothing is lost", "a task is gone")
    monkeypatch.setattr(searches, "run_world", lambda _plan: (failed, {}))
    monkeypatch.setattr(searches, "failure", lambda _case: "core takes it, reference too")
    monkeypatch.setattr(searches, "shrunk", lambda case: case)
    for name in ("WORLDS", "SEQUENCES"):
        monkeypatch.setattr(searches, name, 2)
    for kind in ("worlds", "sequences"):
        found = Turn(kind, 7, 8, None, tmp_path).taken().found
        assert found[0].startswith(f"FOUND by {kind}: seed 7: ")
        assert f"--again {kind} 7" in found[0]


def test_what_a_program_that_kills_says_is_wrong_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "killer.py"
    program.write_text('print(\'{"wrong": ["task 1.0 began 2 times"]}\')', encoding="utf-8")
    monkeypatch.setattr(searches, "PROGRAMS", ("killer",))
    monkeypatch.setattr(searches, "ROOT", tmp_path)
    (found,) = Turn("kills", 3, 8, None, tmp_path).taken().found
    assert "task 1.0 began 2 times" in found
    assert "--again kills 3" in found


def test_the_searches_take_turns_and_a_seed_decides_what_each_gets() -> None:
    """Each has as much time as the others, and the same seeds however long turns take."""

    def drawn(seconds: dict[str, float]) -> dict[str, list[int]]:
        turns, found = Turns(5, list(seconds)), {kind: list[int]() for kind in seconds}
        for _ in range(60):
            kind, seed = turns.next()
            found[kind].append(seed)
            turns.over(kind, seconds[kind])
        return found

    quick, slow = drawn({"shares": 1, "kills": 1}), drawn({"shares": 1, "kills": 9})
    assert len(quick["shares"]) == 30
    assert len(slow["shares"]) == 54
    for kind in quick:
        least = min(len(quick[kind]), len(slow[kind]))
        assert quick[kind][:least] == slow[kind][:least]


def test_hostile_requests_are_answered_and_an_answer_that_is_wrong_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "FUZZED", 120)
    turn = Turn("fuzz", 6, 8, None, tmp_path)
    assert turn.taken().found == []

    def fails(*_: object) -> int:
        raise RuntimeError("nobody thought of that")

    monkeypatch.setattr(jobs, "page", fails)
    found = turn.taken().found
    assert found
    assert all("list_jobs" in each and "--again fuzz 6" in each for each in found)
