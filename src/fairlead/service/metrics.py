"""The service's metrics, as Prometheus reads them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.lookup import machine_state
from fairlead.scheduling.reading.waiting_counts import waiting_tasks
from fairlead.scheduling.transitions import MachineState
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.observer import Counted, Timed
from fairlead.service.fairness.shortfalls import Measured
from fairlead.service.fairness.to_wire import measure_shares
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records
from fairlead.version import __version__

if TYPE_CHECKING:
    from fairlead.service.loop.loop import Service
    from fairlead.service.recovery.follower import Follower

CONTENT_TYPE = CONTENT_TYPE_LATEST

MOST_TENANTS = 200
"""So many tenants at most have lines of their own; what the others hold together is one more."""
OTHERS = "(others)"

FAST = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
"""Bounds of the histograms, in seconds: a decision takes a tenth of a millisecond or so."""

_ENDS = {
    "task_finished": "finished",
    "task_failed": "failed",
    "task_lost": "lost",
    "task_stopped": "stopped",
}

_JOBS = {"job_submitted": "submitted", "reject": "rejected", "job_cancelled": "cancelled"}


# When a count began is not worth as many lines again.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library gives it no types


class Metrics:
    """An observer of the service (`Service(observer=…)`), a listener to its entries
    (`count_entries`), and the API's counts. Lines are bounded: none has a job's name in it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._histograms = {
            Timed.DECIDE: self._histogram(
                "decision_seconds", "How long the core takes to decide, once a step"
            ),
            Timed.JOURNAL: self._histogram(
                "journal_seconds", "How long it takes until entries are durable, once a step"
            ),
            Timed.STEP: self._histogram("step_seconds", "How long a step of the loop takes"),
        }
        self._counters = {
            what: self._counter(what.value, help_text)
            for what, help_text in (
                (Counted.LAUNCHES, "Attempts that the engine was asked to launch"),
                (Counted.STOPS, "Attempts that the engine was asked to stop"),
                (Counted.ENTRIES, "Entries of the journal that were made durable"),
                (Counted.LATE_REPORTS, "Reports of attempts that were not current any more"),
                (Counted.ENGINE_ERRORS, "Calls of the engine that failed"),
                (Counted.JOURNAL_ERRORS, "Appends to the journal that failed"),
                (Counted.QUARANTINES, "Machines that got no tasks for a while after errors"),
                (Counted.RETRIES, "Attempts that were lost or failed and are made again"),
                (Counted.REFUSALS, "Requests that were refused"),
            )
        }
        self._ends = self._counter("ends", "Attempts that ended", "outcome")
        self._jobs = self._counter("jobs", "Jobs that came, were rejected or cancelled", "what")
        self._api = self._counter(
            "api_requests", "Requests to the API", "route", "method", "status"
        )
        self._api_seconds = self._histogram("api_seconds", "How long requests took", "route")
        self._share = self._gauge("tenant_share", "Share ÷ weight that it has now", "tenant")
        self._fair = self._gauge(
            "tenant_fair_share",
            "Share ÷ weight by the exact allocation of what is present",
            "tenant",
        )
        self._short = self._gauge(
            "tenant_shortfall", "Share ÷ weight that it is short of what it is guaranteed", "tenant"
        )
        self._running = self._gauge("tenant_running_tasks", "Tasks on machines", "tenant")
        self._waits = self._gauge("tenant_waiting_tasks", "Tasks that wait", "tenant")
        self._waiting = self._gauge(
            "waiting_tasks", "Tasks that wait, by the first reason", "reason"
        )
        self._machines = self._gauge("machines", "Machines by how they stand", "state")
        self._present = self._gauge("present_jobs", "Jobs with tasks that wait or run")
        self._known = self._gauge("known_jobs", "Jobs that are kept, finished ones included")
        self._age = self._gauge("exact_age_seconds", "Age of the newest exact allocation")
        self._took = self._gauge("exact_seconds", "How long the newest exact allocation took")
        self._exact = self._gauge("exact_ok", "1 where the last question for it was answered")
        self._unjudged = self._gauge(
            "unjudged_jobs", "Jobs that wait and that the newest exact allocation does not judge"
        )
        self._gap = self._gauge(
            "gap", "Part of what is due by the exact allocation that its tenants do not hold"
        )
        self._ready = self._gauge("ready", "1 where requests are taken and the engine answers")
        self._left_out = self._gauge(
            "left_out_attempts",
            "Attempts of which nothing is taken in, as Fairlead fails at what the engine says",
        )
        self._disbelieved = self._gauge(
            "disbelieved_attempts", "Attempts of which the engine says what cannot be"
        )
        self._leads = self._gauge("leads", "1 where this service leads, 0 where it follows another")
        info = self._gauge("info", "Which version this is", "version")
        info.labels(__version__).set(1)

    # What an observer does

    def measure(self, what: Timed, /) -> AbstractContextManager[None]:
        """Around what takes time."""
        return _around(self._histograms[what])

    def count(self, what: Counted, /, times: int = 1) -> None:
        self._counters[what].inc(times)

    def count_entries(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.kind in _ENDS:
                self._ends.labels(_ENDS[entry.kind]).inc()
                if entry.kind == "task_lost":
                    self._counters[Counted.RETRIES].inc()
            elif entry.kind in _JOBS:
                self._jobs.labels(_JOBS[entry.kind]).inc()
            elif entry.kind == "machine_quarantined":
                self._counters[Counted.QUARANTINES].inc()

    def api(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered. `route` is the template, never what was asked for: names would
        make lines without end."""
        self._api.labels(route, method, str(status)).inc()
        self._api_seconds.labels(route).observe(seconds)

    # What is read now and then

    def read(self, service: Service | Follower, now: int) -> None:
        """Looks at the service, in the loop's thread."""
        self._ready.set(int(service.ready))
        self._leads.set(int(service.following is None))
        left_out, disbelieved = service.untaken
        self._left_out.set(left_out)
        self._disbelieved.set(disbelieved)
        if service.core is not None:
            self.look(now, service.core, service.records, service.watch)

    def look(self, now: int, core: Core, records: Records, watch: FairnessMonitor | None) -> None:
        """Sets all that is a state and no count."""
        found = measure_shares(core, watch)
        self._tenants(found)
        self._waiting.clear()
        for reason, tasks in waiting_tasks(core).items():
            self._waiting.labels(reason).set(tasks)
        quarantined = {
            name for name, record in records.machines.items() if record.quarantine is not None
        }
        counts = {"up": 0, "draining": 0, "quarantined": 0}
        for name in core.ids.machines:
            state = machine_state(core, name)
            if state is MachineState.UP:
                counts["up"] += 1
            elif state is MachineState.DRAINING:
                counts["quarantined" if name in quarantined else "draining"] += 1
        for state_name, count in counts.items():
            self._machines.labels(state_name).set(count)
        self._present.set(len(found.slot))
        self._known.set(len(records.jobs))
        self._unjudged.set(found.unknown)
        self._gap.set(math.nan if found.gap is None else found.gap)
        self._exact.set(int(watch is not None and not watch.problem and watch.exact is not None))
        if watch is not None and watch.exact is not None:
            self._age.set(max(now - watch.exact.answer.time, 0) / 1e6)
            self._took.set(watch.exact.answer.seconds)

    def text(self) -> bytes:
        """All lines, in any thread."""
        return generate_latest(self.registry)

    def _tenants(self, found: Measured) -> None:
        for gauge in (self._share, self._fair, self._short, self._running, self._waits):
            gauge.clear()
        size = found.tenant_running + np.minimum(found.tenant_waiting, 1 << 40)
        order = np.argsort(-size, kind="stable")
        for t in order[:MOST_TENANTS].tolist():
            name = found.tenants[t]
            self._share.labels(name).set(float(found.share[t]))
            fair = float(found.fair[t])
            if not math.isnan(fair):
                self._fair.labels(name).set(fair)
                self._short.labels(name).set(float(found.shortfall[t]))
            self._running.labels(name).set(int(found.tenant_running[t]))
            self._waits.labels(name).set(int(found.tenant_waiting[t]))
        rest, lone = order[MOST_TENANTS:], found.owner < 0
        if len(rest) or lone.any():
            running = found.tenant_running[rest].sum() + found.running[lone].sum()
            waiting = found.tenant_waiting[rest].sum() + found.waiting[lone].sum()
            self._running.labels(OTHERS).set(int(running))
            self._waits.labels(OTHERS).set(int(waiting))

    def _histogram(self, name: str, help_text: str, *labels: str) -> Histogram:
        return Histogram(
            f"fairlead_{name}", help_text, labels, registry=self.registry, buckets=FAST
        )

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"fairlead_{name}", help_text, labels, registry=self.registry)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(f"fairlead_{name}", help_text, labels, registry=self.registry)


@contextmanager
def _around(histogram: Histogram) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        histogram.observe(time.perf_counter() - begun)
