"""The cluster file of a service: read, and refused, before anything is imported that takes long."""

from __future__ import annotations

from dataclasses import replace

from fairlead.cli.common.inputs import texts_of
from fairlead.cli.serving.config import SETTING, refuse_standard_input
from fairlead.engines.registry import EngineKind
from fairlead.model.errors import InputError
from fairlead.model.machine import Cluster
from fairlead.model.reading import read, read_parts


def read_cluster_file(
    name: str, kind: EngineKind, *, configured: bool
) -> tuple[Cluster, list[tuple[str, str]]]:
    """The machines and tenants of this file for an engine, and the text that they are from.
    `configured`: a file of settings names it. Raises InputError."""
    refuse_standard_input(name, "machines")
    try:
        given = texts_of([name])
    except InputError as error:
        if not configured:
            raise
        # Whoever named it there is told where.
        about = (SETTING, "cluster")
        raise InputError(replace(each, about=about) for each in error.mistakes) from error
    cluster, jobs = read_parts(given) if kind.machines_from else read(given)
    if jobs:
        raise InputError(
            f"{name} describes jobs, too: the service would not run them",
            "put them into a file of their own and submit that",
        )
    if kind.machines_from and cluster.machines:
        raise InputError(
            f"{name} describes machines, and with --engine {kind.name} they come from"
            f" {kind.machines_from}",
            "leave them out",
        )
    return cluster, given
