"""What every generator of workloads keeps, whatever it generates."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import satisfies
from fairlead.simulation.workload import JobBatch, MachineEvent, Workload
from fairlead.simulation.workloads import registry
from fairlead.simulation.workloads.jobs import BATCH
from tests.surroundings import said_under_another_hash_seed

ROOT = Path(__file__).resolve().parents[3]

SMALL = {
    "google-hour": "google-hour(machines=60)",
    "tsf-study": "tsf-study(machines=60, jobs=450, tasks=18000)",
    "choosy-study": "choosy-study(machines=60, jobs=30)",
    "overload": "overload(machines=60, jobs=5000, each=3)",
    "month": "month(machines=60, jobs=9000, tasks=400000)",
    "table-ii": "table-ii",
    "kdf-6.3": "kdf-6.3",
    "random": "random",
}
"""Each generator, small enough for a test; some give several batches."""

DRAW_NOTHING = {"kdf-6.3"}
ANY_DEMAND = {"random"}
"""Its jobs may be larger than every machine, and may find none that they can use."""

EVERY = pytest.mark.parametrize("name", registry.names())


def digest(workload: Workload) -> str:
    """A digest of all that the workload holds."""
    found = hashlib.sha256()

    def add(value: object) -> None:
        if isinstance(value, np.ndarray):
            found.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                if field.name != "batches":
                    add(field.name)
                    add(getattr(value, field.name))
        elif isinstance(value, tuple):
            for part in value:
                add(part)
        elif isinstance(value, frozenset):
            add(tuple(sorted(value)))
        else:
            found.update(repr(value).encode())

    add(workload)
    for batch in workload.batches():
        add(batch)
    return found.hexdigest()


def machines(workload: Workload) -> Iterator[Machine]:
    """The machines with their labels, without capacities."""
    for name, labels in zip(workload.machines.names, workload.machines.labels, strict=True):
        yield Machine(name, FrozenMap[Fraction](), labels)


def usable(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Per term and machine, whether the machine satisfies it, and each machine's first capacity."""
    allowed = np.array(
        [[satisfies(machine, term) for machine in machines(workload)] for term in workload.terms],
        np.bool_,
    ).reshape(len(workload.terms), len(workload.machines.names))
    table = workload.machines
    adds = table.kind == MachineEvent.ADD
    order = np.unique(table.machine[adds], return_index=True)[1]
    return allowed, table.capacity[adds][order]


def total(batches: list[JobBatch], field: str) -> np.ndarray:
    return np.concatenate([getattr(batch, field) for batch in batches])


def test_every_generator_is_tested() -> None:
    assert list(SMALL) == list(registry.names())


@EVERY
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    assert digest(registry.generate(SMALL[name], 3)) == digest(registry.generate(SMALL[name], 3))


def test_no_order_of_hashing_changes_a_byte() -> None:
    code = (
        "from tests.simulation.workloads.test_contract import SMALL, digest, registry\n"
        "print([digest(registry.generate(spec, 3)) for spec in SMALL.values()])"
    )
    here = [digest(registry.generate(spec, 3)) for spec in SMALL.values()]
    assert said_under_another_hash_seed("-c", code) == f"{here}\n"


def test_a_stream_holds_no_more_than_a_batch_of_jobs() -> None:
    for spec in ("month(machines=60, jobs=9000, tasks=400000)", "overload(machines=60, jobs=9000)"):
        sizes = [len(batch) for batch in registry.generate(spec, 1).batches()]
        assert sizes == [BATCH, BATCH, 9000 - 2 * BATCH]


@EVERY
def test_another_seed_gives_another_workload(name: str) -> None:
    one, other = (registry.generate(SMALL[name], seed) for seed in (3, 4))
    batches = [list(each.batches()) for each in (one, other)]
    times = [total(each, "durations") for each in batches]
    differs = times[0].shape != times[1].shape or bool((times[0] != times[1]).any())
    differs |= bool((total(batches[0], "submit") != total(batches[1], "submit")).any())
    assert differs is (name not in DRAW_NOTHING)


@EVERY
def test_batches_start_anew_and_do_not_depend_on_who_reads_them(name: str) -> None:
    workload = registry.generate(SMALL[name], 5)
    half_read = workload.batches()
    next(half_read)
    whole = [batch.durations.tobytes() for batch in workload.batches()]
    assert [batch.durations.tobytes() for batch in half_read] == whole[1:]


