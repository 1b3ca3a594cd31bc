"""A request at which the loop fails is refused, and everybody else is served."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Event, JobSubmitted
from fairlead.scheduling.options import Options
from fairlead.service.journal.entry import JournalError
from fairlead.service.mailbox import Mailbox
from fairlead.service.process.blame import FEW, MANY, MOST, PAUSE, Blame, describe
from fairlead.service.process.runner import Driven, Runner
from fairlead.service.requests import (
    Caller,
    CancelJob,
    Done,
    PutTenant,
    Refused,
    Reply,
    Request,
    SubmitJobs,
    Wrong,
)
from fairlead.service.settings import Settings
from fairlead.wire.kinds import Role
from tests.engines.world import Fate
from tests.service.fairness.at_once import AtOnce
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.loop.test_journal import failing, same
from tests.service.process.test_runner import LONG, asked

POISON = "poison"


class Planted:
    """A mistake in the core: it fails after it has taken in a job of that name, or whenever it
    decides while one is there."""

    def __init__(self, patch: pytest.MonkeyPatch, where: str) -> None:
        self.failures = 0
        self.mended = False
        taken, decided = Core.apply, Core.decide

        def apply(core: Core, event: Event) -> None:
            taken(core, event)
            if isinstance(event, JobSubmitted) and event.job.name == POISON:
                self.fail()

        def decide(core: Core) -> Any:
            found = decided(core)
            if POISON in core.ids.jobs:
                self.fail()
            return found

        if where == "apply":
            patch.setattr(Core, "apply", apply)
        else:
            patch.setattr(Core, "decide", decide)

    def fail(self) -> None:
        """As a mistake of the program's own does."""
        if not self.mended:
            self.failures += 1
            raise ZeroDivisionError("a secret of the job")


@pytest.fixture(params=["apply", "decide"])
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Planted:
    return Planted(monkeypatch, request.param)


@contextmanager
def running(stage: Stage) -> Iterator[tuple[Runner, Mailbox[Driven], list[str]]]:
    """The stage's service in its thread, and what it says of that at which it failed."""
    door: Mailbox[Driven] = Mailbox()
    said: list[str] = []
    runner = Runner(
        stage.service,
        door,
        poll=0.005,
        clock=lambda: stage.now,
        fault=said.append,
        failed=said.append,
    )
    runner.start()
    try:
        yield runner, door, said
    finally:
        assert runner.stop(LONG)


def all_asked(door: Mailbox[Driven], requests: Sequence[Request]) -> list[Reply]:
    """The replies to requests that come at once."""

    async def ask() -> list[Reply]:
        return await asyncio.gather(*(door.ask(each) for each in requests))

    return asyncio.run(asyncio.wait_for(ask(), LONG))


def submits(name: str, key: str | None = None) -> SubmitJobs:
    return SubmitJobs(ADMIN, (job(name),), key)


@pytest.mark.usefixtures("planted")
def test_a_request_at_which_the_loop_fails_is_refused_and_nobody_else() -> None:
    stage = Stage()
    with running(stage) as (runner, door, said):
        assert isinstance(asked(door, submits("before")), Done)
        replies = all_asked(door, [submits("one"), submits(POISON, "key"), submits("two")])
        assert [type(each) for each in replies] == [Done, Refused, Done]
        refused = replies[1]
        assert isinstance(refused, Refused)
        assert (refused.wrong, refused.unknown) == (Wrong.FAILED, False)
        assert refused.what.startswith("Fairlead failed at this request (ZeroDivisionError)")
        assert "secret" not in refused.what
        (line,) = said
        assert line.startswith("SubmitJobs: ZeroDivisionError at test_blame.py:")
        assert "secret" not in line
        assert isinstance(asked(door, submits("after")), Done)
        assert runner.failure is None
    same(stage)
    stage.restart()
    stage.step()
    assert list(stage.service.records.names) == ["before", "one", "two", "after"]
    assert len(stage.running()) == 4


