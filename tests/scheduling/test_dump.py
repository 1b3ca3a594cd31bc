"""A core that was dumped and loaded decides as the one that was dumped, whenever that was."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.plain import plain_job
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch, Stop
from fairlead.scheduling.dump import LEFT_OUT, START, dump, load, take
from fairlead.scheduling.kernels.memory.state import FIELDS
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.agreement import core_refuses, make_core
from tests.scheduling.draw import Case, draw

CASES = 8


def same(one: Core, other: Core) -> None:
    """Sees that the two stand alike in all that can be seen."""
    assert one.digest() == other.digest()
    assert one.wake() == other.wake()
    for name in FIELDS:
        if name not in LEFT_OUT:
            assert np.array_equal(getattr(one.state, name), getattr(other.state, name)), name
    assert vars(one.ids) == vars(other.ids)
    for name in ("machine_at", "job_at", "tenant_at", "terms"):
        mine, others = getattr(one.ids, name), getattr(other.ids, name)
        assert list(mine.items()) == list(others.items()), name
        assert repr(list(mine.items())) == repr(list(others.items())) or name == "terms"
    assert one.pending == other.pending


@pytest.mark.parametrize("chunk", range(4))
def test_what_was_loaded_decides_as_what_was_dumped(chunk: int, cases: int) -> None:
    for seed in range(chunk, CASES * cases, 4):
        case, random = draw(seed), Random(seed)
        core = make_core(case)
        other: Core | None = None
        at = random.randrange(len(case.instants))
        inside = random.random() < 0.5  # between the events of an instant, or between instants
        for place, instant in enumerate(case.instants):
            cut = random.randrange(len(instant) + 1) if inside and instant else 0
            for number, event in enumerate(instant):
                if place == at and number == cut:
                    other = load(dump(core))
                    same(core, other)
                said = core_refuses(core, event)
                if other is not None:
                    assert core_refuses(other, event) == said
            if place == at and cut == len(instant):
                other = load(dump(core))
            if other is not None:
                other.checked = True
                assert other.decide() == core.decide(), (seed, place)
                same(core, other)
            else:
                core.decide()
            if other is not None and random.random() < 0.1:
                core, other = other, load(dump(other))
                same(core, other)


def test_a_dump_is_the_same_bytes_of_the_same_core_and_of_the_one_it_gives() -> None:
    for seed in range(10):
        case = draw(seed)
        first, again = after(case), after(case)
        data = dump(first)
        assert dump(again) == data
        assert dump(load(data)) == data


def busy_with(seed: int) -> Core:
    return after(draw(seed))


def after(case: Case) -> Core:
    """A core that has lived through it."""
    core = make_core(case)
    for instant in case.instants:
        for event in instant:
            core_refuses(core, event)
        core.decide()
    return core


def test_what_happens_later_does_not_change_what_was_taken() -> None:
    core = crowded()
    taken, data = take(core), dump(core)
    core.handle(events.JobSubmitted(10**9, Job("later", {"cpu": 1}, tenant="a")))
    core.handle(events.MachineLeft(10**9, "m0"))
    assert taken.encode() == data
    assert dump(core) != data


def crowded(preempt_after: int | None = 50) -> Core:
    """A core with somebody below its guarantee, for whom tasks were told to stop, and advice."""
    core = Core(
        [Unit("cpu"), Unit("gpu", Fraction(1, 1000), 1000)],
        "drfh",
        "best-fit",
        Options(preempt_after=preempt_after),
    )
    for m in range(4):
        core.apply(events.MachineJoined(1, Machine(f"m{m}", {"cpu": 4, "gpu": 2})))
    core.apply(events.TenantChanged(1, Tenant("a", weight=2, limit={"cpu": 9})))
    core.apply(events.TenantChanged(1, Tenant("b")))
    core.apply(events.JobSubmitted(1, Job("big", {"cpu": 1}, tenant="b", tasks=100)))
    core.decide()
    core.apply(events.JobSubmitted(2, Job("small", {"cpu": 1, "gpu": "0.5"}, tenant="a")))
    core.apply(events.GuaranteesChanged(2, FrozenMap({"small": 3, "big": 4})))
    core.decide()
    return core


def test_what_preemption_remembers_is_dumped_too() -> None:
    core = crowded()
    assert core.wake() is not None
    other = load(dump(core))
    same(core, other)
    said = core.handle(events.TimePassed(100))
    assert any(isinstance(each, Stop) for each in said)
    assert other.handle(events.TimePassed(100)) == said
    again = load(dump(other))
    same(core, again)
    stopped = [each for each in said if isinstance(each, Stop)]
    last = []
    for one in (core, again):
        for each in stopped:
            one.apply(events.TaskStopped(101, each.job, each.task))
        last.append(one.decide())
    assert last[0] == last[1]
    assert any(isinstance(each, Launch) and each.job == "small" for each in last[0])
    same(core, again)


def test_what_a_cancelled_job_has_to_say_is_dumped_too() -> None:
    core = crowded()
    core.apply(events.JobCancelled(3, "big"))
    assert core.pending
    other = load(dump(core))
    said = core.decide()
    assert other.decide() == said
    assert any(isinstance(each, Stop) for each in said)


def test_a_loaded_core_grows() -> None:
    core = load(dump(crowded(None)))
    other = crowded(None)
    for one in (core, other):
        for j in range(300):
            one.apply(events.JobSubmitted(5, Job(f"j{j}", {"cpu": 1}, where=f"x{j} = 1")))
        for m in range(200):
            one.apply(events.MachineJoined(6, Machine(f"n{m}", {"cpu": 9}, {f"x{m}": "1"})))
    assert core.decide() == other.decide()
    same(core, other)


# Versions, and what is no dump


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    place = len(START) + 8
    length = int.from_bytes(data[len(START) : place], "little")
    return json.loads(data[place : place + length]), data[place + length :]


def with_header(header: dict[str, Any], blobs: bytes) -> bytes:
    text = json.dumps(header).encode()
    return START + len(text).to_bytes(8, "little") + text + blobs


def without(data: bytes, *names: str) -> bytes:
    """The dump as a version wrote it that had no such arrays or fields."""
    header, blobs = header_of(data)
    kept, arrays, place = b"", [], 0
    for name, dtype, shape, rows in header["arrays"]:
        size = np.dtype(dtype).itemsize * rows * int(np.prod(shape[1:], dtype=int))
        if name not in names:
            arrays.append([name, dtype, shape, rows])
            kept += blobs[place : place + size]
        place += size
    return with_header(header | {"arrays": arrays}, kept)


def test_what_a_newer_version_added_is_as_in_a_new_core() -> None:
    core = crowded(None)
    data = without(dump(core), "whole.soonest", "job.due", "unset", "machine.mark")
    other = load(data)
    assert other.state.header[0]["soonest"] == 0
    assert other.digest() == core.digest()
    assert other.state.unset.shape == core.state.unset.shape


def test_jobs_that_an_older_version_wrote_one_by_one_are_read() -> None:
    core = crowded()
    header, blobs = header_of(dump(core))
    del header["kinds"]
    header["jobs"] = [[j, plain_job(each)] for j, each in core.ids.job_at.items()]
    same(core, load(with_header(header | {"version": 1}, blobs)))


def test_a_new_field_of_the_whole_begins_as_in_a_new_core() -> None:
    core = Core([Unit("cpu")])
    assert core.state.header[0]["first"] == -1
    assert load(without(dump(core), "whole.first")).state.header[0]["first"] == -1


def test_what_an_older_version_had_is_passed_over() -> None:
    core = crowded(None)
    data = dump(core)
    header, blobs = header_of(data)
    # Two retired arrays and a field, in the middle of the others, and an array to work in.
    first, *rest = header["arrays"]
    size = np.dtype(first[1]).itemsize * first[3] * int(np.prod(first[2][1:], dtype=int))
    old = [["heap", "<i8", [64], 2], ["whole.mark", "<i8", [1], 1], ["front.seq", "<i8", [9], 1]]
    header["arrays"] = [first, *old, *rest]
    other = load(with_header(header, blobs[:size] + b"\1" * 32 + blobs[size:]))
    assert dump(other) == data
    same(core, other)


def test_what_a_decision_works_in_has_room_again() -> None:
    core = Core([Unit("cpu")])
    for m in range(300):
        core.apply(events.MachineJoined(0, Machine(f"n{m}", {"cpu": 1})))
    other = load(dump(core))
    for name in LEFT_OUT:
        assert getattr(other.state, name).shape == getattr(core.state, name).shape
    for one in (core, other):
        one.apply(events.JobSubmitted(1, Job("a", {"cpu": 1}, tasks=200)))
        one.apply(events.JobSubmitted(1, Job("b", {"cpu": 1}, tasks=200)))
    assert core.decide() == other.decide()
    same(core, other)


def test_what_is_not_known_is_refused() -> None:
    header, blobs = header_of(dump(crowded()))
    header["arrays"].append(["job.mood", "<i8", [64], 0])
    with pytest.raises(InputError, match=r"it has job\.mood, which is not known"):
        load(with_header(header, blobs))
    with pytest.raises(InputError, match="its version is 3, known is 2"):
        load(with_header(header | {"version": 3}, blobs))


@pytest.mark.parametrize("fields", [("arrays",), ("stopping",), ("jobs",), ("terms", "stale")])
def test_a_header_that_lacks_something_is_refused(fields: tuple[str, ...]) -> None:
    header, blobs = header_of(dump(crowded()))
    for name in fields:
        del header[name]
    with pytest.raises(InputError, match="no dump of a core"):
        load(with_header(header, blobs))


def test_a_damaged_dump_is_refused_with_a_sentence_or_is_another_dump() -> None:
    data, random = dump(crowded()), Random(3)
    for wrong in (b"", b"x", data[:-1], data + b"x", START, data[: len(START) + 4], data[:4000]):
        with pytest.raises(InputError, match="no dump of a core"):
            load(wrong)
    length = len(START) + 8 + len(json.dumps(header_of(data)[0], separators=(",", ":")))
    refused = 0
    for _ in range(60):
        place = random.randrange(length)
        wrong = data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]
        try:
            load(wrong)
        except InputError:
            refused += 1
    assert refused > 30


def test_a_core_of_another_kind_or_one_in_use_is_not_loaded_into() -> None:
    data = dump(crowded())
    with pytest.raises(InputError, match="its policy is drfh, and this core's is tsf"):
        load(data, Core([Unit("cpu"), Unit("gpu", Fraction(1, 1000), 1000)], "tsf"))
    with pytest.raises(InputError, match="is not a new one"):
        load(data, crowded())


def test_rules_of_ones_own_are_not_run_by_a_dump(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    ran = tmp_path / "ran"
    file.write_text(
        "from pathlib import Path\n"
        "from fairlead.scheduling.placement.registry import placement\n"
        f"Path({str(ran)!r}).touch()\n"
        "@placement('mine')\n"
        "def mine(state, job, machine, pieces):\n"
        "    return 0.0\n"
    )
    named = f"{file}:mine"
    header, blobs = header_of(dump(Core([Unit("cpu")])))
    data = with_header(header | {"placement": named}, blobs)
    with pytest.raises(InputError, match="of a file"):
        load(data)
    with pytest.raises(InputError, match="of a file"):
        load(with_header(header | {"policy": "./p.py:mine"}, blobs))
    assert not ran.exists()
