"""The engines that a service can be started with, by name, and what each of them is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairlead.extras import need

if TYPE_CHECKING:  # the command line lists the engines in its help
    from pathlib import Path

    from fairlead.engines.interface import Engine
    from fairlead.model.machine import Cluster


ORDER, PLACE = "order", "place"
"""The mode in which tasks are launched on a cluster that another scheduler runs."""


@dataclass(frozen=True)
class EngineKind:
    """An engine's properties that are needed before it is opened.

    `opener`: what opens it, as module:function. `supervised`: it does so in a child process of its
    own, and takes plain settings, `state` and `address`; others take the state folder and the
    machines of the cluster file, and have `notes` and `warnings`.
    """

    name: str
    opener: str
    supervised: bool
    machines_from: str = ""
    """The source of the machines' names; empty where the user does, in the cluster file."""
    address_of: str = ""
    """The thing that `--address` leads to; empty where there is none."""
    package: str = ""
    """The package that must be installed beside Fairlead."""
    checker: str = ""
    """What raises InputError where this machine has not what it takes, as module:function."""
    shared: bool = False
    """Its tasks and outputs are where a service on another machine can go on with them."""
    modes: tuple[str, ...] = ()
    """The modes in which it serves a cluster that another scheduler runs; it is opened with one of
    them."""
    looker: str = ""
    """What looks at that cluster without opening it, as module:function."""


ENGINES = {
    each.name: each
    for each in (
        EngineKind("local", "fairlead.engines.local.engine:LocalEngine", supervised=False),
        EngineKind(
            "ray",
            "fairlead.engines.ray.opening:open_engine",
            supervised=True,
            machines_from="Ray",
            address_of="a Ray cluster",
            package="ray",
            shared=True,
        ),
        EngineKind(
            "slurm",
            "fairlead.engines.slurm.opening:open_slurm",
            supervised=False,
            machines_from="Slurm",
            checker="fairlead.engines.slurm.opening:check_commands",
            modes=("observe", ORDER, PLACE),
            looker="fairlead.engines.slurm.opening:look_at_slurm",
        ),
    )
}


IMPORTERS = {"slurm": "fairlead.engines.slurm.importing"}
"""Clusters that `fairlead import` makes files of: the module with `ask` (outputs of the live
cluster), `load` (saved ones), `slim` (what is worth saving) and `translate`."""


def check_there(kind: EngineKind) -> None:
    """Raises InputError where this machine has not what the engine takes: it is in vain to wait."""
    if kind.package:
        need(kind.package)  # a supervised engine would say so from a process of its own
    if kind.checker:
        _named(kind.checker)()


def open_engine(
    kind: EngineKind,
    state: Path,
    cluster: Cluster | None,
    address: str | None,
    identity: str | None = None,
    mode: str | None = None,
    every: int = 0,
    partition: str | None = None,
    *,
    most_output: int,
) -> tuple[Engine, list[str], list[str]]:
    """The engine, what is to be said of it, and what to warn of. `identity`: of the engine that
    the journal names, for one that is shared or has modes. `mode`, `every`: what it is to a cluster
    that another scheduler runs, and microseconds between two readings of it. `partition`: of that
    cluster, where tasks are launched. `most_output`: bytes that are kept of what an attempt
    writes; those that have modes keep all. Raises InputError and EngineError."""
    if kind.supervised:
        from fairlead.engines.supervised.remote import RemoteEngine

        settings = {
            "state": str(state),
            "address": address,
            "identity": identity,
            "most_output": most_output,
        }
        return RemoteEngine(kind.opener, settings), [], []
    opener = _named(kind.opener)
    if kind.modes:
        opened, warnings = opener(mode, every, state, partition, identity)
        return opened, [], warnings
    machines = cluster if cluster is not None and cluster.machines else None
    engine = opener(state, machines, most_output=most_output)
    return engine, list(engine.notes), list(engine.warnings)


def look_at(kind: EngineKind, mode: str | None, partition: str | None) -> tuple[str, list[str]]:
    """The cluster that another scheduler runs, in a sentence, without opening the engine, and what
    to warn of where it is served in this mode. Raises InputError and EngineError."""
    found: tuple[str, list[str]] = _named(kind.looker)(mode, partition)
    return found


def _named(text: str) -> Any:
    """A thing by its module:name."""
    module, _, name = text.partition(":")
    return getattr(import_module(module), name)
