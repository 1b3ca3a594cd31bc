"""Whatever users, machines, the engine and the journal do: every accepted task runs to one recorded
result, and the records are what the journal says. Compared with a plain model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fairlead.model.machine import Machine
from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.requests import CancelJob, ChangeJob, Done, DrainMachine, SubmitJobs
from fairlead.service.settings import Settings
from tests.engines.fake import Call, FakeEngine, Planted
from tests.engines.world import Fate, Happening
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.loop.test_journal import Failing
from tests.service.recovered import recover

NAMES = ("a", "b", "c")
SETTINGS = Settings(lost_after=5 * SECOND, quarantine=2 * SECOND, snapshot_every=20)
FATES = (Fate(0), Fate(SECOND), Fate(4 * SECOND, grace=SECOND), Fate(SECOND, code=1))
ENDED = ("task_finished", "task_failed")


@dataclass
class Known:
    """What was promised of a job. `tasks` may be either number where nobody was told which."""

    tasks: set[int]
    rerunnable: bool
    cancelled: bool = False
    sure: bool = True


class Rules(RuleBasedStateMachine):
    """The world does what it likes; the model only counts what was accepted."""

    @initialize(draws=st.lists(st.sampled_from(FATES), min_size=1, max_size=8))
    def begin(self, draws: list[Fate]) -> None:
        self.stage = Stage([Machine(name, {"cpu": 3}) for name in NAMES], SETTINGS)
        self.draws = draws
        self.stage.world.fates = lambda _: self.draws[self.stage.world.started % len(draws)]
        self.known: dict[str, Known] = {}
        self.store = self.fresh()
        self.number = 0

    def fresh(self) -> Failing:
        """The service is killed, and another one starts, on a journal that may fail."""
        stage = self.stage
        stage.place.writer = None
        store = Failing(stage.place)
        engine = FakeEngine(stage.world, stage.faults)
        stage.service = Service(store, engine, stage.settings)
        return store

    @rule(
        tasks=st.integers(1, 5),
        retries=st.sampled_from([None, 0, 2]),
        rerunnable=st.booleans(),
        cpu=st.integers(1, 3),
        gang=st.booleans(),
    )
    def submit(
        self, tasks: int, retries: int | None, rerunnable: bool, cpu: int, gang: bool
    ) -> None:
        name = f"j{self.number}"
        self.number += 1
        more = {"retries": retries, "rerunnable": rerunnable, "demand": {"cpu": cpu}}
        made = job(name, tasks, gang=min(2, tasks) if gang else 1, **more)
        (reply,) = self.stage.step(SubmitJobs(ADMIN, (made,)))
        if isinstance(reply, Done):
            self.known[name] = Known({tasks}, rerunnable)
        elif reply.unknown:
            self.known[name] = Known({tasks}, rerunnable, sure=False)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.known)))
        (reply,) = self.stage.step(CancelJob(ADMIN, name))
        if isinstance(reply, Done) or reply.unknown:
            self.known[name].cancelled = True

    @precondition(lambda self: self.known)
    @rule(data=st.data(), tasks=st.integers(1, 8))
    def change(self, data: st.DataObject, tasks: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.known)))
        (reply,) = self.stage.step(ChangeJob(ADMIN, name, tasks))
        if isinstance(reply, Done):
            self.known[name].tasks = {tasks}
        elif reply.unknown:
            self.known[name].tasks.add(tasks)

    @rule(quarters=st.integers(1, 30))
    def pass_time(self, quarters: int) -> None:
        for _ in range(quarters):
            self.stage.step(after=SECOND // 4)

    @rule(name=st.sampled_from(NAMES), back=st.booleans())
    def drain(self, name: str, back: bool) -> None:
        self.stage.step(DrainMachine(ADMIN, name, back))

    @rule(
        name=st.sampled_from(NAMES),
        how=st.sampled_from(["leave", "trouble", "mend", "freeze"]),
        quarters=st.sampled_from([0, 1, 6, 30]),
    )
    def machine(self, name: str, how: str, quarters: int) -> None:
        world = self.stage.world
        if name not in world.nodes:
            world.join(Machine(name, {"cpu": 3}))
        elif how == "freeze" and name in world.frozen:
            world.thaw(name)
        else:
            getattr(world, how)(name)
        self.pass_time(quarters)

    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        running = self.stage.running()
        if running:
            self.stage.world.lose(data.draw(st.sampled_from(running)))

    @rule(call=st.sampled_from(Call), done=st.integers(0, 2), times=st.integers(1, 3))
    def engine_fails(self, call: Call, done: int, times: int) -> None:
        self.stage.faults.plant(call, done, times)
        self.pass_time(6)

    @rule(written=st.booleans())
    def journal_fails(self, written: bool) -> None:
        self.store.failure = None if self.store.failure else JournalError("no")
        self.store.written = written
        self.pass_time(2)

    @rule(back=st.integers(0, 3600))
    def kill(self, back: int) -> None:
        """And the clock may go back meanwhile, for the service."""
        self.store = self.fresh()
        self.stage.service.step(self.stage.now - back * SECOND)

    @invariant()
    def nothing_is_too_much(self) -> None:
        assert self.stage.world.overloaded() == []
        running = Counter((each.job, each.task) for each in self.stage.running())
        assert max(running.values(), default=0) <= 1

    @invariant()
    def the_records_are_what_the_journal_says(self) -> None:
        stage = self.stage
        if stage.service.trouble:
            return
        core, records = recover(stage.service.store)
        assert records == stage.service.records
        if core is not None and stage.service.core is not None:
            assert core.digest() == stage.service.core.digest()

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        self.heal()
        world, records = self.stage.world, self.stage.service.records
        starts = Counter((a.job, a.task) for _, what, a in world.record or () if what is STARTED)
        ends = Counter(
            (entry.body["id"], entry.body["task"])
            for entry in self.stage.entries()
            if entry.kind in ENDED
        )
        for name, known in self.known.items():
            record = records.job(name)
            if record is None:
                assert not known.sure
                continue
            assert record.over
            assert record.tasks in known.tasks
            assert sum(record.counts) == record.tasks
            results = [ends[record.id, task] for task in range(record.tasks)]
            if not known.cancelled:
                assert results == [1] * record.tasks
            assert max(results) <= 1
            if not known.rerunnable:
                assert all(starts[record.id, task] <= 1 for task in range(record.tasks))
        assert set(records.names) <= set(self.known)
        assert world.running() == []
        # No snapshot is needed: the entries say it all.
        core, again = recover(MemoryStore(Place(list(self.stage.place.rows))))
        assert again == records
        assert core is not None

    def heal(self) -> None:
        """Nothing fails any more; all that waits gets its turn."""
        stage = self.stage
        stage.faults = Planted()
        self.store = self.fresh()
        for name in NAMES:
            if name not in stage.world.nodes:
                stage.world.join(Machine(name, {"cpu": 3}))
            stage.world.thaw(name)
            stage.world.mend(name)
        for _ in range(3):
            stage.step(after=2 * SECOND)
        for name in NAMES:
            stage.step(DrainMachine(ADMIN, name, back=True))
        for _ in range(400):
            stage.step(after=2 * SECOND)
            if len(stage.service.records.over) == len(stage.service.records.jobs):
                break
        stage.settle(2)


STARTED = Happening.STARTED


def test_every_accepted_task_runs_to_one_recorded_result(cases: int) -> None:
    run_state_machine_as_test(
        Rules, settings=settings(max_examples=15 * cases, stateful_step_count=30, deadline=None)
    )