def test_it_is_not_tried_again_for_a_while_whatever_its_key_is(planted: Planted) -> None:
    stage = Stage()
    with running(stage) as (_, door, _):
        first = asked(door, submits(POISON, "key"))
        for key in ("key", "other", None):
            assert asked(door, submits(POISON, key)) == first
        assert planted.failures == 1
        stage.now += PAUSE
        assert asked(door, submits(POISON, "key")) == first
        assert planted.failures == 2
        planted.mended = True  # by what has become of the cluster meanwhile
        stage.now += PAUSE
        assert isinstance(asked(door, submits(POISON, "key")), Done)
    same(stage)


def test_of_many_alike_that_come_at_once_one_is_tried_alone(planted: Planted) -> None:
    with running(Stage()) as (_, door, said):
        replies = all_asked(door, [submits(POISON, f"key-{number}") for number in range(20)])
        assert all(isinstance(each, Refused) and each.wrong is Wrong.FAILED for each in replies)
        assert planted.failures <= 2  # of all together, and of the first one
        assert len(said) == 1


def test_what_the_engine_said_meanwhile_is_taken_in(planted: Planted) -> None:
    stage = Stage(fates={"short": [Fate(0)]})
    with running(stage) as (_, door, _):
        asked(door, submits("short"))
        stage.now += SECOND
        assert isinstance(asked(door, submits(POISON)), Refused)
        stage.now += 10 * SECOND
        assert isinstance(asked(door, CancelJob(ADMIN, "short")), Refused)
    assert planted.failures == 1
    assert stage.service.records.job("short").over  # type: ignore[union-attr]  # it is there
    same(stage)


def test_guarantees_are_told_once_more(planted: Planted) -> None:
    """They were told in the step that failed: the core that goes on has not heard of them."""
    settings = Settings(options=Options(preempt_after=SECOND))
    stage = Stage(settings=settings, adviser=AtOnce())
    with running(stage) as (_, door, _):
        asked(door, PutTenant(ADMIN, Tenant("x")))
        asked(door, SubmitJobs(ADMIN, (job("one", 6, tenant="x"), job("two", 6))))
        stage.now += 5 * SECOND
        asked(door, submits("three"))
        stage.now += 5 * SECOND
        assert isinstance(asked(door, submits(POISON)), Refused)
        stage.now += 5 * SECOND
        asked(door, submits("four"))
    assert planted.failures == 1
    assert stage.entries("guarantees_changed")
    same(stage)


def test_a_step_that_fails_by_itself_ends_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    stage = Stage()
    with running(stage) as (runner, door, _):
        monkeypatch.setattr("fairlead.service.loop.loop.collect_inputs", fail)
        reply = asked(door, submits("x"))
        assert isinstance(reply, Refused)
        assert (reply.wrong, reply.unknown) == (Wrong.UNAVAILABLE, True)
        assert runner.stop(LONG)
        assert isinstance(runner.failure, ZeroDivisionError)


def test_a_journal_that_is_away_is_no_reason_to_begin_again(planted: Planted) -> None:
    """What it was to hold waits for it, and a request that comes meanwhile is not tried."""
    stage = Stage()
    store = failing(stage)
    with running(stage) as (runner, door, _):
        store.failure = JournalError("away")
        reply = asked(door, submits("x"))
        assert isinstance(reply, Refused)
        assert (reply.wrong, reply.unknown) == (Wrong.UNAVAILABLE, True)
        assert isinstance(asked(door, submits(POISON)), Refused)
        assert planted.failures == 0
        store.failure = None
        stage.now += 2 * SECOND
        refused = asked(door, submits(POISON))
        assert isinstance(refused, Refused)
        assert refused.wrong is Wrong.FAILED
        assert runner.failure is None
    assert list(stage.service.records.names) == ["x"]
    same(stage)


