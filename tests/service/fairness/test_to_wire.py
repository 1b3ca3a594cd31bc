"""What the adviser says reaches the core of a live service, through the journal."""

from __future__ import annotations

from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.options import Options
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.service.fairness.interface import Answered
from fairlead.service.fairness.to_wire import history, live_audit, measure_shares, shares
from fairlead.service.journal.memory import MemoryStore
from fairlead.service.loop.loop import Service
from fairlead.service.requests import Caller, ChangeJob
from fairlead.service.settings import Settings
from tests.engines.fake import FakeEngine
from tests.service.fairness.at_once import AtOnce
from tests.service.fairness.live import SECOND, Live, runs

TENANTS = (Tenant("vision"), Tenant("language"))
MACHINES = [Machine(f"m{i}", {"cpu": 4, "memory": 8}) for i in (1, 2)]


def crowded(settings: Settings | None = None) -> Live:
    """vision has everything, and language waits."""
    live = Live(MACHINES, TENANTS, settings=settings)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12))
    live.step(seconds=2)
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    live.step(seconds=1)
    return live


def running(live: Live, job: str) -> int:
    record = live.service.records.job(job)
    assert record is not None
    return record.held


def kinds(live: Live) -> list[str]:
    return [entry.kind for entry in live.service.store.read()]


def test_guarantees_make_room_for_who_is_short() -> None:
    settings = Settings(tenants=TENANTS, options=Options(preempt_after=5 * SECOND))
    live = crowded(settings)
    assert (running(live, "train"), running(live, "eval")) == (8, 0)
    for _ in range(12):
        live.step(seconds=1)
    assert (running(live, "train"), running(live, "eval")) == (4, 2)
    assert live.why("eval").fair is not None
    assert "guarantees_changed" in kinds(live)


def test_without_preemption_nothing_is_journaled_for_the_adviser() -> None:
    live = crowded()
    for _ in range(5):
        live.step(seconds=1)
    assert not {"guarantees_changed", "advice_changed"} & set(kinds(live))
    before = live.service.records.seq
    for _ in range(20):
        live.step(seconds=1)
    assert live.service.records.seq == before  # where nothing happens, nothing is written


def test_advice_is_journaled_once_and_outlives_the_service() -> None:
    settings = Settings(
        tenants=TENANTS, placement="price-guided", options=Options(preempt_after=3600 * SECOND)
    )
    live = crowded(settings)
    for _ in range(5):
        live.step(seconds=1)
    told = kinds(live)
    # For nobody, for what vision wanted alone, and when language had come.
    assert told.count("advice_changed") == 3
    assert told.count("guarantees_changed") == 3
    core = live.service.core
    assert core is not None
    digest = core.digest()
    store = live.service.store
    assert isinstance(store, MemoryStore)
    place = store._place  # noqa: SLF001 - what is left where it was killed
    place.writer = None
    again = Service(MemoryStore(place), FakeEngine(live.world), settings, AtOnce())
    assert again.core is not None
    assert again.core.digest() == digest
    for second in range(1, 5):
        again.step(live.now + second * SECOND)
    assert again.watch is not None
    assert again.watch.exact is not None


def test_shares_and_the_audit_as_the_api_tells_them() -> None:
    live = crowded()
    live.step(seconds=2)
    live.step(seconds=2)
    core, watch = live.service.core, live.service.watch
    assert core is not None
    found = live.stand().shares(jobs=True)
    rows = {row.name: row for row in found.tenants}
    assert (rows["vision"].running, rows["vision"].share, rows["vision"].shortfall) == (8, 1.0, 0.0)
    assert rows["language"].fair == 0.5
    assert rows["language"].shortfall == 0.5
    both = [(row.guaranteed, row.asked) for row in (rows["vision"], rows["language"])]
    assert both == [(0.5, 1.5), (0.5, 0.75)]
    jobs = {row.name: row for row in found.jobs}
    assert (jobs["eval"].guaranteed, jobs["eval"].running, jobs["eval"].tenant) == (
        2,
        0,
        "language",
    )
    audit = live.stand().audit()
    (short,) = audit.shortfalls
    assert short.sentence.startswith(
        "language lacks 2 tasks of eval for less than two minutes: it waits for machines"
    )
    live.step(seconds=10)
    past = history(live.now, watch, tenant="vision")
    assert [tenant.name for tenant in past.tenants] == ["vision"]
    last = past.tenants[0].points[-1]
    assert (last.share, last.running, last.waiting) == (1.0, 8, 4)


