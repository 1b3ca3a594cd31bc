"""The plan of `fairlead serve`: options of the command line, of the file, and defaults."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.cli.serving.config import SETTING, Configured, read_config
from fairlead.cli.serving.values import LISTEN, journal, listening
from fairlead.client.places import check_url, state_folder
from fairlead.engines.registry import ENGINES, ORDER, PLACE
from fairlead.model.errors import InputError
from fairlead.service.journal.places import POSTGRES

if TYPE_CHECKING:
    from fairlead.model.machine import Cluster


@dataclass(frozen=True)
class Plan:
    """Options of a service, each from the command line, the file, or its default."""

    engine: str
    mode: str | None
    partition: str | None
    cluster: str | None
    address: str | None
    state: Path
    journal: str | None
    host: str
    port: int
    tls_cert: str | None
    tls_key: str | None
    behind_proxy: bool
    no_auth: bool
    log: str | None
    standby: bool
    advertise: str | None
    clock_is_right: bool
    begin_anew: bool
    state_is_moved: bool
    telemetry: bool
    configured: Configured

    @property
    def shared(self) -> bool:
        """Whether services on several machines reach the journal, which is in a database."""
        return self.journal is not None and self.journal.startswith(POSTGRES)

    @cached_property
    def described(self) -> tuple[Cluster, list[tuple[str, str]]] | None:
        """What the cluster file holds, and its text, read when it is first asked for. Raises
        InputError."""
        if self.cluster is None:
            return None
        from fairlead.cli.serving.cluster_file import read_cluster_file

        named = self.configured.options.get("cluster")
        kind = ENGINES[self.engine]
        return read_cluster_file(self.cluster, kind, configured=self.cluster == named)


def plan_of(args: argparse.Namespace) -> Plan:
    """Puts the options together. Raises InputError where they do not fit."""
    configured = read_config(Path(args.config)) if args.config else Configured()
    with configured.placing():
        return _plan(args, configured)


def _plan(args: argparse.Namespace, configured: Configured) -> Plan:
    def option(name: str, default: Any = None) -> Any:
        given = getattr(args, name)
        return configured.options.get(name, default) if given is None else given

    engine = option("engine", "local")
    mode, modes = option("mode"), ENGINES[engine].modes
    if mode is None and modes:
        raise InputError(
            f"--engine {engine} needs a mode", f"write --mode {' or --mode '.join(modes)}"
        )
    if mode is not None and mode not in modes:
        right = f"write --mode {' or --mode '.join(modes)}" if modes else "leave --mode out"
        raise InputError(f"--engine {engine} has no mode {mode!r}", right)
    partition = option("partition")
    if partition == "":  # as a variable makes that is not set: order would take all of them
        raise InputError("--partition is empty", "name a partition, or leave it out")
    if mode == PLACE and not partition:
        raise InputError(
            "--mode place needs a partition",
            "name the one that was given to the service: --partition NAME",
        )
    if partition and mode not in (ORDER, PLACE):
        raise InputError("--partition is of --mode order and --mode place", "leave it out")
    if option("address") and not ENGINES[engine].address_of:
        other = next(each for each in ENGINES.values() if each.address_of)
        raise InputError(
            f"--address is that of {other.address_of}",
            f"write --engine {other.name}, or leave it out",
        )
    if bool(option("tls_cert")) != bool(option("tls_key")):
        said = "tls_cert" if option("tls_cert") else "tls_key"
        raise InputError(
            "TLS needs a certificate and its key",
            "give --tls-cert and --tls-key",
            about=(SETTING, said) if said in configured.options else (),
        )
    if configured.sign_in is not None:
        from fairlead.extras import need

        need("joserfc")
        if option("no_auth", False):
            raise InputError(
                "without tokens nobody has to sign in: `oidc` and no_auth do not go together",
                "leave one of them out",
            )
    if option("telemetry", False):
        from fairlead.extras import need

        need("opentelemetry.sdk")
    host, port = listening(option("listen", LISTEN))
    folder, advertise, place = option("state"), option("advertise"), option("journal")
    state = Path(folder or state_folder(os.environ)).absolute()
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        state.lstat()  # what no path can be is told at once
    return Plan(
        engine=engine,
        mode=mode,
        partition=partition,
        cluster=option("cluster"),
        address=option("address"),
        state=state,
        journal=None if place is None else journal(place),
        host=host,
        port=port,
        tls_cert=option("tls_cert"),
        tls_key=option("tls_key"),
        behind_proxy=bool(option("behind_proxy", False)),
        no_auth=bool(option("no_auth", False)),
        log=option("log"),
        standby=bool(option("standby", False)),
        advertise=None if advertise is None else check_url(advertise, "--advertise"),
        clock_is_right=args.clock_is_right,
        begin_anew=args.begin_anew,
        state_is_moved=args.state_is_moved,
        telemetry=bool(option("telemetry", False)),
        configured=configured,
    )
