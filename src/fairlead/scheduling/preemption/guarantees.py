"""Guarantees: the whole tasks that the exact allocation of the present jobs gives each of them."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.values import FrozenMap
from fairlead.sharing.problem.problem import Ints


def by_name(jobs: Sequence[str], whole: Ints) -> FrozenMap[int]:
    """The whole tasks of each job; jobs with none are left out."""
    return FrozenMap({job: count for job, count in zip(jobs, whole.tolist(), strict=True) if count})