def test_who_sends_ever_other_requests_that_fail_waits_and_nobody_else(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.service.process.blame.REST", 1e9)
    other = Caller("other")
    stage = Stage()
    with running(stage) as (_, door, said):
        for number in range(FEW):
            assert isinstance(asked(door, SubmitJobs(ADMIN, (job(POISON, number + 1),))), Refused)
        failures = planted.failures
        replies = all_asked(door, [submits(str(number)) for number in range(20)])
        assert all(isinstance(each, Refused) and each.wrong is Wrong.TOO_MANY for each in replies)
        assert "others of the kind wait" in replies[0].what  # type: ignore[union-attr]
        assert isinstance(asked(door, SubmitJobs(other, (job("theirs"),))), Done)
        assert isinstance(asked(door, PutTenant(ADMIN, Tenant("x"))), Done)
        assert isinstance(asked(door, CancelJob(ADMIN, "theirs")), Done)
        assert (planted.failures, len(said)) == (failures, FEW)
        stage.now += PAUSE
        assert isinstance(asked(door, submits("now")), Done)
    same(stage)


def test_they_wait_for_nine_times_as_long_as_everybody_did() -> None:
    now = 100.0
    blame = Blame(lambda: now)
    for number in range(FEW):
        assert blame.refusal(submits(str(number)), 0) is None
        blame.note(submits(str(number)), 0, ValueError(), 98.0)
    now = 117.9
    assert blame.refusal(submits("x"), 1) is not None
    assert blame.refusal(SubmitJobs(Caller("other"), (job("x"),)), 1) is None
    now = 118.0
    assert blame.refusal(submits("x"), 1) is None
    assert blame.refusal(submits("0"), 1) is not None


def of(tenant: str | None, name: str = "x") -> SubmitJobs:
    return SubmitJobs(ADMIN, (job(name, tenant=tenant),))


def test_where_nobody_shows_a_token_one_tenants_requests_cost_the_others_nothing() -> None:
    """Nor where one program asks for all of them."""
    blame = Blame(lambda: 0.0)
    for number in range(FEW):
        blame.note(of("theirs", str(number)), 0, ValueError(), -1.0)
    assert blame.refusal(of("theirs"), 1) is not None
    assert blame.refusal(of("mine"), 1) is None
    assert blame.refusal(of(None), 1) is None
    both = SubmitJobs(ADMIN, (job("x", tenant="mine"), job("y", tenant="theirs")))
    assert blame.refusal(both, 1) is not None


def test_who_names_ever_other_tenants_waits_as_well() -> None:
    blame = Blame(lambda: 0.0)
    for number in range(MANY):
        assert blame.refusal(of(f"t{number}"), 0) is None
        blame.note(of(f"t{number}"), 0, ValueError(), -1.0)
    assert blame.refusal(of("new"), 1) is not None
    assert blame.refusal(SubmitJobs(Caller("other"), (job("x"),)), 1) is None


def test_who_is_a_tenant_himself_waits_whomever_he_names() -> None:
    blame, caller = Blame(lambda: 0.0), Caller("token", Role.TENANT, "theirs")
    for number in range(FEW):
        sent = SubmitJobs(caller, (job("x", tenant=f"theirs/{number}"),))
        blame.note(sent, 0, ValueError(), -1.0)
    assert blame.refusal(SubmitJobs(caller, (job("x", tenant="theirs/new"),)), 1) is not None


def test_who_has_a_token_of_a_tenant_s_name_does_not_wait_for_that_tenant() -> None:
    """An administrator's token is often named for those who use it."""
    blame, caller = Blame(lambda: 0.0), Caller("laptop", Role.TENANT, "research")
    for number in range(FEW):
        blame.note(SubmitJobs(caller, (job(str(number)),)), 0, ValueError(), -1.0)
    assert blame.refusal(SubmitJobs(caller, (job("x"),)), 1) is not None
    assert blame.refusal(SubmitJobs(Caller("research"), (job("x"),)), 1) is None


def test_few_are_remembered() -> None:
    blame = Blame(lambda: 0.0)
    for number in range(MOST + 1):
        blame.note(submits(str(number)), 0, ValueError(), 0.0)
    assert blame.refusal(submits("0"), 1) is None
    assert blame.refusal(submits("1"), 1) is not None
    assert blame.refusal(submits("1"), PAUSE) is None


def test_what_is_said_of_it_names_no_value() -> None:
    try:
        raise KeyError("secret")
    except KeyError as error:
        line = describe(submits("x"), error)
    assert line.startswith("SubmitJobs: KeyError at test_blame.py:")
    assert "secret" not in line