def test_jobs_without_a_tenant_are_told_of_alone() -> None:
    live = crowded()
    live.submit(runs("own", {"cpu": 1}, tasks=16))
    live.step(seconds=2)
    (row,) = live.stand().shares(own=True).jobs
    assert (row.name, row.tenant, row.waiting, row.asked) == ("own", "own", 16, 2.0)


def test_without_an_adviser_shares_are_still_told() -> None:
    live = crowded()
    core = live.service.core
    assert core is not None
    found = shares(live.now, core, None, measure_shares(core, None), jobs=True)
    assert {row.name: row.share for row in found.tenants} == {"vision": 1.0, "language": 0.0}
    assert all(row.fair is None for row in found.tenants)
    audit = live_audit(live.now, core, None, measure_shares(core, None))
    assert audit.problem == "nobody computes the exact allocation here"
    # With --strict nobody is cleared by that.
    assert audit.behind == "no exact shares are computed here: nobody is judged"
    assert audit.tenants == 0
    assert history(live.now, None).tenants == []


def test_who_has_what_is_guaranteed_and_less_than_is_fair_is_named_with_the_reason() -> None:
    """Five CPUs for tasks of two: 2.5 tasks are fair, and 2 are whole."""
    live = Live([Machine("m1", {"cpu": 5, "memory": 8})], TENANTS)
    live.submit(runs("train", {"cpu": 2}, tenant="vision", tasks=4))
    for _ in range(3):
        live.step(seconds=1)
    found = live.stand().audit()
    assert (found.shortfalls, found.below_fair_more) == ([], 0)
    (below,) = found.below_fair
    assert (below.tenant, below.job, below.guaranteed, below.fair_tasks) == (
        "vision", "train", 2, 2.5,
    )  # fmt: skip
    assert below.gap == below.fair - below.has > 0
    assert below.cause == "pieces"
    assert below.sentence == (
        "vision has a share of 1, 0.25 below its fair share of 1.25, and all that is guaranteed:"
        " the fair share is of 2.5 tasks in parts, of which 2 can be whole; no more of train start"
        " now: 1 machine is open to it, on which nobody has more than is guaranteed; what is left"
        " is in parts that hold no whole task"
    )


def test_a_job_without_a_tenant_is_named_as_well() -> None:
    live = Live([Machine("m1", {"cpu": 5, "memory": 8})], ())
    live.submit(runs("train", {"cpu": 2}, tasks=4))
    for _ in range(3):
        live.step(seconds=1)
    (below,) = live.stand().audit().below_fair
    assert (below.tenant, below.job, below.guaranteed) == ("train", "train", 2)


def test_who_has_no_task_that_waits_is_not_below_its_fair_share() -> None:
    live = Live([Machine("m1", {"cpu": 5, "memory": 8})], TENANTS)
    live.submit(runs("train", {"cpu": 2}, tenant="vision", tasks=2))
    for _ in range(3):
        live.step(seconds=1)
    assert live.stand().audit().below_fair == []


class Held(AtOnce):
    """Answers only while nothing holds it up, as a solver that takes half a minute does."""

    held = False

    def answer(self) -> Answered | None:
        return None if self.held else super().answer()


