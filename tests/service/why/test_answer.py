"""Why a job waits, of a service: the sentences, and what stands behind them."""

from __future__ import annotations

import pytest

from fairlead.engines.interface import Cause
from fairlead.engines.local.outputs import MISSING, Missing
from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.options import Options
from fairlead.service.fairness.interface import JobShare
from fairlead.service.settings import Settings
from fairlead.service.why.answer import Fair
from fairlead.service.why.remedies import ChangeKind
from fairlead.service.why.to_wire import to_wire
from fairlead.wire.kinds import JobState
from tests.engines.world import Fate
from tests.service.fairness.live import SECOND, Live, runs

TENANTS = (Tenant("vision"), Tenant("language"))


def machines(count: int = 2, **more: int) -> list[Machine]:
    return [Machine(f"m{i}", {"cpu": 4, "memory": 8, **more}) for i in range(1, count + 1)]


def test_a_guarantee_above_the_divisible_share_is_no_part_of_it() -> None:
    fair = Fair(JobShare(1.143, 2, 0.05, 0.05), 0, "tsf", 2, 0, None, None)
    assert fair.sentence(0).endswith(
        "its fair share is 1.143 tasks; 2 are guaranteed, as its tenant's other jobs leave more;"
        " it runs 2"
    )
    less = Fair(JobShare(2.5, 2, 0.05, 0.05), 0, "tsf", 2, 0, None, None)
    assert "2.5 tasks, of which 2 are guaranteed; it runs 2" in less.sentence(0)


def test_a_job_that_waits() -> None:
    live = Live(machines(), TENANTS)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12, duration=60))
    live.step(seconds=10)
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    live.step(seconds=1)
    live.step(seconds=21)
    found = live.why("eval")
    assert found.sentences() == (
        "eval of language is pending: 3 tasks, all waiting",
        "too little cpu is free on all 2 machines that could run it",
        (
            "by the exact allocation (tsf, of 21 s ago) its fair share is 2 tasks, guaranteed; it"
            " runs none, 2 fewer than it could have by that, for 21 s now: it waits for machines on"
            " which tasks beyond what is guaranteed run: 4 of vision"
        ),
        (
            "a task would start now if 2 tasks end on m1 (2 of train); as few would do on 1 machine"
            " more"
        ),
        "2 tasks would start now with one more machine like m1 (4 cpu, 8 memory)",
        "2 tasks of it are expected to start in 28 s, if tasks take their declared duration",
    )
    assert found.start is not None
    assert found.start.time == live.now + 28 * SECOND
    assert [change.kind for change in found.changes] == [ChangeKind.ENDS, ChangeKind.MACHINE]


def test_where_tasks_are_stopped_for_who_is_short_it_is_said_after_how_long() -> None:
    options = Options(preempt_after=90 * SECOND)
    live = Live(machines(), TENANTS, settings=Settings(tenants=TENANTS, options=options))
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12))
    live.step(seconds=10)
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    live.submit(runs("both", {"cpu": 2}, tenant="language", tasks=2, gang=2))
    live.step(seconds=1)
    live.step(seconds=21)
    said = " ".join(live.why("eval").sentences())
    assert " of vision; such are stopped for who has lacked tasks for 90 s" in said
    assert "such are stopped" not in " ".join(live.why("both").sentences())


def test_whose_share_is_ahead() -> None:
    live = Live(machines(1), TENANTS)
    live.submit(runs("full", {"cpu": 4}, tenant="vision", tasks=2))
    live.submit(runs("first", {"cpu": 4}, tenant="language", tasks=1))
    found = live.why("full")
    assert found.ahead is not None
    assert found.ahead.first == (("first", 0.0),)
    assert any("1 job comes first: first (0)" in each for each in found.sentences())


