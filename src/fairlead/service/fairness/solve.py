"""Answers a question: the exact allocation of what is present, and what the core is told of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairlead.model.errors import FairleadError
from fairlead.model.values import FrozenMap
from fairlead.scheduling.advice.ranking import advice_of
from fairlead.scheduling.events import Advice
from fairlead.scheduling.preemption.guarantees import by_name
from fairlead.service.fairness.interface import Answer, JobShares, Question, TenantShare
from fairlead.service.fairness.tree_sums import shares_of, sum_over_tree
from fairlead.sharing.guarantees import guarantees_of
from fairlead.sharing.present import Exact, Snapshot, exact_now
from fairlead.sharing.problem.problem import Bools, Floats


def answer(question: Question) -> Answer:
    """The answer, by the question alone. Where the solver gives none it says why."""
    try:
        return _answer(question)
    except FairleadError as error:
        return Answer(question.number, question.time, problem=str(error))


def _answer(question: Question) -> Answer:
    now, up = question.now, question.up
    empty = Answer(
        question.number,
        question.time,
        guarantees=FrozenMap() if question.guarantees else None,
        advice=() if question.advice else None,
    )
    if not len(now.job) or not len(up):
        return empty
    there = among(now, up)
    exact = exact_now(there, question.tree) if up.any() else None
    tasks = np.zeros(len(now.job)) if exact is None else exact.total
    whole = np.zeros(len(now.job), np.int64) if exact is None else guarantees_of(exact, there)
    with_all, everywhere = whole, exact
    if not up.all():
        # A job can be guaranteed less with more machines: others of its tenant need them too.
        everywhere = exact_now(now, question.tree)
        with_all = guarantees_of(everywhere, now)
    assert everywhere is not None  # there are machines
    level = _levels(exact, len(now.job))
    share = shares_of(tasks, now.scale)
    return replace(
        empty,
        jobs=JobShares(
            question.jobs,
            tasks,
            whole,
            share,
            level,
            np.maximum(with_all - whole, 0),
            everywhere.never,
        ),
        tenants=_tenants(question, share, shares_of(whole.astype(np.float64), now.scale)),
        guarantees=by_name(question.jobs, whole) if question.guarantees else None,
        advice=(() if exact is None else _advice(question, exact)) if question.advice else None,
    )


def among(now: Snapshot, machines: Bools) -> Snapshot:
    """The moment with these machines alone."""
    return replace(now, capacity=now.capacity[machines], satisfies=now.satisfies[machines])


def _levels(exact: Exact | None, jobs: int) -> Floats:
    """(J,) the level at which each job stopped rising, 0 where it never rose."""
    if exact is None:
        return np.zeros(jobs)
    by_group = np.zeros(len(exact.members))
    for part in exact.filled.filling.rounds:
        by_group[part.frozen] = part.share
    level: Floats = by_group[exact.group]
    return level


def _tenants(question: Question, share: Floats, whole: Floats) -> FrozenMap[TenantShare]:
    """Shares of the jobs added up over the tree, each divided by the tenant's weight."""
    parent, weight = question.tree.parent, question.tree.weight
    total = sum_over_tree(np.stack([share, whole], axis=1), question.now.tenant, parent)
    return FrozenMap(
        {
            name: TenantShare(*(total[t] / weight[t] if weight[t] > 0 else total[t] * 0).tolist())
            for t, name in enumerate(question.tenants)
        }
    )


def _advice(question: Question, exact: Exact) -> tuple[Advice, ...]:
    up = zip(question.machines, question.up.tolist(), strict=True)
    return advice_of(exact, question.jobs, [name for name, is_up in up if is_up])
