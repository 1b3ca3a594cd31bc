"""Puts the service together: its journal, its engine, its adviser; and serves it."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import say
from fairlead.cli.common.remote import complain
from fairlead.cli.serving.anew import NewJournal
from fairlead.cli.serving.compiling import compile_first
from fairlead.cli.serving.plan import Plan
from fairlead.cli.serving.process import WARNING, forget_process, note_process
from fairlead.engines.interface import Engine, EngineError
from fairlead.engines.registry import ENGINES, open_engine
from fairlead.model.errors import InputError, OutputError
from fairlead.model.machine import Cluster
from fairlead.model.words import counted
from fairlead.service.journal.entry import JournalError

if TYPE_CHECKING:
    from fairlead.service.loop.loop import Service
    from fairlead.service.mailbox import Mailbox
    from fairlead.service.metrics import Metrics

SHARES = "shares-history"
"""File of the shares over time; nothing depends on it."""

HEAD = "journal-head"
"""File that notes how far a journal in a database went."""


def serve_now(plan: Plan) -> int:
    """Serves until it is told to stop. Raises InputError where it cannot begin, and OutputError
    where it cannot go on: nothing that was accepted is lost then."""
    from fairlead.service.fairness.history_file import LastingHistory
    from fairlead.service.fairness.process import WorkerAdviser
    from fairlead.service.journal.places import open_store
    from fairlead.service.loop.loop import Service
    from fairlead.service.metrics import Metrics
    from fairlead.service.process.clock import SteadyClock, check_clock, wall_clock
    from fairlead.service.process.logs import Level, Logs
    from fairlead.service.process.server import Serving, check_listening, serve
    from fairlead.service.recovery import verify_process as checked_aside
    from fairlead.service.recovery.recover import last_time

    cert, key = _path(plan.tls_cert), _path(plan.tls_key)
    check_listening(plan.host, cert, key, behind_proxy=plan.behind_proxy, no_auth=plan.no_auth)
    cluster = cluster_of(plan)
    settings = plan.configured.settings
    if cluster is not None:
        settings = replace(settings, tenants=cluster.tenants)
        if cluster.devices:
            named = dict.fromkeys([*settings.devices, *sorted(cluster.devices)])
            settings = replace(settings, devices=tuple(named))
    _private(plan.state)
    begun = False
    with ExitStack() as open_:
        try:
            new = NewJournal(plan.state, plan.begin_anew)
            store = open_store(plan.journal or plan.state, plan.state / HEAD, new)
            open_.callback(store.close)
            new.check()
            clock = SteadyClock(lambda text: complain(f"{WARNING}{text}"))
            check_clock(clock(), last_time(store), is_right=plan.clock_is_right)
            engine, notes, warnings = engine_of(plan, cluster)
            open_.callback(engine.close)
            if new.aside is not None:
                notes = [f"what an earlier journal left is in {new.aside}", *notes]
            for each in warnings:
                complain(f"{WARNING}{each}")
            compile_first(settings.placement)
            adviser = WorkerAdviser()
            open_.callback(adviser.close)
            metrics = Metrics()
            history = LastingHistory(plan.state / SHARES)
            open_.callback(history.close)
            service = Service(store, engine, settings, adviser, metrics, history)
            if service.shortening is not None:
                place = plan.journal or plan.state
                service.shortening.verify = checked_aside.aside(place, plan.state)
            level = plan.log or ("off" if sys.stderr.isatty() else "few")
            logs = Logs(sys.stderr, wall_clock, Level(level))
            service.listeners.extend([metrics.count_entries, logs.write_entries])
            open_.pop_all()  # from here on the service closes what it has
            note_process(plan.state)
            open_.callback(forget_process, plan.state)

            def ready(url: str, token: bool) -> None:
                nonlocal begun
                begun = True
                say(greeting(plan, url, len(service.nodes), notes, token))

            serving = Serving(
                service=service,
                state=plan.state,
                host=plan.host,
                port=plan.port,
                tls_cert=cert,
                tls_key=key,
                behind_proxy=plan.behind_proxy,
                no_auth=plan.no_auth,
                api=plan.configured.api,
                metrics=lambda door: render_metrics(metrics, door),
                on_answer=metrics.api,
                waits=complain,
                clock=clock,
                fault=lambda what: logs.event("engine_fault", what=what),
            )
            code = serve(serving, ready)
        except (JournalError, EngineError) as error:
            if begun:
                raise OutputError(f"the service stopped: {error}") from error
            raise InputError(str(error)) from error
    say(["stopped; tasks that run go on, and are found again at the next start"])
    return code


async def render_metrics(metrics: Metrics, door: Mailbox[Service]) -> bytes:
    """All metrics as Prometheus reads them."""
    from fairlead.service.process.clock import wall_clock

    await door.read(lambda service: metrics.read(service, wall_clock()))
    return await asyncio.to_thread(metrics.text)


def greeting(
    plan: Plan, url: str, machines: int, notes: list[str], token: bool = True
) -> list[str]:
    """Lines on the address, the state folder and the way to stop it."""
    file = f"the token of the administrator {'is' if token else 'will be'} in its file admin-token"
    if plan.no_auth:
        file = "everybody on this machine may do everything, without a token"
    elif not token:
        file += ", as soon as it can be made"
    return [
        f"serving {counted(machines, 'machine')} ({plan.engine}) on {url}",
        f"state in {plan.state}; {file}",
        *notes,
        "Ctrl-C, or `fairlead stop`, stops the service; tasks go on running",
    ]


def cluster_of(plan: Plan) -> Cluster | None:
    """The machines and tenants of the cluster file. Raises InputError."""
    from fairlead.files import texts
    from fairlead.model.reading import read, read_parts

    if plan.cluster is None:
        return None
    given, kind = texts([plan.cluster]), ENGINES[plan.engine]
    cluster, jobs = read_parts(given) if kind.machines_from else read(given)
    if jobs:
        raise InputError(
            f"{plan.cluster} describes jobs, too: the service would not run them",
            "put them into a file of their own and submit that",
        )
    if kind.machines_from and cluster.machines:
        raise InputError(
            f"{plan.cluster} describes machines, and with --engine {kind.name} they come from"
            f" {kind.machines_from}",
            "leave them out",
        )
    return cluster


def engine_of(plan: Plan, cluster: Cluster | None) -> tuple[Engine, list[str], list[str]]:
    """The engine, what is to be said of it, and what to warn of. Raises InputError and
    EngineError."""
    kind = ENGINES[plan.engine]
    if kind.package:
        from fairlead.extras import need

        need(kind.package)  # a supervised engine would say so from a process of its own
    return open_engine(kind, plan.state, cluster, plan.address)


def _private(folder: Path) -> None:
    """Makes the state folder, for its owner alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be the state folder: {error.strerror}",
            "name another one with --state",
        ) from error


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)
