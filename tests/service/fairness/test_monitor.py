"""The watch over a core: when it asks, what it tells the core, and who is short since when."""

from __future__ import annotations

import pytest

from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    AdviceChanged,
    GuaranteesChanged,
    JobCancelled,
    JobSubmitted,
    MachineDrained,
    TaskFinished,
    TenantChanged,
)
from fairlead.service.fairness.causes import CauseKind, cause_of
from fairlead.service.fairness.interface import Answer, Answered, Question
from fairlead.service.fairness.monitor import FairnessMonitor, FairSettings
from fairlead.service.fairness.shortfalls import Audit, measure
from fairlead.service.fairness.solve import answer
from tests.service.fairness.at_once import AtOnce
from tests.service.fairness.stands import FIRST, SECOND, core_of, random_cores, submit

TWO = (Tenant("a"), Tenant("b"))


class Slow:
    """An adviser that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.ready: Answered | None = None

    def ask(self, question: Question) -> None:
        self.asked.append(question)

    def answer(self) -> Answered | None:
        found, self.ready = self.ready, None
        return found

    def close(self) -> None:
        pass


def stand() -> Core:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 4}}, TWO)
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=20))
    return core


def step(watch: FairnessMonitor, core: Core, time: int, *, changed: bool = False) -> list[object]:
    """As the loop does it."""
    told = watch.events(time)
    for event in told:
        core.apply(event)
    core.decide()
    watch.after(time, core, changed=changed or bool(told))
    return list(told)


def test_it_asks_after_changes_and_at_most_so_often() -> None:
    adviser, core = Slow(), stand()
    watch = FairnessMonitor(adviser, FairSettings(every=SECOND))
    step(watch, core, 0)
    assert [q.number for q in adviser.asked] == [1]  # of what there was at the start
    step(watch, core, 10 * SECOND)
    assert len(adviser.asked) == 1  # nothing changed
    assert watch.wake() is None
    step(watch, core, 11 * SECOND, changed=True)
    assert len(adviser.asked) == 2
    step(watch, core, 11 * SECOND + 1, changed=True)
    assert len(adviser.asked) == 2  # too soon
    assert watch.wake() == 12 * SECOND
    step(watch, core, 12 * SECOND)
    assert len(adviser.asked) == 3
    assert watch.wake() == 21 * SECOND  # for the history
    step(watch, core, 21 * SECOND)
    assert len(adviser.asked) == 3
    assert watch.wake() is None


def test_a_question_without_an_answer_is_asked_again() -> None:
    adviser, core = Slow(), stand()
    watch = FairnessMonitor(adviser, FairSettings(every=SECOND))
    step(watch, core, 0)
    adviser.ready = Answered(adviser.asked[-1], Answer(1, 0, problem="it took too long"))
    step(watch, core, SECOND)
    assert watch.problem == "it took too long"
    assert watch.exact is None
    assert len(adviser.asked) == 2
    adviser.ready = Answered(adviser.asked[-1], answer(adviser.asked[-1]))
    step(watch, core, 2 * SECOND)
    assert watch.problem == ""
    assert watch.exact is not None


def test_an_older_answer_that_comes_late_is_left_out() -> None:
    adviser, core = Slow(), stand()
    watch = FairnessMonitor(adviser, FairSettings(every=SECOND, guarantees=True))
    step(watch, core, 0)
    step(watch, core, SECOND, changed=True)
    first, second = adviser.asked
    adviser.ready = Answered(second, answer(second))
    assert step(watch, core, 2 * SECOND)
    adviser.ready = Answered(first, answer(first))
    assert step(watch, core, 3 * SECOND) == []
    assert watch.exact is not None
    assert watch.exact.question is second


def test_the_core_is_told_once_what_does_not_change() -> None:
    core = core_of({"m1": {"cpu": 4}}, TWO, placement="price-guided", preempt_after=SECOND)
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=20))
    watch = FairnessMonitor(AtOnce(), FairSettings(guarantees=True, advice=True))
    assert step(watch, core, 0) == []
    told = step(watch, core, SECOND)
    assert [type(each) for each in told] == [GuaranteesChanged, AdviceChanged]
    for second in range(2, 6):
        assert step(watch, core, second * SECOND, changed=True) == []
    core.apply(JobSubmitted(6 * SECOND, Job("y", {"cpu": 1}, tenant="b", tasks=20)))
    step(watch, core, 6 * SECOND, changed=True)
    told = step(watch, core, 7 * SECOND)
    assert told[0] == GuaranteesChanged(7 * SECOND, FrozenMap({"x": 2, "y": 2}))


def test_long_answers_are_told_less_often() -> None:
    core = core_of({"m1": {"cpu": 4000}}, TWO, preempt_after=3600 * SECOND)
    jobs = [Job(f"j{k}", {"cpu": 1}, tenant="a", tasks=2) for k in range(1_500)]
    submit(core, *jobs)
    watch = FairnessMonitor(AtOnce(), FairSettings(every=SECOND, guarantees=True))
    step(watch, core, 0)
    assert len(step(watch, core, SECOND)) == 1  # 1,500 names: nothing more for 1.5 s
    core.apply(TaskFinished(SECOND, "j7", 0))
    told = [step(watch, core, SECOND + tenth * SECOND // 10, changed=True) for tenth in range(20)]
    assert [tenth for tenth, events in enumerate(told) if events] == [15]
    assert watch.exact is not None
    found = told[15][0]
    assert isinstance(found, GuaranteesChanged)
    assert found.guarantees["j7"] == 1  # of the newest answer


def audit_of(core: Core, watch: FairnessMonitor, time: int) -> Audit:
    step(watch, core, time, changed=True)
    step(watch, core, time, changed=True)
    return watch.audit(time, core, watch.measure(core))


def test_a_shortfall_has_a_cause_and_a_beginning() -> None:
    core = stand()
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    assert audit_of(core, watch, SECOND).short == ()
    core.apply(JobSubmitted(2 * SECOND, Job("y", {"cpu": 1}, tenant="b", tasks=20)))
    core.decide()
    first = audit_of(core, watch, 2 * SECOND)
    assert len(first.short) == 1
    short = first.short[0]
    assert (short.tenant, short.job, short.tasks) == ("b", "y", 4)
    assert short.owed == pytest.approx(0.5)
    assert short.has == 0
    assert short.since == 2 * SECOND
    assert short.cause is not None
    assert short.cause.kind is CauseKind.HELD
    assert dict(short.cause.counts) == {"a": 4}  # of its 8, those that are not guaranteed
    core.apply(TaskFinished(3 * SECOND, "x", 0))
    core.decide()
    second = audit_of(core, watch, 3 * SECOND).short[0]
    assert (second.tasks, second.since) == (3, 2 * SECOND)
    for task in (1, 2, 3):
        core.apply(TaskFinished(4 * SECOND, "x", task))
        core.decide()
    assert audit_of(core, watch, 4 * SECOND).short == ()
    assert watch.since("b") is None


def test_nobody_who_wants_no_more_is_short() -> None:
    core = stand()
    submit(core, Job("y", {"cpu": 1}, tenant="b", tasks=1), time=SECOND)
    core.apply(TaskFinished(2 * SECOND, "x", 0))
    core.decide()
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    assert audit_of(core, watch, 2 * SECOND).short == ()


def cause_with(core: Core, time: int = SECOND) -> tuple[CauseKind, str]:
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    short = audit_of(core, watch, time).short
    assert len(short) == 1
    assert short[0].cause is not None
    return short[0].cause.kind, short[0].cause.sentence


def test_who_is_short_itself_is_not_said_to_hold_more_than_is_its() -> None:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 12}}, (*TWO, Tenant("c")))
    submit(
        core,
        Job("a1", {"cpu": 1}, tenant="a", tasks=4, machines=["m1"]),
        Job("c1", {"cpu": 1}, tenant="c", tasks=12, machines=["m2"]),
        Job("a2", {"cpu": 1}, tenant="a", tasks=12, machines=["m2"]),
        Job("b1", {"cpu": 1}, tenant="b", tasks=4, machines=["m1"]),
    )
    # By the exact allocation a gets 1.33 tasks of a1 and 5.33 of a2, b 2.67, and c 6.67.
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    causes = {each.tenant: each.cause for each in audit_of(core, watch, SECOND).short}
    assert causes["a"] is not None
    assert causes["b"] is not None
    assert (causes["a"].kind, dict(causes["a"].counts)) == (CauseKind.HELD, {"c": 6})
    assert (causes["b"].kind, dict(causes["b"].counts)) == (CauseKind.OTHER_JOBS, {"a": 3})
    assert (causes["a"].machines, causes["b"].machines) == ("m2", "m1")
    core.apply(JobCancelled(2 * SECOND, "b1"))
    core.apply(JobSubmitted(2 * SECOND, Job("a3", {"cpu": 2}, tenant="a", machines=["m1"])))
    core.decide()
    watch.after(2 * SECOND, core, changed=True)
    found = cause_of(core, watch.measure(core).beyond(core), core.ids.jobs["a3"])
    assert "its tenant's other jobs run more than they are guaranteed" in found.sentence


def test_the_cause_is_a_gang() -> None:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 4}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 3}, tenant="a", tasks=2),
        Job("g", {"cpu": 2}, tenant="b", tasks=4, gang=2),
    )
    kind, sentence = cause_with(core)
    assert kind is CauseKind.GANG
    assert sentence == "2 tasks start together, and 0 fit now"


def test_the_cause_is_room_in_parts() -> None:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 4}}, TWO)
    submit(
        core, Job("x", {"cpu": 3}, tenant="a", tasks=2), Job("y", {"cpu": 2}, tenant="b", tasks=9)
    )
    # The exact allocation cuts tasks: of 8 CPUs x gets 4, so one task of 3 is guaranteed, it has 2.
    kind, _ = cause_with(core)
    assert kind is CauseKind.HELD
    core = core_of({"m1": {"cpu": 3}, "m2": {"cpu": 3}}, TWO)
    submit(
        core, Job("x", {"cpu": 2}, tenant="a", tasks=1), Job("y", {"cpu": 2}, tenant="b", tasks=2)
    )
    kind, _ = cause_with(core)
    assert kind is CauseKind.PIECES


def test_the_cause_is_a_preference_where_other_machines_have_room() -> None:
    machines = {"g1": {"cpu": 4}, "g2": {"cpu": 4}, "h1": {"cpu": 4}}
    core = core_of(machines, TWO, labels={"h1": {"model": "h100"}})
    submit(
        core,
        Job("p", {"cpu": 3}, tenant="a", tasks=2, prefer="model = h100", prefer_for=300),
    )
    cause = cause_of(core, measure(core, None).beyond(core), core.ids.jobs["p"])
    assert cause.kind is CauseKind.PREFERS
    assert "2 others have room" in cause.sentence


def test_a_limit_makes_nobody_short() -> None:
    """The exact allocation keeps limits too, so that who is at its limit has what is fair."""
    core = core_of({"m1": {"cpu": 8}}, (Tenant("a", limit={"cpu": 2}), Tenant("b")))
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=9))
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    assert audit_of(core, watch, SECOND).short == ()


def test_the_cause_is_a_limit_that_fell() -> None:
    core = core_of({"m1": {"cpu": 8}}, (Tenant("a"), Tenant("b")))
    submit(
        core, Job("x", {"cpu": 1}, tenant="a", tasks=2), Job("y", {"cpu": 2}, tenant="a", tasks=9)
    )
    # 2 of x and 3 of y run. With a limit of 7, the exact allocation cuts a task of y.
    core.apply(TaskFinished(1, "y", 0))
    core.apply(TenantChanged(1, Tenant("a", limit={"cpu": 7})))
    core.decide()
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    assert audit_of(core, watch, SECOND).short == ()  # 2.5 tasks are guaranteed: 2, and it has 2


def test_draining_machines_make_nobody_short_but_are_named() -> None:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 4}}, TWO)
    core.apply(MachineDrained(0, "m2"))
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=9))
    watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
    assert audit_of(core, watch, SECOND).short == ()
    assert watch.exact is not None
    found = watch.exact.answer.jobs.of("x")
    assert found is not None
    assert (found.whole, found.drained) == (4, 4)


def test_history_has_a_point_for_each_sample() -> None:
    core = stand()
    watch = FairnessMonitor(AtOnce(), FairSettings(every=SECOND, sample=2 * SECOND))
    for second in range(10):
        step(watch, core, second * SECOND, changed=True)
    points = watch.history.of("a")
    assert [point.time // SECOND for point in points] == [0, 2, 4, 6, 8]
    assert points[-1].share == pytest.approx(1.0)
    assert points[-1].fair == pytest.approx(1.0)
    assert (points[-1].running, points[-1].waiting) == (8, 12)
    # What changed last is seen too, though nothing happens any more; then nothing is kept.
    assert watch.wake() == 10 * SECOND
    for second in range(10, 30):
        step(watch, core, second * SECOND)
    assert [point.time // SECOND for point in watch.history.of("a")][5:] == [10]
    assert watch.wake() is None


def test_the_audit_holds_of_random_cores(cases: int) -> None:
    """Whoever is short has less than it is guaranteed and something that waits; nobody else is."""
    shorts = 0
    for core in random_cores(FIRST, 12 * cases):
        watch = FairnessMonitor(AtOnce(), FairSettings(every=1))
        found = audit_of(core, watch, core.now)
        measured = watch.measure(core)
        lacking = {
            core.book.name_of(int(slot))
            for slot, whole, runs, waits in zip(
                measured.slot, measured.whole, measured.running, measured.waiting, strict=True
            )
            if 0 <= runs < whole <= runs + waits
        }
        for short in found.short:
            shorts += 1
            assert short.shortfall > 0
            assert short.job in lacking
            assert short.cause is not None
            assert short.cause.sentence
            assert short.cause.kind is not CauseKind.DECIDING
        tenants = {short.tenant for short in found.short}
        lone = {name for name in lacking if core.ids.job_at[core.ids.jobs[name]].tenant is None}
        assert lone <= tenants
    assert shorts