def test_who_is_not_judged_yet_is_not_cleared() -> None:
    adviser = Held()
    adviser.held = True
    live = Live(MACHINES, TENANTS, adviser=adviser)
    assert live.stand().audit().behind == "exact shares are being computed: nobody is judged yet"
    adviser.held = False
    live.step(seconds=2)
    assert (live.stand().audit().shortfalls, live.stand().audit().behind) == ([], None)
    adviser.held = True
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12))
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    for _ in range(30):
        live.step(seconds=1)
    stand = live.stand()
    found, audit = stand.shares(), stand.audit()
    said = "exact shares are being computed: 2 jobs that wait are not judged yet"
    assert (audit.shortfalls, audit.behind, found.behind) == ([], said, said)
    assert {row.fair for row in found.tenants} == {None}
    past = history(live.now, live.service.watch).tenants
    assert {each.points[-1].fair for each in past} == {None}
    adviser.held = False
    live.step(seconds=1)
    stand = live.stand()
    assert (stand.audit().behind, stand.shares().behind) == (None, None)
    (before,) = stand.audit().shortfalls
    assert before.tenant == "language"
    adviser.held = True
    live.drain("m1")
    stand = live.stand()
    found, audit = stand.shares(), stand.audit()
    assert "machines, weights or limits are others" in str(audit.behind)
    assert (audit.tenants, audit.shortfalls, audit.below_fair, audit.gap) == (0, [], [], None)
    assert {(row.fair, row.shortfall) for row in found.tenants} == {(None, None)}
    adviser.held = False
    live.step(seconds=1)
    live.step(seconds=1)
    (after,) = live.stand().audit().shortfalls
    assert (after.tenant, after.since) == ("language", before.since)


def test_who_asks_for_more_than_it_was_given_whole_is_not_judged_yet() -> None:
    adviser = Held()
    live = Live(MACHINES, TENANTS, adviser=adviser)
    live.submit(
        runs("train", {"cpu": 2}, tenant="vision", tasks=1),
        runs("many", {"cpu": 2}, tenant="language", tasks=9),
    )
    for _ in range(3):
        live.step(seconds=1)
    assert live.stand().audit().behind is None
    adviser.held = True
    for job, tasks in (("many", 20), ("train", 5)):  # the one has not even what it asked for
        live.step(ChangeJob(Caller(), job, tasks), seconds=1)
        said = live.stand().audit().behind
        assert said == (
            None
            if job == "many"
            else "exact shares are being computed: 1 job that waits is not judged yet"
        )


def test_labels_that_change_are_noticed_where_a_job_asks_for_them() -> None:
    adviser = Held()
    live = Live(
        [Machine(f"m{i}", {"cpu": 4}, {"zone": "east"}) for i in (1, 2)], TENANTS, adviser=adviser
    )
    live.submit(runs("train", {"cpu": 2}, tenant="vision", tasks=9, where="zone = east"))
    for _ in range(3):
        live.step(seconds=1)
    adviser.held = True
    changes: list[dict[str, str]] = [{"zone": "east", "rack": "1"}, {"zone": "west"}]
    for labels in changes:  # nobody asks for a rack
        live.world.join(Machine("m2", {"cpu": 4}, labels))
        live.step(seconds=1)
        said = str(live.stand().audit().behind)
        assert ("machines, weights or limits are others" in said) == ("rack" not in labels)


def test_nobody_is_judged_by_the_shares_of_another_policy() -> None:
    machines = [*MACHINES, Machine("big", {"cpu": 1, "memory": 90})]
    live = Live(machines, TENANTS, adviser=Held())
    live.submit(
        runs("train", {"cpu": 1, "memory": 1}, tenant="vision", tasks=20),
        runs("eval", {"cpu": 1, "memory": 3}, tenant="language", tasks=20),
    )
    for _ in range(3):
        live.step(seconds=1)
    before, watch = live.service.core, live.service.watch
    assert before is not None
    options = [(policy, Options(whole=by)) for policy in ("tsf", "drf") for by in (True, False)]
    for policy, option in [*options, ("fifo", Options())]:
        core = reconfigure(before, before.now, policy, before.placement.name, option)
        said = live_audit(live.now, core, watch, measure_shares(core, watch)).behind
        same = policy != "drf" and option.whole  # fifo is measured by tsf
        assert said == (
            None
            if same
            else "exact shares are being computed: the policy is another one since the newest ones,"
            " and nobody is judged by them yet"
        )
