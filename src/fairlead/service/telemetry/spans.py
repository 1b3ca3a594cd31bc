"""From what happens to spans: one for each request, job and attempt. In one thread."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from fairlead.service.journal.entry import Entry
from fairlead.service.telemetry.happenings import (
    AskWaiting,
    Began,
    Happened,
    Happening,
    OpenJob,
    RequestAnswered,
    Waits,
)
from fairlead.version import __version__
from fairlead.wire.trace import TRACEPARENT, Parent, parent_of

MOST_JOBS = 20_000
"""Jobs whose spans are open at one moment. More are not traced: each takes a few kilobytes."""

_ENDS = {
    "task_finished": "finished",
    "task_failed": "failed",
    "task_lost": "lost",
    "task_stopped": "stopped",
}

_FINAL = ("finished", "failed")
"""Outcomes after which a task is over; after the others it is tried again, or was cancelled."""


def ids_of(*words: object) -> tuple[int, int]:
    """A trace and a span that are always the same for the same words: a restart finds them."""
    drawn = blake2b(repr(words).encode(errors="surrogatepass"), digest_size=24).digest()
    return int.from_bytes(drawn[:16]) or 1, int.from_bytes(drawn[16:]) or 1


class Ids(IdGenerator):
    """Random ids, unless the next ones are said."""

    def __init__(self) -> None:
        self.trace: int | None = None
        self.span: int | None = None
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        found, self.trace = self.trace, None
        return self._random.generate_trace_id() if found is None else found

    def generate_span_id(self) -> int:
        found, self.span = self.span, None
        return self._random.generate_span_id() if found is None else found


@dataclass(slots=True)
class _Job:
    id: int
    submitted: int
    span: Span
    tasks: int | None
    done: int = 0
    failed: bool = False
    cancelled: bool = False
    held: dict[tuple[int, int], Span] = field(default_factory=dict)  # by task and attempt
    reasons: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether a task of it is on no machine."""
        return not self.cancelled and (
            self.tasks is None or self.done + len(self.held) < self.tasks
        )

    @property
    def over(self) -> bool:
        """Whether nothing will happen to it any more."""
        if self.held:
            return False
        return self.cancelled or (self.tasks is not None and self.done >= self.tasks)


