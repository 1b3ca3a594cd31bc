"""Makes the service that leads, or the one that follows and then leads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain, note_read
from fairlead.cli.common.people import unknown_users
from fairlead.cli.serving.anew import NewJournal
from fairlead.cli.serving.counting import check_counted
from fairlead.cli.serving.plan import Plan
from fairlead.cli.serving.process import WARNING, running
from fairlead.engines.interface import EngineError
from fairlead.engines.registry import ENGINES, PLACE, check_there, open_engine
from fairlead.model.errors import InputError, OutputError
from fairlead.model.machine import Cluster
from fairlead.service.journal.entry import JournalError, TakenJournalError, VersionJournalError
from fairlead.service.journal.places import check_place
from fairlead.service.settings import where_others_place, without_devices

if TYPE_CHECKING:
    from fairlead.engines.interface import Engine
    from fairlead.service.fairness.history_file import LastingHistory
    from fairlead.service.fairness.interface import Adviser
    from fairlead.service.journal.entry import Listener, Standing
    from fairlead.service.journal.sql import SqlStore
    from fairlead.service.loop.loop import Service
    from fairlead.service.metrics import Metrics
    from fairlead.service.recovery.follower import Follower
    from fairlead.service.recovery.recover import Recovered
    from fairlead.service.settings import Settings

SHARES = "shares-history"
"""File of the shares over time; nothing depends on it."""

HEAD = "journal-head"
"""File that notes how far a journal in a database went."""


class ServiceMaker:
    """All that is opened here is closed by `open_`, or by the service that has it. `notes`: lines
    on the engine. Raises InputError where the plan cannot be, whatever there is beside it."""

    def __init__(
        self,
        plan: Plan,
        metrics: Metrics,
        listeners: Sequence[Listener],
        clock: Callable[[], int],
        open_: ExitStack,
    ) -> None:
        check_there(ENGINES[plan.engine])
        self.notes: list[str] = []
        self._said = ""
        self._clock = clock
        self._plan, self._metrics, self._listeners, self._open = plan, metrics, listeners, open_
        self._place = plan.journal or plan.state
        if plan.journal is not None:
            check_place(plan.journal)
        self._cluster = cluster_of(plan)
        self._settings = plan.configured.settings
        if self._cluster is not None:
            self._settings = replace(
                _with_devices(self._settings, self._cluster), tenants=self._cluster.tenants
            )
        if plan.mode == PLACE:
            self._settings = without_devices(self._settings)
        elif ENGINES[plan.engine].modes:
            self._settings = where_others_place(self._settings)

    def begin(self, compile_first: Callable[[], None]) -> Service | Follower:
        """The service that leads; one that follows, where another one leads and this one may wait.
        Raises InputError, JournalError and EngineError."""
        from fairlead.service.journal.leases import steady_clock
        from fairlead.service.journal.places import open_store
        from fairlead.service.recovery.core_fold import DisagreementError
        from fairlead.service.recovery.recover import last_time, recover

        new = NewJournal(self._plan.state, self._plan.begin_anew)
        since = steady_clock()
        try:
            store = open_store(self._place, self._plan.state / HEAD, new)
        except TakenJournalError:
            if not (self._plan.shared or self._plan.standby):
                raise
            return self._follow(compile_first)

        def recovered() -> Recovered:
            new.check()
            self._check_clock(last_time(store))
            try:
                return recover(store)
            except DisagreementError as error:
                raise VersionJournalError(
                    f"{error}; start the version that wrote it, and stop it, which leaves a"
                    " snapshot: from that this one goes on"
                ) from error

        service = self._lead(store, since, recovered, compile_first)
        if new.aside is not None:
            self.notes.insert(0, f"what an earlier journal left is in {new.aside}")
        return service

    def lead(self, follower: Follower, gone: Standing, note: Callable[[], None]) -> Service | None:
        """The service that goes on where the follower is; None where it cannot lead now. `note`
        writes down who leads, while nobody else can; where the disk is full it waits like all
        else: who ended now would be nobody once there is room."""
        from fairlead.service.journal.leases import steady_clock
        from fairlead.service.journal.places import open_store

        since = steady_clock()
        follower.free = None  # whatever comes of this, the next look says it anew
        try:
            store = open_store(self._place, self._plan.state / HEAD, after=gone)
        except TakenJournalError:
            return None  # another one was quicker, or it was not gone
        except VersionJournalError:
            raise  # it never can
        except JournalError as error:
            # What it knows was given to nobody: it is not read again, which may take so long that
            # the silence of who led would count from its beginning.
            self._say(f"nobody leads, and this service cannot yet: {error}")
            return None
        try:
            service = self._lead(store, since, lambda: follower.recovered, note)
        except TakenJournalError:
            return None
        except OutputError as error:  # what it knows was given to nobody
            self._say(f"nobody leads, and this service cannot yet: {error}")
            return None
        except (JournalError, EngineError) as error:
            self._say(f"nobody leads, and this service cannot: {error}")
            follower.begin_again()
            return None
        follower.let_go()
        return service

    def _say(self, why: str) -> None:
        """Why this cannot lead, which is tried again and again: once."""
        if why != self._said:
            self._said = why
            complain(why)

    def _follow(self, compile_first: Callable[[], None]) -> Follower:
        from fairlead.service.journal.contender import open_contender
        from fairlead.service.recovery.follower import Follower

        state = self._plan.state
        process = running(state)
        if self._plan.shared and process is not None and process != os.getpid():
            raise InputError(
                f"a service runs with its state in {state} (process {process})",
                "name another folder with --state: each service needs its own",
            )
        with ExitStack() as opened:
            contender = open_contender(self._place, state / HEAD)
            opened.callback(contender.close)
            compile_first()
            adviser, history = self._open_adviser(opened), None
            if self._plan.shared:  # else the one that leads keeps it in this folder
                history = self._open_history(opened)
            follower = Follower(
                *(contender, self._settings, adviser, self._metrics, history),
                leader=contender.look().leader,
            )
            self._check_clock(follower.records.time)
            follower.listeners.extend(self._listeners)
            opened.pop_all()
        return follower

    def _lead(
        self,
        store: SqlStore,
        since: float,
        recovered: Callable[[], Recovered],
        before: Callable[[], None],
    ) -> Service:
        """The service with this store; `before` is called once nothing but it is missing."""
        from fairlead.service.journal.leases import Lease
        from fairlead.service.loop.loop import Service
        from fairlead.service.process.pulse import Pulse
        from fairlead.service.recovery import verify_process as checked_aside

        with ExitStack() as opened:
            opened.callback(store.close)
            lease = Lease(store, beating=self._plan.shared, since=since)
            pulse = Pulse(lease)
            if lease.beating:
                pulse.start()  # at once: what comes now may take long
            opened.callback(pulse.stop)
            known = recovered()
            engine = self._open_engine(known)
            opened.callback(engine.close)
            before()
            adviser, history = None, None
            if known.watch is None:
                adviser, history = self._open_adviser(opened), self._open_history(opened)
            elif not self._plan.shared:
                known.watch.history = self._open_history(opened)
            service = Service(
                store, engine, self._settings, adviser, self._metrics, history, known, lease
            )
            if service.shortening is not None:
                service.shortening.verify = checked_aside.aside(self._place, self._plan.state)
            if not known.listeners:
                service.listeners.extend(self._listeners)
            opened.pop_all()  # from here on the service closes what it has
            self._open.callback(pulse.stop)
        return service

    def _check_clock(self, last: int) -> None:
        from fairlead.service.process.clock import check_clock

        check_clock(self._clock(), last, is_right=self._plan.clock_is_right)

    def _open_adviser(self, opened: ExitStack) -> Adviser:
        from fairlead.service.fairness.process import WorkerAdviser

        adviser = WorkerAdviser()
        opened.callback(adviser.close)
        return adviser

    def _open_history(self, opened: ExitStack) -> LastingHistory:
        from fairlead.service.fairness.history_file import LastingHistory

        history = LastingHistory(self._plan.state / SHARES)
        opened.callback(history.close)
        return history

    def _open_engine(self, known: Recovered) -> Engine:
        """The engine; of one that services on several machines reach, and of a cluster that another
        scheduler runs, the one that the journal names."""
        plan, kind = self._plan, ENGINES[self._plan.engine]
        start = known.records.start
        named = kind.shared or kind.modes
        identity = start.engine if named and start is not None else None
        engine, notes, warnings = open_engine(
            kind,
            plan.state,
            self._cluster,
            plan.address,
            identity,
            plan.mode,
            self._settings.read_every,
            plan.partition,
            most_output=self._settings.kept_output,
        )
        self.notes = notes
        if not kind.machines_from:
            warnings = [*warnings, *unknown_users(self._settings.tenants)]
        for each in warnings:
            complain(f"{WARNING}{each}")
        return engine


def cluster_of(plan: Plan) -> Cluster | None:
    """The machines and tenants of the cluster file, with a word on what was odd in it. Raises
    InputError."""
    described = plan.described
    if described is None:
        return None
    cluster, given = described
    note_read(cluster, given)
    if cluster.machines:
        check_counted(cluster, _with_devices(plan.configured.settings, cluster), given)
    return cluster


def _with_devices(settings: Settings, cluster: Cluster) -> Settings:
    """The settings with the devices that the cluster file names, too."""
    devices = dict.fromkeys((*settings.devices, *sorted(cluster.devices)))
    return replace(settings, devices=tuple(devices))
