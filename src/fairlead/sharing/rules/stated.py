"""A policy whose scales are stated, job by job, by somebody who counts otherwise than it does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np
from flint import fmpq

from fairlead.sharing.numbers.amounts import quotients
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem.problem import Floats, Problem


def stated(spec: str, names: tuple[str, ...], scale: Floats) -> Policy:
    """The policy that has these scales of these jobs, on the machines as they are."""
    exact = dict(zip(names, quotients(scale), strict=True))
    return Policy(spec, View.MACHINES, partial(_scale, exact))


def _scale(exact: Mapping[str, fmpq], problem: Problem) -> Floats:
    """(J,) rationals in an array of objects, as built-in policies give them; 0 where a job can run
    nowhere."""
    scale = np.empty(len(problem.job_names), dtype=object)
    runs = np.asarray(problem.usable.any(axis=1)).tolist()
    scale[:] = [
        exact[name] if able else fmpq(0) for name, able in zip(problem.job_names, runs, strict=True)
    ]
    return cast(Floats, scale)
