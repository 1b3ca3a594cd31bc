"""The tries against a plain list: whatever happened, who is next is the least that fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fairlead.scheduling.kernels.change import job_events as people
from fairlead.scheduling.kernels.change import machine_events as happen
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.search.best_first import next_near
from fairlead.scheduling.kernels.search.levels import level
from fairlead.scheduling.kernels.search.search import next_job
from fairlead.scheduling.kernels.search.signature import signatures


def cluster(rng: np.random.Generator, machines: int, terms: int, words: int = 1) -> State:
    """The machines have terms of the last of so many words."""
    state = State([0, 0])
    if words > 1:
        state.widen(words)
    if machines > len(state.machine):
        state.grow(Full.MACHINES, machines)
    state.grow(Full.JOBS, 400)
    state.grow(Full.TENANTS, 400)
    for m in range(machines):
        state.capacity[m] = rng.integers(0, 9, 2)
        state.satisfies[m, -1] = rng.integers(0, 1 << terms)
        happen.join(state.handle)
    return state


def enrol(state: State, rng: np.random.Generator, tenant: int, terms: int) -> int:
    demand = rng.integers(0, 9, (1, 2))
    needs = np.zeros((1, state.words), np.uint64)
    needs[0, -1] = rng.integers(0, 1 << terms) & rng.integers(0, 1 << terms)
    return people.enrol(
        state.handle,
        tenant,
        demand[0],
        needs[0],
        np.zeros(state.words, np.uint64),
        signatures(demand, needs, state.satisfied)[0],
        False,
        1,
        5,
        0,
        0,
        float(rng.integers(1, 4)),
        1 << 38,
        True,
    )


def least(state: State, jobs: list[int], *machines: int) -> int:
    """The next job on any of the machines, found by looking at every job."""
    found = [
        (
            level(state.handle, j),
            int(state.job["seq"][j]),
            j,
        )
        for j in jobs
        if takes(state, j, machines)
    ]
    return min(found)[2] if found else NONE


def takes(state: State, j: int, machines: Sequence[int]) -> bool:
    """Does any of the machines take a task of the job?"""
    there = list(machines)
    room = (state.demand[j] <= state.room[there]).all(axis=1)
    terms = ((state.needs[j] & ~state.satisfies[there]) == 0).all(axis=1)
    return bool((room & terms).any())


@pytest.mark.parametrize(("machines", "words"), [(12, 1), (12, 2), (150, 1), (150, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_least_that_fits(seed: int, machines: int, words: int) -> None:
    rng = np.random.default_rng(seed)
    terms = int(rng.integers(1, 6))
    state = cluster(rng, machines, terms, words)
    tenants = [people.new_tenant(state.handle, NONE, float(rng.integers(1, 4))) for _ in range(3)]
    tenants.append(people.new_tenant(state.handle, tenants[0], 2.0))
    jobs: list[int] = []
    for _ in range(100):
        if jobs and rng.random() < 0.4:
            j = jobs.pop(int(rng.integers(len(jobs))))
            people.cancel(state.handle, j)
            people.forget(state.handle, j)
        elif jobs and rng.random() < 0.3:
            j = jobs[int(rng.integers(len(jobs)))]
            scale, one = float(rng.integers(1, 9)), np.ones(1, np.int64)
            people.rescale(state.handle, j * one, scale * np.ones(1), (1 << 37) * one, one)
        else:
            jobs.append(enrol(state, rng, [*tenants, NONE][int(rng.integers(5))], terms))
        m = int(rng.integers(machines))
        assert next_job(state.handle, m) == least(state, jobs, m)
        some = rng.choice(machines, int(rng.integers(1, machines + 1)), replace=False).tolist()
        assert next_of(state, some) == least(state, jobs, *some)


def next_of(state: State, machines: list[int]) -> int:
    """The next job on any of the machines if nobody is fresh: a decision would begin with it."""
    whole = state.header[0]
    jobs = np.flatnonzero((state.job["used"] == 1) & (state.job["active"] == 1))
    fresh = state.job["fresh"][jobs].copy(), state.node["fresh"].copy()
    state.job["fresh"][jobs], state.node["fresh"] = 0, 0
    dirty = state.machine["dirty"].copy()
    state.machine["dirty"] = 0
    state.machine["dirty"][machines] = 1
    state.dirty[: len(machines)] = machines
    whole["dirty"], whole["heap"] = len(machines), -1
    whole["decided"] += 1
    found = next_near(state.handle)
    while found != NONE and not takes(state, found, machines):
        state.job["tried"][found] = whole["decided"]  # as `decide` does where nothing takes it
        found = next_near(state.handle)
    state.job["fresh"][jobs], state.node["fresh"] = fresh
    state.machine["dirty"] = dirty
    whole["dirty"] = int(dirty.sum())
    state.dirty[: whole["dirty"]] = np.flatnonzero(dirty)
    return int(found)


def test_an_empty_trie_has_nobody() -> None:
    state = cluster(np.random.default_rng(0), 1, 1)
    assert next_job(state.handle, 0) == NONE


def test_alike_jobs_have_signatures_that_begin_alike() -> None:
    demand = np.array([[100, 5], [101, 5], [3, 900]], np.int64)
    needs = np.zeros((3, 1), np.uint64)
    words = signatures(demand, needs, np.zeros(64, np.int64))
    assert words[0] == words[1] != words[2]
