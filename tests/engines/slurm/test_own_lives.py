"""Users' own jobs over the model of Slurm, with faults, what that catches, and the model beside the
real one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt
from fairlead.engines.slurm.budget import Budget
from fairlead.engines.slurm.placing.adopted import Adopted
from fairlead.engines.slurm.placing.controller import Commands, Controller
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from tests.cli.live.place import until
from tests.engines.slurm.bed import SlurmBed, assign, fixture_bed
from tests.engines.slurm.lives import lived
from tests.engines.slurm.model import CPUS, SlurmModel
from tests.engines.slurm.own_lives import live

__all__ = ["fixture_bed"]

pytestmark = pytest.mark.slow

SEEDS = 1, 5
"""Two lives that meet together all that is to be met; `--cases` draws four for each."""


def test_users_jobs_start_in_their_turn_once_and_all_end_whatever_fails(cases: int) -> None:
    seeds = SEEDS if cases == 1 else range(4 * cases)
    assert lived(live, seeds).keys() >= {
        *("slurmctld is killed", "a node fails", "the service is killed"),
        *("somebody says hold", "somebody says release", "somebody says cancel"),
        *("somebody says give back", "change fails half killed"),
    }


def _do_not_hold_what_runs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("fairlead.engines.slurm.placing.adopted._is_to_be_held", lambda _: False)


def _put_nothing_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Adopted, "_put_back", lambda *_: [])


def _forget_what_was_launched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Adopted, "expect", lambda self, _, picture: self.look(picture))


def _take_what_is_released_for_placed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("fairlead.engines.slurm.placing.marks.MARK", re.compile("(?!)"))


BUGS: tuple[tuple[Callable[[pytest.MonkeyPatch], None], int], ...] = (
    (_do_not_hold_what_runs, 83),
    (_put_nothing_back, 1),
    (_take_what_is_released_for_placed, 0),
    (_forget_what_was_launched, 43),
)
"""Each with a life in which it shows."""


@pytest.mark.parametrize(("plant", "seed"), BUGS)
def test_a_planted_bug_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert live(seed, whole=False)[0]


@dataclass
class Hands:
    """How a user submits, and an administrator gives back, on a cluster with these two nodes."""

    slurm: Controller
    submit: Callable[[int], int]  # with so many elements
    give_back: Callable[[int], object]
    wait: Callable[[Callable[[], bool]], None]
    nodes: tuple[str, str]


def story(hands: Hands) -> list[tuple[object, ...]]:
    """What is seen of a user's jobs as they are released, held, and given back."""
    one, two = hands.nodes
    names = {one: "one", two: "two", "": ""}

    def seen(number: int, element: str = "") -> tuple[object, ...]:
        for job in hands.slurm.read().jobs:
            if (job.array or job.number) == number and job.element == element:
                where = names[job.required], names[job.node_list]
                held = job.priority == 0, "Held" in job.reason
                return job.state, *held, *where, job.restarts, job.remark, job.elements
        return ()

    found = []
    number = hands.submit(0)
    found.append(seen(number))
    hands.slurm.change([f"hold {number}"])
    found.append(seen(number))
    hands.slurm.change([f"uhold {number}", f"update JobId={number} ReqNodeList={one}"])
    found.append(seen(number))
    mark = "AdminComment=fairlead:0:asked=;before"
    hands.slurm.change([f"update JobId={number} ReqNodeList={two} {mark}", f"release {number}"])
    hands.wait(lambda: seen(number)[0] == "RUNNING")
    found.append(seen(number))
    hands.slurm.change([f"uhold {number}"])
    hands.give_back(number)
    hands.wait(lambda: seen(number)[0] == "PENDING")
    found.append(seen(number))
    again = f"update JobId={number} ReqNodeList={one} AdminComment= StartTime=now"
    hands.slurm.change([again, f"release {number}"])
    hands.wait(lambda: seen(number)[0] == "RUNNING")
    found.append(seen(number))
    hands.slurm.cancel((number,))
    array = hands.submit(3)
    found.append(seen(array))
    hands.slurm.change([f"update JobId={array}_1 ReqNodeList={two}", f"release {array}_1"])
    hands.wait(lambda: seen(array, "1")[:1] == ("RUNNING",))
    found += [seen(array), seen(array, "1")]
    hands.slurm.change([f"uhold {array}_1"])
    found += [seen(array), seen(array, "1")]
    hands.slurm.cancel((array,))
    return found