class Spans:
    """Keeps the spans that are open. What ends while another service leads is not sent: that one
    sends it, under the same ids."""

    def __init__(self, provider: TracerProvider, ids: Ids, most: int = MOST_JOBS) -> None:
        self._tracer = provider.get_tracer("fairlead", __version__)
        self._ids, self._most = ids, most
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._told = True

    def take(self, what: Happening) -> None:
        match what:
            case RequestAnswered():
                self._request(what)
            case Happened():
                self._told = what.told
                for entry in what.entries:
                    self._entry(entry)
            case Began():
                for job in what.jobs:
                    self._adopt(job)
            case Waits():
                self._waits(what)
            case AskWaiting():
                what.tell(self._waiting(what.most))

    def _request(self, said: RequestAnswered) -> None:
        attributes: dict[str, str | int] = {
            "http.request.method": said.method,
            "http.route": said.route,
            "http.response.status_code": said.status,
        }
        if said.tenant is not None:
            attributes["fairlead.tenant"] = said.tenant
        if said.role is not None:
            attributes["fairlead.role"] = said.role
        span = self._tracer.start_span(
            f"{said.method} {said.route}",
            _context(parent_of(said.parent)),
            SpanKind.SERVER,
            attributes,
            start_time=said.began * 1000,
        )
        if said.status >= 500:
            span.set_status(StatusCode.ERROR)
        span.end(said.ended * 1000)

    def _entry(self, entry: Entry) -> None:
        body, time = entry.body, entry.time
        if entry.kind == "job_submitted":
            self._submitted(entry)
            return
        job = self._jobs.get(body["job"]) if isinstance(body.get("job"), str) else None
        if job is None:
            return
        if entry.kind == "launch":
            self._launch(job, body["task"], body["attempt"], body["machine"], time)
        elif entry.kind == "task_placed":
            self._launch(job, body["task"], body["attempt"], body["machine"], body["started"])
        elif entry.kind == "task_started":
            span = job.held.get((body["task"], body["attempt"]))
            if span is not None:
                span.add_event("started", timestamp=(body.get("started") or time) * 1000)
        elif entry.kind in _ENDS:
            self._ended(job, entry, _ENDS[entry.kind])
        elif entry.kind == "job_changed":
            job.tasks = _count(body["tasks"])
            job.span.set_attribute("fairlead.tasks", job.tasks or 0)
        elif entry.kind == "job_cancelled":
            job.cancelled = True
            job.span.add_event("cancelled", timestamp=time * 1000)
        elif entry.kind == "reject":
            job.failed = job.cancelled = True
            job.span.add_event("rejected", {"reason": str(body["reason"])}, time * 1000)
        if job.over or entry.kind == "job_forgotten":
            self._over(body["job"], job, time)

    def _submitted(self, entry: Entry) -> None:
        tree = entry.body["job"]
        self._open(
            OpenJob(
                name=tree["name"],
                id=entry.body["id"],
                tenant=tree.get("tenant"),
                submitted=entry.time,
                tasks=_count(tree.get("tasks", 1)),
                done=0,
                cancelled=False,
                parent=(tree.get("env") or {}).get(TRACEPARENT),
                held=(),
            )
        )

    def _adopt(self, said: OpenJob) -> None:
        job = self._open(said)
        if job is not None:
            for each in said.held:
                span = self._launch(job, each.task, each.attempt, each.machine, each.launched)
                if each.started is not None:
                    span.add_event("started", timestamp=each.started * 1000)

    def _open(self, said: OpenJob) -> _Job | None:
        if len(self._jobs) >= self._most:
            return None
        parent = parent_of(said.parent)
        trace, span_id = ids_of("job", said.id, said.submitted, said.name)
        attributes: dict[str, str | int] = {
            "fairlead.job": said.name,
            "fairlead.job.id": said.id,
            "fairlead.tenant": said.tenant or said.name,
        }
        if said.tasks is not None:
            attributes["fairlead.tasks"] = said.tasks
        self._ids.trace, self._ids.span = (trace if parent is None else None), span_id
        span = self._tracer.start_span(
            "job", _context(parent), attributes=attributes, start_time=said.submitted * 1000
        )
        job = _Job(said.id, said.submitted, span, said.tasks, said.done, cancelled=said.cancelled)
        self._jobs[said.name] = job
        return job

    def _launch(self, job: _Job, task: int, attempt: int, machine: str, time: int) -> Span:
        _, self._ids.span = ids_of("attempt", job.id, job.submitted, task, attempt)
        span = self._tracer.start_span(
            "attempt",
            set_span_in_context(job.span),
            attributes={
                "fairlead.task": task,
                "fairlead.attempt": attempt,
                "fairlead.machine": machine,
            },
            start_time=time * 1000,
        )
        job.held[(task, attempt)] = span
        return span

    def _ended(self, job: _Job, entry: Entry, outcome: str) -> None:
        body = entry.body
        span = job.held.pop((body["task"], body["attempt"]), None)
        if outcome in _FINAL:
            job.done += 1
            job.failed = job.failed or outcome == "failed"
        if span is None:
            return
        span.set_attribute("fairlead.outcome", outcome)
        for name in ("cause", "code"):
            if body.get(name) is not None:
                span.set_attribute(f"fairlead.{name}", body[name])
        if outcome in ("failed", "lost"):
            span.set_status(StatusCode.ERROR)
        self._send(span, body.get("ended") or entry.time)

    def _over(self, name: str, job: _Job, time: int) -> None:
        del self._jobs[name]
        for span in job.held.values():  # forgotten with what it held: never, but for a lost entry
            self._send(span, time)
        outcome = "failed" if job.failed else "cancelled" if job.cancelled else "finished"
        job.span.set_attribute("fairlead.outcome", outcome)
        if job.failed:
            job.span.set_status(StatusCode.ERROR)
        self._send(job.span, time)

    def _waits(self, said: Waits) -> None:
        job = self._jobs.get(said.job)
        if job is not None and said.reasons != job.reasons:  # that they go on is no event
            job.reasons = said.reasons
            job.span.add_event("waits", {"reasons": list(said.reasons)}, said.time * 1000)

    def _waiting(self, most: int) -> tuple[str, ...]:
        """Some jobs that wait, who were asked about longest ago first."""
        found: list[str] = []
        for name in list(self._jobs)[: 50 * most]:
            self._jobs.move_to_end(name)
            if self._jobs[name].waits:
                found.append(name)
                if len(found) == most:
                    break
        return tuple(found)

    def _send(self, span: Span, time: int) -> None:
        if self._told:
            span.end(time * 1000)


def _context(parent: Parent | None) -> Context | None:
    if parent is None:
        return None
    flags = TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT)
    return set_span_in_context(
        NonRecordingSpan(SpanContext(parent.trace, parent.span, is_remote=True, trace_flags=flags))
    )


def _count(tasks: object) -> int | None:
    """The number of tasks; None where there is no end of them."""
    return tasks if isinstance(tasks, int) else None
