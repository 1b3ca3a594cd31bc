"""Invariants of the search structures: the sets of machines and the tries over jobs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fairlead.scheduling.kernels.memory.spots import pair, spot
from fairlead.scheduling.kernels.memory.state import Ints, State
from fairlead.scheduling.kernels.memory.tables import GRADES, NEVER, NONE, RESOURCES, UPS, WORD
from fairlead.scheduling.kernels.search.levels import UNDER
from fairlead.scheduling.state.rows import (
    UP,
    are_held,
    are_reserved,
    bits,
    chain,
    columns,
    ever_used,
)
from fairlead.scheduling.state.stake_invariants import (
    Children,
    children_of,
    height,
    rounds_to,
    stakes,
)
from fairlead.scheduling.transitions import MachineState

LEAST = np.array([(1 + step / 4) * 2.0**power for power in range(64) for step in range(4)])
"""The least room of a machine in the set of each grade."""

SHIFTS = np.arange(0, 64, 16, dtype=np.uint64)
"""Where the parts of a node's brief stand."""


def search_structures(state: State) -> Iterator[str]:
    """Yields a sentence for each invariant that does not hold."""
    children = children_of(state)
    yield from sets(state)
    yield from tries(state, children)
    yield from stakes(state, children)
    yield from reservations(state)
    yield from spots(state)
    yield from refused(state)


