"""Scales of a running cluster: machines alike are counted together, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import JobCancelled, JobSubmitted, MachineJoined
from fairlead.scheduling.kernels.memory.state import Ints, Words
from fairlead.scheduling.options import Options
from fairlead.scheduling.state import scales
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.scales import Classes, Scaler
from fairlead.sharing.policy import Policy, Sees
from fairlead.sharing.problem.problem import Bools
from fairlead.sharing.rules.registry import parse
from tests.sharing.policies.claims import POLICIES

RESOURCES = ("r0", "r1", "r2")  # as `claims` names them
WORDS = st.integers(0, 7) | st.just(1 << 63)
ROWS = st.tuples(st.integers(0, 9), st.integers(0, 3))
Jobs = tuple[Ints, Words, Bools]
ALL = [each.spec for claims in POLICIES.values() for each in claims]
SEEING_LESS = [
    spec for spec in ALL if isinstance(found := parse(spec), Policy) and found.sees is not Sees.EACH
]


@st.composite
def machines(draw: st.DrawFn) -> Classes:
    """Machines of few capacities and terms, several of each."""
    count = draw(st.integers(1, 8))
    capacity = draw(arrays(np.int64, (count, 3), elements=st.integers(0, 6)))
    terms = draw(arrays(np.uint64, (count, 2), elements=WORDS))
    several = draw(arrays(np.int64, count, elements=st.integers(1, 3)))
    return Classes(capacity, terms, several, np.arange(count))


@st.composite
def jobs(draw: st.DrawFn) -> Jobs:
    """Demands, needed terms, and who spreads."""
    count = draw(st.integers(0, 6))
    demand = draw(arrays(np.int64, (count, 3), elements=st.integers(1, 3)))
    needs = draw(arrays(np.uint64, (count, 2), elements=WORDS))
    return demand, needs, draw(arrays(np.bool_, count))


@given(arrays(np.int64, ROWS, elements=st.integers(-2, 2)))
def test_rows_that_are_equal_are_found(rows: Ints) -> None:
    first, of = alike(rows)
    as_tuples = list(map(tuple, rows.tolist()))
    different = sorted(set(as_tuples))
    assert [as_tuples[at] for at in first.tolist()] == different
    assert first.tolist() == [as_tuples.index(row) for row in different]
    assert of.tolist() == [different.index(row) for row in as_tuples]


@given(machines(), jobs(), st.sampled_from([1, 1 << 18]))
def test_machines_are_counted_by_capacity_where_they_satisfy_all_terms(
    there: Classes, drawn: Jobs, at_once: int
) -> None:
    _, needs, _ = drawn
    kinds, of, total = there.kinds
    assert (kinds[of] == there.capacity).all()
    before, scales.AT_ONCE = scales.AT_ONCE, at_once
    try:
        found = there.having(needs)
    finally:
        scales.AT_ONCE = before
    assert (there.having(needs) == found).all()  # as it was kept
    for row, counts in zip(needs, found, strict=True):
        able = (row & ~there.terms == 0).all(axis=1)
        assert counts.tolist() == [
            int(there.count[able & (of == kind)].sum()) for kind in range(len(kinds))
        ]
    assert total.tolist() == [int(there.count[of == kind].sum()) for kind in range(len(kinds))]


@given(machines(), jobs(), st.booleans())
def test_a_policy_says_the_same_where_it_sees_each_machine(
    there: Classes, drawn: Jobs, whole: bool
) -> None:
    """What `@policy` says that a scale sees spares work: the same scale without that is asked for
    each set of needs, and sees the machines as they are. Of what is drawn all are asked."""
    demand, needs, spread = drawn
    pieces = np.zeros(3, np.int64)
    for spec in SEEING_LESS:
        known = parse(spec)
        assert isinstance(known, Policy)
        unknown = replace(known, sees=Sees.EACH)
        less = Scaler(known, RESOURCES, pieces, whole).scales(demand, needs, spread, there)
        each = Scaler(unknown, RESOURCES, pieces, whole).scales(demand, needs, spread, there)
        np.testing.assert_allclose(less.scale, each.scale, rtol=1e-12, err_msg=spec)
        assert (less.usable == each.usable).all(), spec


def test_only_policies_of_which_each_machine_counts_see_each() -> None:
    assert set(ALL) - set(SEEING_LESS) == {"per-machine-drf"}


WHERE = ["zone != z9", "zone = z0", "zone in (z0, z1)", "kind = big", "kind != big", "zone = z7"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["big", "small"])), max_size=6),
    st.lists(
        st.tuples(st.lists(st.sampled_from(WHERE), max_size=3), st.booleans()),
        min_size=1,
        max_size=10,
    ),
)
def test_a_new_constraint_changes_no_sum_that_is_kept(
    there: list[tuple[int, str]], steps: list[tuple[list[str], bool]]
) -> None:
    """Jobs come, and some go: each time the classes and the job's scale are what is computed with
    nothing kept."""
    core = Core((Unit("cpu", Fraction(1)),), "tsf", "first-fit", Options())
    for m, (zone, kind) in enumerate(there):
        labels = {"zone": f"z{zone}", "kind": kind}
        core.apply(MachineJoined(0, Machine(f"m{m}", {"cpu": 2 + m % 2}, labels)))
    for number, (where, goes) in enumerate(steps):
        name = f"j{number}"
        made = Job(name, {"cpu": 1}, tasks=1, where=", ".join(dict.fromkeys(where)))
        core.apply(JobSubmitted(0, made))
        kept, anew = core.book.classes(), scales.classes(core.state)
        for sums in (kept, anew):
            assert (sums.terms == core.state.satisfies[sums.example]).all()
        needs = core.state.needs[[core.book.ids.jobs[name]]]
        assert (kept.having(needs) == anew.having(needs)).all()
        row = core.state.job[core.book.ids.jobs[name]]
        demand = core.state.demand[[core.book.ids.jobs[name]]]
        found = core.book.scaler.scales(demand, needs, np.array([False]), anew, (name,))
        assert row["scale"] == found.scale[0]
        assert row["unit"] == found.unit[0]
        if goes:
            core.apply(JobCancelled(0, name))
    core.apply(MachineJoined(0, Machine("last", {"cpu": 3}, {"zone": "z1", "kind": "big"})))
    core.book.rescale()  # jobs that are alike at once: as each by itself
    anew = scales.classes(core.state)
    for name, j in core.book.ids.jobs.items():
        one = core.state.demand[[j]], core.state.needs[[j]], np.array([False])
        found = core.book.scaler.scales(*one, anew, (name,))
        row = core.state.job[j]
        assert (row["scale"], row["unit"]) == (found.scale[0], found.unit[0])
        assert row["usable"] == found.usable[0]


def test_thousands_of_constraints_that_part_no_machines_make_one_class() -> None:
    core = Core((Unit("cpu", Fraction(1)),), "tsf", "first-fit", Options())
    for m in range(4):
        core.apply(MachineJoined(0, Machine(f"m{m}", {"cpu": 2}, {"zone": "east"})))
    core.apply(JobSubmitted(0, Job("first", {"cpu": 1}, tasks=1)))
    before = core.book.classes().kinds
    for number in range(100):
        where = f"zone != z{number}"
        core.apply(JobSubmitted(0, Job(f"j{number}", {"cpu": 1}, tasks=1, where=where)))
    assert core.book.classes().kinds is before