@dataclass
class Counting(SlurmModel):
    """Counts requests as `scontrol` makes them: it asks for what it holds or releases."""

    requests: int = 0

    def change(self, lines: Sequence[str]) -> Mapping[str, str]:
        self.requests += sum(1 if line.startswith("update") else 2 for line in lines)
        return super().change(lines)


def test_where_requests_are_limited_releases_wait_and_none_is_lost(tmp_path: Path) -> None:
    """A budget of two releases at once, and one in three seconds."""
    model = Counting()
    allowance = Allowance(1000, Budget(6, 1.0, lambda: model.now))
    engine = Placer(
        tmp_path / "state", "fair", 1, model, lambda: allowance,
        threaded=False, clock=lambda: model.now,
    )  # fmt: skip
    engine.reconcile([])
    jobs = [model.user(1000) for _ in range(8)]
    engine.go_round()
    parts = [
        assign(Attempt(number, 0, 1), "true", f"n{1 + number % 3}", name=str(number), part="")
        for number in jobs
    ]
    engine.launch(parts)
    running = [0]
    began = model.now
    while running[-1] < len(jobs):
        engine.go_round()
        model.pass_time(1)
        running.append(sum(job.state == "RUNNING" for job in model.mind.jobs.values()))
        assert model.requests <= 6 + (model.now - began)
        assert model.now - began < 100
    assert running[1] == 2
    engine.close()


@dataclass
class Refusing(SlurmModel):
    """Lets nobody write an administrator's comment, as Slurm does not let operators."""

    def change(self, lines: Sequence[str]) -> Mapping[str, str]:
        refused = {line.split()[1].removeprefix("JobId=") for line in lines if "Admin" in line}
        super().change([line for line in lines if "Admin" not in line])
        return dict.fromkeys(refused, "Access/permission denied")


def test_what_has_not_got_its_nodes_is_not_released(tmp_path: Path) -> None:
    model = Refusing()
    engine = Placer(
        tmp_path / "state", "fair", 1, model, lambda: Allowance(1000),
        threaded=False, clock=lambda: model.now,
    )  # fmt: skip
    engine.reconcile([])
    number = model.user(1000)
    engine.go_round()
    engine.launch([assign(Attempt(1, 0, 1), "true", "n1", name=str(number), part="")])
    for _ in range(3):
        engine.go_round()
        model.pass_time(5)
    assert model.mind.jobs[number].priority == 0
    seen = engine.adopted()
    assert seen is not None
    assert "does not let it be released (Access/perm" in seen.apart[str(number)].why
    assert any("must be an administrator of Slurm's" in each for each in engine.take_faults())
    engine.close()


def test_both_say_the_same(bed: SlurmBed) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    ground = bed.ground

    def submit(elements: int) -> int:
        array = (f"--array=0-{elements - 1}",) if elements else ()
        asked = ("sbatch", "--parsable", "-o", "/dev/null", "-p", "fair", f"-c{CPUS}", *array)
        return int(ground.run(*asked, "--wrap=sleep 1000", user="nobody"))

    real = story(
        Hands(
            Commands(),
            submit,
            lambda number: ground.run("scontrol", "requeue", str(number)),
            until,
            ("c4", "c5"),
        )
    )
    ground.run("scancel", "-u", "nobody")
    model = SlurmModel()

    def pass_time(seen: Callable[[], bool]) -> None:
        for _ in range(1000):
            if seen():
                return
            model.pass_time(1)
        raise AssertionError("it never came to be so")

    def by_user(elements: int) -> int:
        return model.user(1000, elements, cpus=CPUS)

    assert story(Hands(model, by_user, model.give_back, pass_time, ("n1", "n2"))) == real
