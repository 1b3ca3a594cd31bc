"""Events and decisions come back from the bodies of entries exactly as they were."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.events import Advice, Event
from fairlead.service.journal.codec import (
    DECISIONS,
    EVENTS,
    FORMS,
    body_of,
    decision_of,
    entry_of,
    event_of,
    from_text,
    kind_of,
    to_text,
)
from fairlead.service.journal.entry import CorruptJournalError, Entry
from tests.model.draw import inputs, names

TIME = 1_700_000_000_000_000
whole = st.integers(0, 2**62)
texts = st.text(max_size=12)  # any letters, also control characters


@st.composite
def of_a_cluster(draw: st.DrawFn) -> list[Event]:
    """That each machine of an input joined and changed, each tenant changed, and a job came: to
    draw one takes longer than all else."""
    cluster, found = draw(inputs())[:2]
    machines = [kind(TIME, one) for kind in CLUSTERS[:2] for one in cluster.machines]
    tenants = []
    for one in cluster.tenants or [Tenant("a", pool=["m1", "m2"])]:
        fields = {f.name: getattr(one, f.name) for f in dataclasses.fields(Tenant)}
        fields["user"] = draw(st.none() | st.just("ann"))
        tenants.append(events.TenantChanged(TIME, Tenant(**fields)))
    job = found[0] if found else Job("x", {"cpu": 1})
    return [*machines, *tenants, events.JobSubmitted(TIME, with_more(draw, job))]


def with_more(draw: st.DrawFn, job: Job) -> Job:
    """The job with fields that no share depends on."""
    letters = st.text(st.characters(blacklist_characters="\0"), max_size=6)
    more: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "command": st.just(["python", "a.py", ""]) | st.just("echo 'é' | cat"),
                "env": st.dictionaries(st.sampled_from(["A", "B_1"]), letters, max_size=2),
                "cwd": st.just("/srv/a b"),
                "time_limit": st.fractions(min_value="1/1000", max_value=10**6),
                "retries": st.integers(0, 9),
                "rerunnable": st.booleans(),
            },
        )
    )
    fields = {f.name: getattr(job, f.name) for f in dataclasses.fields(Job)}
    return Job(**(fields | more))


advice = st.lists(
    st.builds(Advice, names, st.lists(names, max_size=3).map(tuple), whole, whole), max_size=3
).map(tuple)
pieces = st.lists(st.tuples(names, st.integers(0, 63)), max_size=3).map(tuple)
times = st.just(TIME)
task: dict[str, Any] = {"time": times, "job": names, "task": whole}

CLUSTERS: tuple[Any, ...] = (
    *(events.MachineJoined, events.MachineChanged),
    *(events.TenantChanged, events.JobSubmitted),
)
"""What is said of a cluster and its jobs."""

DRAWN: dict[type, st.SearchStrategy[Any]] = {
    events.MachineLeft: st.builds(events.MachineLeft, times, names),
    events.MachineDrained: st.builds(events.MachineDrained, times, names, st.booleans()),
    events.JobChanged: st.builds(events.JobChanged, times, names, st.none() | whole),
    events.JobCancelled: st.builds(events.JobCancelled, times, names),
    events.TaskPlaced: st.builds(events.TaskPlaced, **task, machine=names),
    events.TaskStarted: st.builds(events.TaskStarted, **task),
    events.TaskFinished: st.builds(events.TaskFinished, **task),
    events.TaskFailed: st.builds(events.TaskFailed, **task),
    events.TaskLost: st.builds(events.TaskLost, **task),
    events.TaskStopped: st.builds(events.TaskStopped, **task),
    events.TimePassed: st.builds(events.TimePassed, times),
    events.AdviceChanged: st.builds(events.AdviceChanged, times, advice),
    events.GuaranteesChanged: st.builds(
        events.GuaranteesChanged, times, st.dictionaries(names, whole, max_size=3).map(FrozenMap)
    ),
    Launch: st.builds(Launch, names, whole, names, whole, pieces),
    Stop: st.builds(Stop, names, whole, names, whole),
    Reject: st.builds(Reject, names, texts),
}


def test_every_event_and_every_decision_has_a_form_for_every_field() -> None:
    said = {*get_args(Event), *get_args(Decision)}
    assert said == set(FORMS) == {*DRAWN, *CLUSTERS}
    for kind in said:
        fields = {field.name for field in dataclasses.fields(kind)} - {"time"}
        assert fields == set(FORMS[kind]), kind
    assert not EVENTS.keys() & DECISIONS.keys()


def test_kinds_are_the_events_names_in_snake_case() -> None:
    assert kind_of(events.JobSubmitted(0, Job("a", {"cpu": 1}))) == "job_submitted"
    assert kind_of(Launch("a", 0, "m", 1)) == "launch"
    assert "guarantees_changed" in EVENTS


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_what_was_said_comes_back(kind: type, data: st.DataObject) -> None:
    check(data.draw(DRAWN[kind]))


@given(of_a_cluster())
def test_what_was_said_of_a_cluster_comes_back(said: list[Event]) -> None:
    assert {type(one) for one in said} == set(CLUSTERS)
    for one in said:
        check(one)


def check(said: Event | Decision) -> None:
    """It comes back, and so do the bytes."""
    entry = entry_of(7, 3, TIME, said, by="a token", key=None)
    text = to_text(entry.body)
    body = from_text(text)
    back = Entry(7, 3, TIME, entry.kind, body)
    found = event_of(back) if entry.kind in EVENTS else decision_of(back)
    assert found == said
    assert repr(found) == repr(said)  # 5.10 and 5.1 are equal, and are not the same
    assert body == entry.body
    assert body["by"] == "a token"
    # The same bytes in whatever order the fields came.
    assert to_text(dict(reversed(body.items()))) == text
    assert text.isascii()


def test_what_the_records_need_does_not_hide_what_the_event_says() -> None:
    with pytest.raises(ValueError, match="has task"):
        body_of(events.TaskStarted(0, "a", 1), task=2)


@pytest.mark.parametrize(
    ("kind", "body", "sentence"),
    [
        ("task_started", {"job": "a"}, "entry 5 .task_started. has no task"),
        ("task_started", {"job": "a", "task": True}, "task of entry 5 .* is not a whole number"),
        ("task_started", {"job": "a", "task": 1.0}, "is not a whole number"),
        ("task_started", {"job": 5, "task": 1}, "job of entry 5 .* is not a text"),
        ("machine_drained", {"machine": "m", "back": 1}, "neither true nor false"),
        ("job_submitted", {"job": {"name": "a"}}, "job of entry 5 .*it has no demand"),
        ("machine_joined", {"machine": []}, "is not a machine"),
        ("advice_changed", {"advice": {}}, "is not a list"),
        ("advice_changed", {"advice": [{"job": "a"}]}, "holds what is no advice"),
        ("guarantees_changed", {"guarantees": {"a": "1"}}, "is not a whole number"),
        ("guarantees_changed", {"guarantees": [1]}, "is not a mapping"),
    ],
)
def test_a_body_that_does_not_fit_its_kind_is_refused(
    kind: str, body: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CorruptJournalError, match=sentence):
        event_of(Entry(5, 1, TIME, kind, body))


@pytest.mark.parametrize("wrong", [[["gpu"]], [["gpu", "0"]], {}, [{"gpu": 0}]])
def test_devices_that_are_none_are_refused(wrong: object) -> None:
    body = {"job": "a", "task": 0, "machine": "m", "attempt": 1, "pieces": wrong}
    with pytest.raises(CorruptJournalError, match="pieces of entry 5"):
        decision_of(Entry(5, 1, TIME, "launch", body))


@pytest.mark.parametrize("text", ["", "[]", "1", "{", '{"a":1}x'])
def test_a_text_that_is_no_body_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the store says the sentence
        from_text(text)


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": float("inf")}])
def test_what_json_does_not_hold_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_text(body)
