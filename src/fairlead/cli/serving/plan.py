"""What `fairlead serve` is to do: options of the command line, of the file, and defaults."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.cli.serving.config import Configured, read_config
from fairlead.client.places import state_folder
from fairlead.engines.registry import ENGINES
from fairlead.model.errors import InputError, Mistake

LISTEN = "127.0.0.1:7370"
"""Where the service listens if nothing is said."""


@dataclass(frozen=True)
class Plan:
    """What is served: the options, each from the command line, the file, or its default."""

    engine: str
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
    configured: Configured


def plan_of(args: argparse.Namespace) -> Plan:
    """What is to be served. Raises InputError."""
    configured = read_config(Path(args.config)) if args.config else Configured()

    def said(name: str, default: Any = None) -> Any:
        given = getattr(args, name)
        return configured.options.get(name, default) if given is None else given

    engine = said("engine", "local")
    if engine not in ENGINES:
        raise InputError(Mistake(f"there is no engine {engine!r}", f"write {' or '.join(ENGINES)}"))
    if said("address") and not ENGINES[engine].address_of:
        other = next(each for each in ENGINES.values() if each.address_of)
        raise InputError(
            Mistake(
                f"--address is that of {other.address_of}",
                f"write --engine {other.name}, or leave it out",
            )
        )
    if bool(said("tls_cert")) != bool(said("tls_key")):
        raise InputError(
            Mistake("TLS needs a certificate and its key", "give --tls-cert and --tls-key")
        )
    host, port = listening(said("listen", LISTEN))
    folder = said("state")
    return Plan(
        engine=engine,
        cluster=said("cluster"),
        address=said("address"),
        state=Path(folder or state_folder(os.environ)).absolute(),
        journal=said("journal"),
        host=host,
        port=port,
        tls_cert=said("tls_cert"),
        tls_key=said("tls_key"),
        behind_proxy=bool(said("behind_proxy", False)),
        no_auth=bool(said("no_auth", False)),
        log=said("log"),
        configured=configured,
    )


def listening(text: str) -> tuple[str, int]:
    """The host and the port. Raises InputError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise InputError(
            Mistake(f"--listen {text!r} is not where to listen", f"write HOST:PORT, as in {LISTEN}")
        )
    return host, int(port)
