"""The order of Slurm's queue: its factors, and a real queue that is put into order."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from fairlead.engines.interface import Engine, EngineError
from fairlead.engines.slurm import opening
from fairlead.engines.slurm.budget import A_SECOND, AT_ONCE, Budget, budget_for
from fairlead.engines.slurm.observer import cluster_name
from fairlead.engines.slurm.opening import open_slurm
from fairlead.engines.slurm.orderer import FOREMOST, Orderer
from fairlead.engines.slurm.ordering import CLOSEST, SPACE, Factors, factors_for, write_factors
from fairlead.engines.slurm.reading.commands import ask, load
from fairlead.model.errors import InputError
from tests.cli.live.place import until
from tests.engines.slurm.ground import Ground, path
from tests.engines.slurm.test_observe import OFTEN, Watch

SAVED = Path(__file__).parents[3] / "examples" / "slurm" / "saved"
UNDO = "squeue -h -t PD -o 'update JobId=%A SiteFactor=0' | sort -u | scontrol >/dev/null"


def test_who_is_new_gets_a_place_and_nobody_else_another_one() -> None:
    first = factors_for(["a", "b", "c"], {})
    assert first == {"a": 3 * SPACE, "b": 2 * SPACE, "c": SPACE}
    between = factors_for(["a", "new", "b", "c"], first)
    assert {name: between[name] for name in first} == first
    assert factors_for(["b", "c", "last"], first)["last"] < first["c"]
    assert factors_for(["top", "a"], first)["top"] > first["a"]


@pytest.mark.parametrize("seed", range(30))
def test_factors_fall_and_as_few_as_can_be_are_written(seed: int) -> None:
    rng = random.Random(seed)
    order: list[str] = []
    known: dict[str, int] = {}
    for step in range(80):
        if order and rng.random() < 0.4:
            order.remove(rng.choice(order))
        if order and rng.random() < 0.3:
            moved = order.pop(rng.randrange(len(order)))
            order.insert(rng.randrange(len(order) + 1), moved)
        if rng.random() < 0.7:
            order.insert(rng.randrange(len(order) + 1), f"j{step}")
        kept = {name: known[name] for name in order if name in known}
        found = factors_for(order, kept)
        falling = [found[name] for name in order]
        assert all(a - b >= CLOSEST for a, b in itertools.pairwise(falling))
        assert all(factor > 0 for factor in falling)
        changed = sum(kept.get(name) != found[name] for name in order)
        moves = len(order) - _longest([kept[name] for name in order if name in kept])
        assert changed == moves or max(falling, default=0) == SPACE * len(order)
        known = found


def _longest(numbers: list[int]) -> int:
    """The length of the longest falling part, the plain way."""
    best: list[int] = []
    for i, number in enumerate(numbers):
        best.append(1 + max((best[k] for k in range(i) if numbers[k] > number), default=0))
    return max(best, default=0)


def test_no_more_is_written_at_once_than_is_said_and_the_first_come_first() -> None:
    written: list[dict[str, int]] = []
    outputs = load(SAVED)
    engine = Orderer(
        10**9,
        lambda _: outputs,
        write=lambda factors: written.append(dict(factors)),
        budget=lambda: Budget(rate=1e9),
    )
    line = [str(number) for number in range(AT_ONCE + 50)]
    try:
        while len(written) < 2:
            engine.order(line)
            time.sleep(0.001)
        while engine._todo.is_set():  # noqa: SLF001  until it has looked at the last order
            time.sleep(0.001)
    finally:
        engine.close()
    assert list(written[0]) == line[:AT_ONCE]
    assert list(written[1]) == line[AT_ONCE:]
    assert len(written) == 2


def test_the_foremost_are_written_and_who_falls_behind_stays_in_order() -> None:
    written: dict[str, int] = {}
    outputs = load(SAVED)
    budget = Budget(most=10**6, rate=1e9)
    engine = Orderer(10**9, lambda _: outputs, write=written.update, budget=lambda: budget)
    line = [str(number) for number in range(FOREMOST + 500)]
    try:
        engine.order(line)
        while len(written) < FOREMOST:
            time.sleep(0.01)
        assert list(written) == line[:FOREMOST]
        line.append(line.pop(0))  # the first is the last now, behind others without a factor
        engine.order(line)
        while str(FOREMOST) not in written or engine._todo.is_set():  # noqa: SLF001
            time.sleep(0.01)
    finally:
        engine.close()
    assert len(written) == FOREMOST + 1
    assert min(written, key=lambda name: written[name]) == "0"


def test_of_one_partition_alone_those_are_ordered_that_may_start_in_no_other() -> None:
    written: dict[str, int] = {}
    outputs = dict(load(SAVED))
    jobs = json.loads(outputs["jobs.json"])
    waiting = [row for row in jobs["jobs"] if row["job_state"] == "PENDING"][:3]
    for row, partition in zip(waiting, ("gpu", "cpu,gpu", "cpu"), strict=True):
        row |= {"array_job_id": 0, "array_task_string": "", "state_reason": "Priority"}
        row["partition"] = partition
    outputs["jobs.json"] = json.dumps(jobs)
    engine = Orderer(10**9, lambda _: outputs, write=written.update, partition="gpu")
    try:
        engine.order([str(row["job_id"]) for row in waiting])
        while not written:
            time.sleep(0.01)
    finally:
        engine.close()
    assert written == {str(waiting[0]["job_id"]): SPACE}
    with pytest.raises(InputError, match='Slurm has no partition "gup" with nodes; it has all'):
        Orderer(10**9, lambda _: outputs, partition="gup")


def test_a_budget_grants_so_many_at_once_and_so_many_a_second() -> None:
    now = [100.0]
    budget = Budget(30, 2.0, lambda: now[0])
    assert [budget.take(20), budget.take(20), budget.take(20)] == [20, 10, 0]
    now[0] += 4
    assert budget.take(20) == 8
    now[0] += 1000
    assert [budget.take(5), budget.take(100)] == [5, 25]
    assert not budget.affords(3)
    now[0] += 2
    assert [budget.affords(3), budget.affords(3), budget.take(9)] == [True, False, 1]
    now[0] += 1000
    assert budget.affords(1000)  # as many as ever may be


@pytest.mark.parametrize(
    ("parameters", "most", "rate", "pause"),
    [
        ("(null)", AT_ONCE, A_SECOND, 0),
        ("enable_configless,idle_on_node_suspend", AT_ONCE, A_SECOND, 0),
        ("rl_enable", 15, 1.0, 3),
        ("rl_bucket_size=50,rl_enable,rl_refill_period=10,rl_refill_rate=8", 25, 0.4, 7.5),
        ("rl_enable,rl_refill_rate=0", 15, 0.5, 6),
        ("rl_enable,rl_bucket_size=9999,rl_refill_rate=500", AT_ONCE, A_SECOND, 3 / 250),
        ("rl_bucket_size=50", AT_ONCE, A_SECOND, 0),
    ],
)
def test_where_slurm_limits_requests_half_of_them_is_taken(
    parameters: str, most: int, rate: float, pause: float
) -> None:
    budget = budget_for(parameters)
    assert (budget.most, budget.rate) == (most, rate)
    assert budget.pause == pause


def test_an_order_within_limits_is_read_as_seldom_as_they_want(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {
        "PriorityType": "priority/multifactor",
        "SlurmctldParameters": "rl_enable,rl_refill_period=1000",
        "SchedulerParameters": "(null)",
        "ClusterName": "here",
    }
    outputs, readings = load(SAVED), dict.fromkeys((1000, 0), 0)

    def asked(by: int, _: object) -> dict[str, str]:
        readings[by] += 1
        return outputs

    monkeypatch.setattr(opening, "setting", said.__getitem__)
    monkeypatch.setattr(opening, "settings", lambda *names: [said[name] for name in names])
    monkeypatch.setattr(opening, "cluster_name", lambda: said["ClusterName"])
    monkeypatch.setattr(opening, "check_commands", lambda: None)
    engines: list[Engine] = []
    try:
        for user in readings:  # root is not limited
            monkeypatch.setattr(os, "geteuid", partial(int, user))
            monkeypatch.setattr(opening, "ask", partial(asked, user))
            engines.append(open_slurm("order", 1000, Path("unused"), None)[0])
        until(lambda: readings[0] > 2)
    finally:
        for engine in engines:
            engine.close()
    assert readings[1000] == 1


def test_a_factor_that_slurm_lost_is_written_again_and_only_that_one() -> None:
    outputs = dict(load(SAVED))
    jobs = json.loads(outputs["jobs.json"])
    waiting = [row for row in jobs["jobs"] if row["job_state"] == "PENDING"][:2]
    for row in waiting:
        row |= {"array_job_id": 0, "array_task_string": "", "state_reason": "Priority"}
    names = [str(row["job_id"]) for row in waiting]
    readings = 0

    def asked(_: object) -> dict[str, str]:
        nonlocal readings
        readings += 1
        for row, priority in zip(waiting, priorities, strict=True):
            row["priority"] = priority
        return outputs | {"jobs.json": json.dumps(jobs)}

    written: list[dict[str, int]] = []
    priorities = [20_100, 10_100]
    engine = Orderer(
        1000,
        asked,
        write=lambda factors: written.append(dict(factors)),
        budget=lambda: Budget(rate=1e9),
    )

    def after_readings(many: int) -> None:
        engine.order(names)
        until = readings + many
        while readings < until:
            engine.order(names)
            time.sleep(0.001)

    try:
        after_readings(3)
        assert written == [{names[0]: 2 * SPACE, names[1]: SPACE}]
        priorities[:] = [20_400, 9_900]  # as age and usage do
        after_readings(3)
        assert len(written) == 1
        priorities[1] = 50
        after_readings(3)
    finally:
        engine.close()
    assert written[1:] == [{names[1]: SPACE}]


def test_where_it_may_not_write_it_says_so_once_and_tries_again_after_each_reading() -> None:
    tries = []

    def write(factors: Factors) -> None:
        tries.append(dict(factors))
        if len(tries) < 3:
            raise EngineError("scontrol does not set the site factor of jobs: Invalid user id")

    outputs = load(SAVED)
    engine = Orderer(10**9, lambda _: outputs, write=write)
    said: list[str] = []
    try:
        while len(tries) < 3:
            engine.order(["1", "2"])
            with suppress(EngineError):
                engine.view()
            said += [each for each in engine.take_faults() if "site factor" in each]
    finally:
        engine.close()
    assert tries[0] == tries[1] == tries[2] == {"1": 2 * SPACE, "2": SPACE}
    assert said == ["scontrol does not set the site factor of jobs: Invalid user id"]


def test_what_slurm_refuses_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "scontrol"
    tool.write_text('#!/bin/sh\ncat >/dev/null\necho "$SAYS" >&2\nexit 1\n', encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SAYS", " Invalid job id specified for job 7")
    write_factors({"7": 1})
    monkeypatch.setenv("SAYS", "Job has already finished for job 7")
    write_factors({"7": 1})
    monkeypatch.setenv("SAYS", "Invalid user id for job 7")
    with pytest.raises(EngineError, match="site factor of jobs: Invalid user id"):
        write_factors({"7": 1})


@pytest.mark.slow
class TestReal:
    """A real Slurm."""

    @pytest.fixture
    def watch(self, slurm: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
        """A service that orders."""
        made = Watch(slurm, monkeypatch, lambda: Orderer(OFTEN, ask, cluster_name))
        yield made
        made.service.close()
        slurm.run("scancel", "-u", "root")
        slurm.run("scancel", "-u", "nobody")
        slurm.wait_until_idle()

    def test_who_has_less_comes_first_and_all_of_it_can_be_undone(self, watch: Watch) -> None:
        run = watch.ground.run

        def sbatch(user: str | None, *words: str) -> str:
            asked = ("sbatch", "--parsable", "-o", "/dev/null", "-w", "d1", "-c", "8", *words)
            return run(*asked, "--wrap=sleep 1000", user=user).strip()

        def priorities() -> dict[str, int]:
            rows = run("squeue", "-h", "-t", "PD", "-o", "%F %Q").split("\n")
            return {row.split()[0]: int(row.split()[1]) for row in rows if row}

        first = sbatch(None)
        watch.until(lambda: bool(watch.where(first)))
        mine = [sbatch(None), sbatch(None, "--array=1-3")]
        held = sbatch(None, "--hold")
        theirs = [sbatch("nobody", "--contiguous"), sbatch("nobody")]  # the first not understood
        # Who holds nothing is first; then they take turns.
        wanted = [theirs[0], mine[0], theirs[1], mine[1]]

        def ordered() -> bool:
            found = priorities()
            return found.pop(held) == 0 and sorted(found, key=lambda job: -found[job]) == wanted

        watch.until(ordered)
        run("scancel", first)
        watch.until(lambda: bool(watch.where(theirs[0])))
        watch.service.engine.close()
        subprocess.run(UNDO, shell=True, check=True, env=watch.ground.environment)
        assert set(priorities().values()) <= {0, 1}

    def test_who_has_no_right_to_it_is_told(
        self, watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tool, real = tmp_path / "scontrol", shutil.which("scontrol", path=path())
        tool.write_text(f'#!/bin/sh\nexec setpriv --reuid=nobody --clear-groups {real} "$@"\n')
        tool.chmod(0o755)
        job = watch.ground.run("sbatch", "--parsable", "-o", "/dev/null", "--hold", "--wrap=true")
        monkeypatch.setenv("PATH", f"{tmp_path}:{path()}")
        write_factors({"99999": 5})
        with pytest.raises(EngineError, match="site factor of jobs: Invalid user id"):
            write_factors({job.strip(): 5, "99999": 5})

    def test_it_needs_a_priority_of_several_factors(self, watch: Watch) -> None:
        engine, _ = open_slurm("order", OFTEN, Path("unused"), None)
        assert isinstance(engine, Orderer)
        engine.close()
        before = watch.ground.conf.read_text(encoding="utf-8")
        try:
            watch.ground.reconfigure(before.replace("priority/multifactor", "priority/basic"))
            with pytest.raises(InputError, match="PriorityType=priority/basic"):
                open_slurm("order", OFTEN, Path("unused"), None)
        finally:
            watch.ground.reconfigure(before)
