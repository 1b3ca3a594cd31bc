"""Slurm's side of `fairlead import slurm`: outputs, live or saved, and their translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.engines.slurm.reading.commands import ask, load
from fairlead.engines.slurm.reading.parse import parse, slim
from fairlead.engines.slurm.translation import translate as translate_picture
from fairlead.model.job import Job
from fairlead.model.machine import Cluster

__all__ = ["ask", "load", "slim", "translate"]


def translate(outputs: Mapping[str, str]) -> tuple[Cluster, Sequence[Job], Sequence[str]]:
    """The cluster, its jobs, and what was assumed. Raises InputError."""
    result = translate_picture(parse(outputs))
    return result.cluster, result.jobs, result.notes