def test_as_the_api_tells_it() -> None:
    live = Live(machines(), TENANTS)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12))
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    live.step(seconds=2)
    live.step(seconds=2)
    answer = to_wire(live.why("eval"))
    assert answer.schema_ == "fairlead.why/1"
    assert answer.state.value == "pending"
    assert answer.tasks.waiting == 3
    assert [reason.kind for reason in answer.reasons] == ["no_room"]
    assert answer.reasons[0].values == {
        "machines": 2,
        "lacking": [["cpu", 2]],
        "able": 2,
        "room": 0,
    }
    assert answer.fair is not None
    assert (answer.fair.guaranteed, answer.fair.running, answer.fair.short) == (2, 0, 2)
    assert answer.change == answer.changes[0]
    assert answer.changes[0].values["tasks"] == {"train": 2}
    assert answer.sentences == list(live.why("eval").sentences())
    assert answer.expected_start is None
    answer.model_dump_json(by_alias=True)


def test_jobs_that_do_not_wait() -> None:
    live = Live(machines(), TENANTS)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=3))
    live.step(seconds=2)
    live.step(seconds=2)
    found = live.why("train")
    assert found.state is JobState.RUNNING
    assert found.changes == ()
    assert found.sentences()[0] == "train of vision is running: 3 tasks, all running"
    assert "it runs 3" in found.sentences()[1]
    live.cancel("train")
    live.step(seconds=1)
    live.step(seconds=1)
    gone = live.why("train")
    assert gone.state is JobState.CANCELLED
    assert gone.sentences() == ("train of vision was cancelled: 3 tasks, all dropped",)
    assert gone.why is None


def test_what_is_said_of_tasks_that_ended_well_is_their_owners() -> None:
    said = MISSING[Missing.BEYOND_LIMIT]
    live = Live(machines(), TENANTS, lambda _: Fate(1, message=said))
    live.submit(runs("loud", {"cpu": 1}, tenant="vision", tasks=2))
    for _ in range(3):
        live.step(seconds=1)
    found = live.why("loud")
    assert found.failures == (f"task 0 ended well: {said} (1 more of such)",)
    assert found.failures[0] in found.sentences()
    assert live.why("loud", own=False).failures == ()


def test_a_job_that_failed_and_what_others_may_know() -> None:
    secret = "the password was wrong"
    live = Live(machines(), TENANTS, lambda _: Fate(1, Cause.EXITED, code=7, message=secret))
    live.submit(runs("bad", {"cpu": 1}, tenant="vision", tasks=5))
    live.step(seconds=1)
    live.step(seconds=1)
    found = live.why("bad")
    assert found.state is JobState.FAILED
    assert found.sentences() == (
        "bad of vision has failed: 5 tasks, all failed",
        f"task 0 failed in attempt 1 on m1 (exited 7): {secret}",
        f"task 1 failed in attempt 1 on m1 (exited 7): {secret}",
        f"task 2 failed in attempt 1 on m1 (exited 7): {secret}",
        "2 more failed",
    )
    assert live.why(1) == found  # by its number
    assert secret not in " ".join(live.why("bad", own=False).sentences())


def test_a_job_that_can_run_nowhere() -> None:
    live = Live(machines(), TENANTS)
    live.submit(runs("train", {"cpu": 1}, tenant="language", tasks=1, duration=60))
    live.submit(runs("huge", {"cpu": 64}, tenant="vision", tasks=1))
    live.step(seconds=2)
    live.step(seconds=2)
    found = live.why("huge")
    assert (
        "2 machines satisfy its constraint but are too small even when empty"
        in (found.sentences()[1])
    )
    assert found.changes[-1].kind is ChangeKind.MACHINE
    assert found.changes[-1].part is None
    assert found.start is None


def test_a_job_that_nobody_knows() -> None:
    live = Live(machines(), TENANTS)
    with pytest.raises(InputError, match='there is no job "nobody"'):
        live.why("nobody")
    with pytest.raises(InputError, match="there is no job 77"):
        live.why(77)


def test_asking_changes_nothing() -> None:
    live = Live(machines(), TENANTS)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12, duration=60))
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    core, records = live.service.core, live.service.records
    assert core is not None
    before, seq = core.digest(), records.seq
    live.why("eval")
    live.why("train")
    assert (core.digest(), records.seq) == (before, seq)