@EVERY
def test_arrays_have_their_shapes_and_jobs_their_order(name: str) -> None:
    workload = registry.generate(SMALL[name], 1)
    resources, words = len(workload.resources), -(-len(workload.terms) // 64)
    last = 0
    for batch in workload.batches():
        jobs = len(batch)
        assert batch.demand.shape == (jobs, resources)
        assert batch.needs.shape == (jobs, words)
        for field in ("submit", "tenant", "tasks", "spread", "gang"):
            assert getattr(batch, field).shape == (jobs,)
        for field in ("submit", "tenant", "demand", "tasks", "gang", "durations", "first"):
            assert getattr(batch, field).dtype == np.int64
        assert batch.needs.dtype == np.uint64
        assert batch.spread.dtype == np.bool_
        times = np.concatenate([[last], batch.submit])
        assert (np.diff(times) >= 0).all()
        last = int(batch.submit[-1])
        given = np.diff(batch.first)
        assert batch.first[0] == 0
        assert batch.first[-1] == len(batch.durations)
        assert ((given == batch.tasks) | (given == 1)).all()
        assert (batch.durations > 0).all()
        assert (batch.tasks >= 1).all()
        assert ((batch.gang >= 1) & (batch.gang <= batch.tasks)).all()
        assert (batch.tenant >= -1).all()
        assert (batch.tenant < max(1, len(workload.tenants))).all()
        assert (batch.demand >= 0).all()
        assert (batch.demand.sum(1) > 0).all()
        assert (batch.needs < (1 << len(workload.terms))).all()
        if batch.prefers is not None:
            assert batch.prefers.shape == (jobs, words)
            assert batch.prefers.dtype == np.uint64
            assert (batch.prefers < (1 << len(workload.terms))).all()
        for told in (batch.patience, batch.expected):
            if told is not None:
                assert told.shape == (jobs,)
                assert told.dtype == np.int64
                assert (told >= 0).all()


@EVERY
def test_jobs_and_tasks_are_as_many_as_it_says(name: str) -> None:
    workload = registry.generate(SMALL[name], 2)
    batches = list(workload.batches())
    assert sum(map(len, batches)) == workload.jobs
    assert int(total(batches, "tasks").sum()) == workload.tasks


@EVERY
def test_machines_come_before_they_change_or_go(name: str) -> None:
    table = registry.generate(SMALL[name], 2).machines
    assert len(table.labels) == len(table.names) == len(set(table.names))
    assert (np.diff(table.time) >= 0).all()
    assert (table.capacity >= 0).all()
    there: set[int] = set()
    for machine, kind in zip(table.machine.tolist(), table.kind.tolist(), strict=True):
        assert (machine in there) is (kind != MachineEvent.ADD)
        there ^= {machine} if kind != MachineEvent.UPDATE else set()
    assert set(table.machine.tolist()) == set(range(len(table.names)))


@pytest.mark.parametrize("name", [name for name in registry.names() if name not in ANY_DEMAND])
def test_every_job_can_run_on_some_machine(name: str) -> None:
    workload = registry.generate(SMALL[name], 6)
    allowed, capacity = usable(workload)
    for batch in workload.batches():
        for start in range(0, len(batch), 500):
            part = slice(start, start + 500)
            fits = (batch.demand[part, None, :] <= capacity[None]).all(2)
            for term, machines_of in enumerate(allowed):
                needs = (batch.needs[part, term // 64] >> np.uint64(term % 64)) & np.uint64(1)
                fits &= machines_of | (needs == 0)[:, None]
            assert np.any(fits, axis=1).all()


@EVERY
def test_notes_are_sentences_and_the_name_can_be_written_again(name: str) -> None:
    workload = registry.generate(SMALL[name], 9)
    assert workload.notes
    assert [note for note in workload.notes if not re.fullmatch(r"[A-Z0-9].+\.", note)] == []
    again = registry.generate(workload.name, 1)
    assert again.name == workload.name
    assert digest(again) == digest(workload)


@EVERY
def test_every_generator_and_parameter_is_in_the_reference(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "workloads.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page
    written = registry.about(name).partition("):")[0].partition("(")[2]
    parameters = [part.partition("=")[0].strip() for part in written.split(",")]
    assert [key for key in parameters if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("tsf-stdy", "there is no generator `tsf-stdy`; did you mean tsf-study?"),
        ("nothing-like-it", "there are google-hour, "),
        ("tsf-study(nodes)", "has no parameter for `nodes`"),
        ("tsf-study(machines=x)", "`machines` must be a whole number"),
        ("tsf-study(", "is not how a generator is written"),
        ("tsf-study(seed=-1)", "the seed -1 is negative"),
        ("tsf-study(machines=0)", "0 machines; write at least 1"),
        ("tsf-study(jobs=0)", "0 jobs; write at least 1"),
        ("tsf-study(tasks=5000)", "5000 tasks are too few for 4500 jobs"),
        ("tsf-study(times=normal)", "there are no times called `normal`; there are constant, "),
        ("tsf-study(times=pareto, alpha=1)", "Pareto times with alpha=1 have no mean"),
        ("tsf-study(times=uniform, vary=1)", "vary=1; write at least 0 and less than 1"),
        ("tsf-study(constraints=all)", "there are no constraints called `all`; there are none, "),
        ("tsf-study(mean=-1)", "a negative time or load"),
        ("tsf-study(least=2)", "least=2; write from 0 to 1"),
        ("month(days=-1)", "a negative time or load"),
        ("tsf-study(trace=nowhere.csv)", "no such file: nowhere.csv"),
        ("google-hour(mean=1, load=1)", "has a mean and a load; write one of them"),
        ("google-hour(nodes=nowhere.csv)", "no such file: nowhere.csv"),
        ("month(jobs=1000001, tasks=40000000)", "1000001 jobs cannot all differ"),
        ("choosy-study(sample=2011)", "there is no Facebook sample `2011`; there are 2009_0"),
        ("choosy-study(largest=10)", "largest=10; write at least 1501"),
        ("choosy-study(mean=3)", "has both or none of load and mean"),
        ("choosy-study(slots=0)", "without machines, jobs or slots"),
        ("random(machines=0)", "without machines or jobs"),
        ("table-ii(vary=-1)", "vary=-1"),
    ],
)
def test_a_mistake_ends_in_a_sentence(spec: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        registry.generate(spec, 0)
    assert says in str(raised.value)


def test_a_generator_is_told_from_a_file() -> None:
    assert registry.is_generator("tsf-study(jobs=3, tasks=4000)")
    assert registry.is_generator("choosy-study:30")
    assert not registry.is_generator("traces/tsf-study.csv")