def sets(state: State) -> Iterator[str]:
    """Each set has the machines that it says. Between decisions no machine's room grew."""
    machines = int(state.header[0]["machines"])
    up = state.machine["state"][:machines] == UP
    words = -(-machines // WORD)
    rows = state.sets.swapaxes(0, 1).reshape(state.sets.shape[1], -1)  # (sets, words)
    there = bits(rows[:, :words])
    told = state.machine["unset"][:machines] == 0  # sets are brought up to the others when asked
    if there[:, machines:].any() or rows[:, words:].any() or state.grades[machines:].any():
        yield "a set has machines in slots that nobody uses"
    if not state.header[0]["deciding"] and (state.header[0]["near"] or state.machine["near"].any()):
        yield "there are machines whose room grew, and nobody decides"
    if (there[UPS, :machines] != up).any():
        yield "the machines that take tasks are others"
    for r in range(state.resources):
        first = RESOURCES + GRADES * r
        room = np.where(up, state.room[:machines, r], 0).astype(float)
        holds = room >= LEAST[:, None]
        graded = there[first : first + GRADES, :machines]
        if ((graded != holds) & told).any():
            yield f"a set is wrong about who has how much room of resource {r}"
        if (graded.sum(axis=0) != state.grades[:machines, r]).any():
            yield f"a machine is in another number of sets of resource {r} than it says"
    first = RESOURCES + GRADES * state.resources
    satisfying = there[first : first + WORD * state.words, :machines]
    wrong = (satisfying != bits(state.satisfies[:machines, : state.words]).T).any(axis=1)
    for k in np.flatnonzero(wrong).tolist():
        yield f"the set of the machines that satisfy term {k} has others"


def tries(state: State, children: Children | None = None) -> Iterator[str]:
    """Each active job is a leaf of its tenant's trie of jobs, each active tenant one of its
    parent's of tenants, or of that of all without a parent."""
    children = children_of(state) if children is None else children
    parents, of_jobs, of_teams = columns(ever_used(state, "tenant"), "parent", "root", "teams")
    left, right, owner, teamed = columns(ever_used(state, "node"), "left", "right", "owner", "team")
    jobs: dict[int, set[int]] = {}
    teams: dict[int, set[int]] = {NONE: set()}
    known = ever_used(state, "job")
    active = np.flatnonzero((known["used"] == 1) & (known["active"] == 1))
    for j, t in zip(active.tolist(), known["tenant"][active].tolist(), strict=True):
        jobs.setdefault(t, set()).add(j)
        while t >= 0:
            teams.setdefault(parents[t], set()).add(t)
            t = parents[t]
    slots = np.flatnonzero(state.tenant["used"][: int(state.header[0]["tenants"])]).tolist()
    roots = [(t, of_jobs[t], jobs, 0) for t in slots]
    roots += [(t, of_teams[t], teams, 1) for t in slots]
    roots.append((NONE, int(state.header[0]["root"]), teams, 1))
    sound: list[int] = []
    used = 0
    for t, root, there, team in roots:
        nodes = _walk(left, right, root)
        used += len(nodes)
        owners = [owner[n] for n in nodes if left[n] < 0]
        if sorted(owners) != sorted(there.get(t, set())):
            yield f"the trie of tenant {t} has the {'tenants' if team else 'jobs'} {sorted(owners)}"
            continue
        sound += nodes
        for n in nodes:
            if teamed[n] != team:
                yield f"node {n} does not know of what its trie is"
            if team and left[n] < 0:
                yield from _tenant_leaf(state, n, children)
    every = np.array(sound, np.intp)
    leaf = state.node["left"][every] < 0
    yield from _sums(state, every[~leaf])
    yield from _leaves(state, every[leaf & (state.node["team"][every] == 0)])
    yield from _briefs(state, every)
    free = len(chain(left, state.header[0]["free_node"]))
    if used + free != state.header[0]["nodes"]:
        yield f"{used} nodes are used and {free} free, of {state.header[0]['nodes']}"


def _walk(left: list[int], right: list[int], root: int) -> list[int]:
    """The nodes below a root, itself first; not endless where they run in a circle."""
    found: list[int] = []
    waiting = [root] if root >= 0 else []
    while waiting and len(found) <= len(left):
        n = waiting.pop()
        found.append(n)
        if left[n] >= 0:
            waiting += [right[n], left[n]]
    return found


def _sums(state: State, nodes: Ints) -> Iterator[str]:
    """An inner node sums up the two below it."""
    if not len(nodes):
        return
    node = state.node
    left, right = node["left"][nodes], node["right"][nodes]
    parent, key, turn, fresh = (node[name] for name in ("parent", "key", "turn", "fresh"))
    for n in nodes[(parent[left] != nodes) | (parent[right] != nodes)].tolist():
        yield f"the children of node {n} have another parent"
    tie = (key[left] == key[right]) & (turn[left] <= turn[right])
    first = np.where((key[left] < key[right]) | tie, left, right)
    wrong = (key[nodes] != key[first]) | (turn[nodes] != turn[first])
    for n in nodes[wrong].tolist():
        yield f"the least below node {n} is not {node[n]['key']}, {node[n]['turn']}"
    for n in nodes[fresh[nodes] != (fresh[left] | fresh[right])].tolist():
        yield f"node {n} is wrong about whether a fresh job is below"
    least = np.minimum(state.need[left], state.need[right])
    for n in nodes[(state.need[nodes] != least).any(axis=1)].tolist():
        yield f"node {n} is wrong about the least demand below"
    terms = state.terms[left] & state.terms[right]
    for n in nodes[(state.terms[nodes] != terms).any(axis=1)].tolist():
        yield f"node {n} is wrong about the terms that all below need"
    for child in (left, right):
        earlier = (node["left"][child] >= 0) & (node["bit"][child] <= node["bit"][nodes])
        for n, above in zip(child[earlier].tolist(), nodes[earlier].tolist(), strict=True):
            yield f"node {n} does not look at a later bit than its parent {above}"


def _briefs(state: State, nodes: Ints) -> Iterator[str]:
    """A node's brief says never more than it needs, and hardly less."""
    for n in nodes[state.node["word"][nodes] != state.terms[nodes, 0]].tolist():
        yield f"node {n} says that it needs other terms than it does"
    needs = state.need[nodes, :4]
    parts = state.node["brief"][nodes, None] >> SHIFTS[: needs.shape[1]] & np.uint64(0xFFFF)
    exponent, digits = np.divmod(parts.astype(np.int64), 512)
    said = np.where(parts > 0, np.ldexp(512.0 + digits, exponent - 10), 0.0)
    for i, r in np.argwhere((said > needs) | (needs > said * (1 + 1 / 512))).tolist():
        n = int(nodes[i])
        yield f"node {n} says that it needs {said[i, r]} of resource {r}: {state.need[n, r]}"


def spots(state: State) -> Iterator[str]:
    """Each held task of a job that spreads is counted."""
    task = state.task[are_held(state.task)]
    task = task[state.job["spread"][task["job"]] == 1]
    places = spot(task["job"], task["machine"], len(state.spots))
    if (np.bincount(places, minlength=len(state.spots)) != state.spots[:, 0]).any():
        yield "tasks of jobs that spread are counted wrongly"
    alone = state.spots[places, 0] == 1
    if (pair(task["job"], task["machine"]) != state.spots[places, 1])[alone].any():
        yield "a task of a job that spreads is not the one that is counted"


def _leaves(state: State, nodes: Ints) -> Iterator[str]:
    """A leaf says of its job what the job says."""
    node, job, header = state.node, state.job, state.header[0]
    jobs = node["owner"][nodes]
    patient = (job["patient"][jobs] != 0)[:, None]
    terms = state.needs[jobs] | np.where(patient, state.prefers[jobs], np.uint64(0))
    for j in jobs[job["leaf"][jobs] != nodes].tolist():
        yield f"job {j} has another leaf than that in the trie"
    turn = job["turn" if header["filling"] and not header["fifo"] else "seq"]
    pairs = ((node["key"], job["mu"]), (node["turn"], turn), (node["fresh"], job["fresh"]))
    for j in jobs[np.any([of[nodes] != own[jobs] for of, own in pairs], axis=0)].tolist():
        yield f"the leaf of job {j} has another place in line than the job"
    wrong = (state.need[nodes] != state.demand[jobs]).any(axis=1)
    for j in jobs[wrong | (state.terms[nodes] != terms).any(axis=1)].tolist():
        yield f"the leaf of job {j} needs something else than the job"


def _tenant_leaf(state: State, n: int, children: Children) -> Iterator[str]:
    leaf = state.node[n]
    t = int(leaf["owner"])
    tenant = state.tenant[t]
    roots = [int(tenant[name]) for name in ("root", "teams") if tenant[name] >= 0]
    if not roots:
        yield f"tenant {t} has a leaf, and nothing is below it"
        return
    keys, turns, fresh = columns(state.node[roots], "key", "turn", "fresh")
    key, turn = min(zip(keys, turns, strict=True))
    if tenant["single"] or state.header[0]["fifo"]:
        pass
    else:
        exactly = height(state, t, children[t], Fraction(key))
        said = float(leaf["key"])
        if key == 0:
            near = rounds_to(exactly, said)
        else:
            near = exactly * (1 - 4 * (1 - Fraction(UNDER))) <= said <= exactly
        key = said if near else float(exactly)
    if tenant["leaf"] != n:
        yield f"tenant {t} has another leaf than {n}"
    if (leaf["key"], leaf["turn"]) != (key, turn):
        yield f"the leaf of tenant {t} has another place in line than what is below"
    if leaf["fresh"] != max(fresh):
        yield f"the leaf of tenant {t} is wrong about whether a job is fresh"
    needs, terms = state.need[roots].min(axis=0), np.bitwise_and.reduce(state.terms[roots])
    if state.need[n].tolist() != needs.tolist() or state.terms[n].tolist() != terms.tolist():
        yield f"the leaf of tenant {t} needs something else than what is below"


def refused(state: State) -> Iterator[str]:
    """A machine that says that nobody could be placed there before its room grew is right: of
    the jobs that are not fresh and that nothing but room and terms keeps away."""
    if state.header[0]["deciding"]:
        return
    machine, job = state.machine, ever_used(state, "job")
    grew = (machine["state"] == UP) & (machine["dirty"] == 1)
    known = np.flatnonzero(grew & (machine["refused"] == 1) & (machine["reserved"] == NONE))
    plain = (job["gang"] == 1) & (job["spread"] == 0) & (job["fresh"] == 0) & (job["likes"] == 0)
    waiting = (job["used"] == 1) & (job["active"] == 1) & plain
    capped = state.tenant["capped"][job["tenant"]] == 1
    jobs = np.flatnonzero(waiting & ~capped)
    for m in known.tolist():
        demand = state.demand[jobs]
        fits = ((demand == 0) | (demand <= state.before[m])).all(axis=1)
        fits &= ((state.needs[jobs] & ~state.satisfies[m]) == 0).all(axis=1)
        for j in jobs[fits].tolist():
            yield f"job {j} could be placed on machine {m} before its room grew"


def leases(state: State) -> Iterator[str]:
    """Who has something reserved has a lease, where there are any, and the first end is known."""
    header, job = state.header[0], state.job[: int(state.header[0]["jobs"])]
    tenant = state.tenant[: int(state.header[0]["tenants"])]
    ends = job["lapses"] * job["used"]
    rests = tenant["rests"] * tenant["used"]
    for name, times in (("lapse", ends), ("rest", rests)):
        first = int(times[times > 0].min(initial=NEVER))
        if header[name] != first:
            yield f"the next {name} is at {first}, not {header[name]}"
    holds = (job["used"] == 1) & ((job["reserved"] > 0) | (job["aside"] > 0))
    without = holds & (ends == 0) if header["reserve_for"] != NEVER else ends > 0
    for j in np.flatnonzero(without | ((ends > 0) & ~holds & (job["due"] == 0))).tolist():
        yield f"the lease of job {j}, which holds {job['reserved'][j]} machines, ends at {ends[j]}"


def stints(state: State) -> Iterator[str]:
    """Who holds more than its part, or did, is in the list once; nobody else owes anything."""
    tenant, count = state.tenant, int(state.header[0]["stints"])
    listed = state.stints[:count].tolist()
    places = {t: i + 1 for i, t in enumerate(listed)}
    for t in range(int(state.header[0]["tenants"])):
        place = int(tenant["stint"][t]) if tenant["used"][t] else 0
        if place != places.get(t, 0):
            yield f"tenant {t} is at place {places.get(t, 0)} of the stints, not {place}"
        if tenant["used"][t] and not place and (tenant["owes"][t] or tenant["rate"][t]):
            yield f"tenant {t} owes {tenant['owes'][t]}, and has no stint"


def reservations(state: State) -> Iterator[str]:
    """Reservations and changed machines count, and a machine is reserved only for a job that is
    there, some of whose tasks are counted on there; of a pledge none are."""
    counted = state.machine["wanted"] > 0
    for m in np.flatnonzero(counted != are_reserved(state)).tolist():
        yield f"on machine {m} {state.machine[m]['wanted']} tasks are counted on"
    yield from leases(state)
    yield from stints(state)
    reserved = state.machine["reserved"][: int(state.header[0]["machines"])]
    kinds = state.machine["state"][: int(state.header[0]["machines"])]
    owners = reserved[kinds != MachineState.GONE]
    count = int((owners != NONE).sum())
    if state.header[0]["reservations"] != count:
        yield f"{count} machines are reserved, not {state.header[0]['reservations']}"
    if state.header[0]["changed"] != (state.machine["changed"] == 1).sum():
        yield f"{state.header[0]['changed']} machines are said to be changed: others are"
    gangs: list[int] = []
    j = int(state.header[0]["gangs"])
    while j != NONE and len(gangs) <= len(state.job):
        gangs.append(j)
        j = int(state.job[j]["gang_next"])
    job = state.job[: int(state.header[0]["jobs"])]
    active = np.flatnonzero((job["used"] == 1) & (job["active"] == 1) & (job["gang"] > 1))
    if sorted(gangs) != active.tolist():
        yield f"the active gangs are said to be {gangs}, and are {active.tolist()}"
    aside = np.flatnonzero((job["used"] == 1) & (job["aside"] > 0))
    of = np.full(len(state.tenant), NONE)
    of[job["tenant"][aside]] = aside
    for t in np.flatnonzero((state.tenant["used"] == 1) & (state.tenant["aside"] != of)).tolist():
        yield f"of tenant {t} room is set aside for job {of[t]}, not {state.tenant['aside'][t]}"
    kept = np.bincount(job["tenant"], job["kept"] * job["used"], len(state.tenant))
    for t in np.flatnonzero((state.tenant["used"] == 1) & (state.tenant["kept"] != kept)).tolist():
        yield f"the room of {int(kept[t])} machines is kept for tenant {t}"
    for j in np.unique(owners[owners != NONE]).tolist():
        if not state.job[j]["used"]:
            yield f"machines are reserved for job slot {j}, which nobody uses"
