"""Opens the engine on Ray: joins a cluster that runs, or starts one on this machine."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.engines.interface import MOST_OUTPUT, EngineError
from fairlead.model.errors import InputError
from fairlead.whole_file import write_private

if TYPE_CHECKING:
    from fairlead.engines.ray.engine import RayEngine

ANSWER = 5.0
"""Seconds in which somebody has to answer at an address."""


def open_engine(
    state: str,
    address: str | None = None,
    namespace: str = "fairlead",
    identity: str | None = None,
    most_output: int = MOST_OUTPUT,
) -> RayEngine:
    """The engine, connected to the cluster at `address` (as `ray.init` takes it; "auto" finds the
    one on this machine), or, without one, to one that is started here and goes on when this
    process ends. `state` is a folder of the service's own; `identity` is that of the engine which
    the journal names, whichever machine's service had it; `most_output` is what is kept of what an
    attempt writes, in bytes. Raises InputError and EngineError."""
    folder = Path(state)
    if address is None:
        _own_secret(folder)
        address = _local(folder)
    else:
        _use_secret()
    _connect(address, namespace)
    from fairlead.engines.ray.engine import RayEngine

    engine = RayEngine(folder, namespace=namespace, identity=identity, most_output=most_output)
    # Ray's modules stay: going through them for what may be freed takes longer than most calls.
    gc.freeze()
    return engine


# Ray reads how it authenticates when it is imported: these come before that.


def _own_secret(folder: Path) -> None:
    """The cluster that is started here is for whoever can read the state folder."""
    if "RAY_AUTH_MODE" in os.environ:
        return
    token = folder / "ray-token"
    if not token.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(token, secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token.absolute())}


def _use_secret() -> None:
    """As `ray start` does: where a token is there and nothing is said, it is used."""
    named = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if named or (Path.home() / ".ray" / "auth_token").exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _connect(address: str, namespace: str) -> None:
    if address == "local" or address.startswith("ray://"):
        raise InputError(
            f"{address!r} is no address of a cluster that runs",
            "write HOST:PORT of its head, or auto on one of its nodes",
        )
    if ":" in address and not _answers(address):
        # Ray itself would say so after minutes.
        raise EngineError(f"Ray at {address} cannot be joined: nobody answers there")
    import ray

    try:
        # Ray's workers would look for modules first in the folder where the driver is.
        with contextlib.chdir("/"):
            ray.init(
                address=address,
                namespace=namespace,
                log_to_driver=False,
                configure_logging=False,
            )
    except (ConnectionError, RuntimeError, TimeoutError, ValueError, OSError) as error:
        raise EngineError(f"Ray at {address} cannot be joined: {error}") from error


def _local(folder: Path) -> str:
    """The address of the cluster on this machine that belongs to this state; started if it is not
    there."""
    kept = folder / "ray-local.json"
    if kept.exists():
        address = str(json.loads(kept.read_text(encoding="utf-8"))["address"])
        if _answers(address):
            return address
    port = _free_port()
    done = subprocess.run(
        [
            *_ray(),
            "start",
            "--head",
            "--node-ip-address=127.0.0.1",
            f"--port={port}",
            "--include-dashboard=false",
            "--disable-usage-stats",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EngineError(f"Ray cannot be started: {(done.stderr or done.stdout).strip()[-500:]}")
    address = f"127.0.0.1:{port}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept.write_text(json.dumps({"address": address}), encoding="utf-8")
    return address


def _ray() -> list[str]:
    beside = Path(sys.executable).with_name("ray")
    program = str(beside) if beside.exists() else shutil.which("ray")
    if program is None:
        raise InputError("the command `ray` is not there", "install Ray where Fairlead is")
    return [program]


def _answers(address: str) -> bool:
    """Whether anybody does, at HOST:PORT."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER):
            return True
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
