"""Witnesses: written, read, replayed from the file alone, and made smaller."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fairlead.audit.finding import Input, Lie, Removed, Split, Witness
from fairlead.audit.outcome import Options
from fairlead.audit.witness.file import witness_from_json, witness_json
from fairlead.audit.witness.replay import Again, replay
from fairlead.audit.witness.shrink import shrink
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.unrounded import IN_DOUBLES
from tests.audit.build import audited, given, shown_again, witness_of
from tests.papers.cases import job, machines
from tests.papers.test_tsf import FIGURE_3, SEVEN

ENVY = witness_of(audited("envy-freeness", given(FIGURE_3, SEVEN), "cdrf"))
LEAVING = witness_of(
    audited(
        "population-monotonicity",
        given(machines((1, 1)), (job("u1", 1), job("u2", 1, "0.5"), job("u3", 0, 1))),
        "tsf",
    )
)


@pytest.mark.parametrize("witness", [ENVY, LEAVING], ids=["no change", "a change"])
def test_a_witness_says_the_same_when_it_is_replayed(witness: Witness) -> None:
    found = replay(witness_from_json(witness_json(witness)))
    assert found.again is Again.SAME
    assert found.shown is not None
    assert (found.shown.before, found.shown.after) == pytest.approx((witness.before, witness.after))


@pytest.mark.parametrize("witness", [ENVY, LEAVING], ids=["no change", "a change"])
def test_a_witness_is_the_same_bytes_every_time(witness: Witness) -> None:
    assert witness_json(witness) == witness_json(replace(witness))


def changed(witness: Witness, **fields: object) -> str:
    return json.dumps(json.loads(witness_json(witness)) | fields)


def test_numbers_that_were_tampered_with_are_told() -> None:
    found = replay(witness_from_json(changed(ENVY, before=3.0)))
    assert found.again is Again.OTHER


def test_an_input_that_was_mended_no_longer_shows_it() -> None:
    found = replay(witness_from_json(changed(ENVY, policy="tsf")))
    assert found.again is Again.GONE


def test_a_name_that_is_gone_cannot_be_asked_about() -> None:
    found = replay(witness_from_json(changed(ENVY, who=["u1", "nobody"])))
    assert found.again is Again.GONE
    assert found.shown is None


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"schema": "fairlead.proof/1"}, "is no witness"),
        ({"who": "u1"}, '"who" is missing or of the wrong kind'),
        ({"who": []}, '"who" names nobody'),
        ({"before": True}, '"before" is missing or no number'),
        ({"before": None}, '"before" is missing or no number'),
        ({"before": 10**400}, '"before" is missing or no number'),
        ({"after": -1}, '"after" is missing or no number'),
        ({"changed": 7}, '"changed" is of the wrong kind'),
        ({"tasks": "some"}, '"tasks" is'),
        ({"input": "machines: 7"}, "machines"),
        ({"property": "kindness"}, "no property `kindness`"),
        ({"lottery": "sometimes"}, '"lottery" is'),
        ({"tasks": "divisible", "policy": "cdrf-lottery"}, "shares whole tasks"),
        ({"policy": "no-such"}, "no policy"),
    ],
)
def test_what_is_no_witness_is_refused(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        replay(witness_from_json(changed(ENVY, **fields)))


@pytest.mark.parametrize("text", ["", "[", "[]", '"witness"', "7", "[" * 100_000, '{"a": NaN}'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="witness"):
        witness_from_json(text)


def large() -> Input:
    """Figure 3 with much around it that has nothing to do with its envy."""
    where = [
        *(Machine(f"m{i}", {"a": "3.25", "d": 7}, {"zone": "east"}) for i in (1, 2, 3)),
        *(Machine(f"far{i}", {"a": 5, "b": 2}, {"zone": "west"}) for i in range(6)),
    ]
    jobs = [
        *(replace(each, where=each.where) for each in SEVEN),
        *(Job(f"far{i}", {"a": 1, "b": "0.1"}, where="zone = west") for i in range(5)),
    ]
    near = [
        Job(each.name, each.demand, machines=each.machines, where="zone = east")
        if each.name == "u2"
        else each
        for each in jobs
    ]
    return given(where, near)


def test_shrinking_leaves_what_is_needed_and_shows_it_still() -> None:
    witness = witness_of(audited("envy-freeness", large(), "cdrf"))
    smaller = shrink(witness, 400)
    shown = shown_again(smaller)
    assert shown is not None
    assert shown.slack == pytest.approx(smaller.slack)
    assert shown.slack >= 0.01
    assert smaller.who == witness.who
    assert len(smaller.input.jobs) <= 4
    assert len(smaller.input.cluster.machines) <= 3
    assert {r for m in smaller.input.cluster.machines for r in m.capacity} == {"a"}
    assert not any(m.labels for m in smaller.input.cluster.machines)


def test_shrinking_is_deterministic_and_ends() -> None:
    witness = witness_of(audited("envy-freeness", large(), "cdrf"))
    assert shrink(witness, 20) == shrink(witness, 20)
    once = shrink(witness, 1000)
    assert shrink(once, 1000) == once


def test_without_tries_nothing_is_shrunk() -> None:
    assert shrink(ENVY, 0) is ENVY


def test_shrinking_keeps_the_change() -> None:
    users = (job("u1", 1), job("u2", 1, "0.5"), job("u3", 0, 1), job("u4", "0.001", "0.001"))
    witness = witness_of(audited("population-monotonicity", given(machines((1, 1)), users), "tsf"))
    smaller = shrink(witness)
    assert smaller.change == witness.change
    assert len(smaller.input.jobs) == 3
    assert replay(witness_from_json(witness_json(smaller))).again is Again.SAME


def test_removed_machines_are_shrunk_too() -> None:
    users = (job("u1", 1, "0.5"), job("u2", "0.5", 1))
    what = given(machines((15, 15), (16, 0), (16, 0), (16, 0)), users)
    witness = witness_of(audited("dummy-machines", what, "drfh", Options(trials=1)))
    assert isinstance(witness.change, Removed)
    smaller = shrink(witness)
    assert isinstance(smaller.change, Removed)
    assert len(smaller.change.machines) == 1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (Lie(("u2",), (job("u2", 1),)), {"kind": "lie", "liars": ["u2"]}),
        (
            Split("u1", (Job("x", {"a": 1}), Job("y", {"a": 1}))),
            {"kind": "split", "tenant": "u1", "into": ["x", "y"]},
        ),
    ],
)
def test_lies_and_splits_are_written(change: Lie | Split, kind: dict[str, object]) -> None:
    tree = json.loads(witness_json(replace(ENVY, change=change)))
    assert tree["change"] == kind
    after = witness_from_json(json.dumps(tree)).changed
    assert after is not None
    claimed = {each.name for each in change_jobs(change)}
    assert claimed <= {each.name for each in after.jobs}


def change_jobs(change: Lie | Split) -> tuple[Job, ...]:
    return change.claimed if isinstance(change, Lie) else change.jobs


def test_a_split_of_a_declared_tenant_takes_its_place() -> None:
    from fairlead.audit.change import apply

    what = given(
        machines((1,), (1,)),
        (Job("j", {"a": 1}, tenant="u"), Job("v", {"a": 1}, tenant="v", machines=["m1"])),
        (Tenant("u", weight=1), Tenant("v")),
    )
    halves = Split(
        "u",
        (
            Job("j1", {"a": 1}, tenant="u1", machines=["m1"]),
            Job("j2", {"a": 1}, tenant="u2", machines=["m2"]),
        ),
        (Tenant("u1", weight="0.5"), Tenant("u2", weight="0.5")),
    )
    after = apply(halves, what)
    assert [tenant.name for tenant in after.cluster.tenants] == ["v", "u1", "u2"]
    assert [each.name for each in after.jobs] == ["v", "j1", "j2"]


def test_a_pool_whose_only_machine_is_taken_away_is_refused() -> None:
    from fairlead.audit.change import apply

    what = Input(
        Cluster(machines((1,), (1,)), (Tenant("u", pool=["m1"]), Tenant("v", pool=["m2"]))),
        (Job("j", {"a": 1}, tenant="u"), Job("k", {"a": 1}, tenant="v")),
    )
    with pytest.raises(InputError, match="empty"):
        apply(Removed(("m1",)), what)


def test_the_tolerance_is_far_below_what_is_kept_of_a_violation() -> None:
    from fairlead.audit.witness.shrink import KEPT

    assert IN_DOUBLES < KEPT / 1000
