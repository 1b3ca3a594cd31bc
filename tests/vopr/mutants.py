"""Planted bugs: each is the service with one mistake in it that the simulation must catch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fairlead.engines.interface import Assignment, Attempt, Engine, Lost, Report
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import MachineChanged, TaskFailed
from fairlead.scheduling.kernels.memory.tables import UNLIMITED
from fairlead.scheduling.reading.core_copy import FrozenCore
from fairlead.service.api.routes import events, jobs
from fairlead.service.api.streams.feed import CHUNK, OLDEST, Feed, GoneError
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    Store,
    TakenJournalError,
)
from fairlead.service.loop import commit as committing
from fairlead.service.loop import engine_link as reach
from fairlead.service.loop import intake as taking
from fairlead.service.loop import loop, machines, operations, reports, submitting
from fairlead.service.loop.commit import Committer, PendingStep
from fairlead.service.loop.engine_link import EngineLink
from fairlead.service.loop.loop import Service
from fairlead.service.loop.midway import Before
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.records.fold import fold
from fairlead.service.recovery import recover, snapshots

Planted = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Mutant:
    """A planted bug, and the promises by which it is found."""

    plant: Planted
    rules: tuple[str, ...]


def _instead(*places: tuple[object, str, Callable[[Any], Any]]) -> Planted:
    """Each (holder, name, make): what the holder has under that name is what `make` makes of it."""

    @contextmanager
    def plant() -> Iterator[None]:
        with ExitStack() as undo:
            for holder, name, make in places:
                was = getattr(holder, name)
                undo.callback(setattr, holder, name, was)
                setattr(holder, name, make(was))
            yield

    return plant


class _Engine:
    """An engine with some calls replaced."""

    def __init__(self, engine: Engine, **instead: Callable[..., Any]) -> None:
        self._engine, self._instead = engine, instead

    def __getattr__(self, name: str) -> Any:
        return self._instead.get(name) or getattr(self._engine, name)


class _Forgetful(dict[Any, Any]):
    """Finds nothing that it was not asked for by name."""

    def get(self, _key: Any, default: Any = None) -> Any:
        return default


def _act_then_append(_was: Any) -> Any:
    def finish(self: Any, pending: PendingStep) -> bool:
        if self._committer.stuck is None:
            for entry, said in zip(pending.step.entries, pending.step.contents, strict=True):
                fold(self.records, entry, said)
            self._link.send(pending.step, pending.reports)
        return _append_only(self._committer, pending)

    return finish


def _append_only(committer: Any, pending: PendingStep) -> bool:
    try:
        if pending.step.entries:
            committer._store.append(pending.step.entries)  # noqa: SLF001 - a bug is planted inside
    except TakenJournalError:
        raise
    except JournalError as error:
        committer.trouble, committer.stuck = str(error), pending
        return False
    committer.trouble, committer.stuck = "", None
    return True


def _acknowledge_first(was: Any) -> Any:
    def finish(self: Any, pending: PendingStep) -> bool:
        if pending.reports and not self._link.trouble:
            self.engine.acknowledge(pending.reports)
        return bool(was(self, pending))

    return finish


def _swallow_losses(was: Any) -> Any:
    def take_report(step: Step, report: Report) -> bool:
        return not isinstance(report, Lost) and bool(was(step, report))

    return take_report


def _fail_what_is_lost(was: Any) -> Any:
    def end(step: Step, job: Any, state: Any, report: Any, *more: Any) -> Any:
        lost = isinstance(report, Lost) and not report.started
        return (TaskFailed, False) if lost else was(step, job, state, report, *more)

    return end


def _any_attempt(was: Any) -> Any:
    def current(step: Step, job: Any, task: int, _number: int) -> Any:
        known = 0 <= task < job.tasks
        last = step.records.table.attempt[job.first + task] if known else 0
        return was(step, job, task, last)

    return current


def _blind_to_changes(was: Any) -> Any:
    def tell(self: Step, event: Any, **more: Any) -> None:
        if not isinstance(event, MachineChanged):
            was(self, event, **more)

    return tell


def _resumed_with(make: Callable[[Engine], Engine]) -> Callable[[Any], Any]:
    def of(was: Any) -> Any:
        return lambda engine, *more: was(make(engine), *more)

    return of


def _next_attempt(engine: Engine) -> Any:
    def launch(batch: Sequence[Assignment]) -> None:
        engine.launch(
            [replace(a, attempt=replace(a.attempt, number=a.attempt.number + 1)) for a in batch]
        )

    return _Engine(engine, launch=launch)


def _no_cancel(engine: Engine) -> Any:
    return _Engine(engine, cancel=lambda _batch: None)


def _expect_less(engine: Engine) -> Any:
    def reconcile(expected: Sequence[Assignment], owner: int) -> Sequence[Attempt]:
        return engine.reconcile(expected[1:], owner)

    return _Engine(engine, reconcile=reconcile)


def _always(value: object) -> Callable[[Any], Any]:
    return lambda _was: lambda *_args, **_more: value


def _keys_forgotten(was: Any) -> Any:
    def follow(store: Store, core: Core | None, records: Records) -> Core | None:
        found: Core | None = was(store, core, records)
        records.keys = _Forgetful(records.keys)
        return found

    return follow


def _drains_forgotten(was: Any) -> Any:
    def newest(store: Store) -> tuple[Core | None, Records]:
        core, records = was(store)
        for machine in records.machines.values():
            machine.drained = False
        return core, records

    return newest


def _tries_forgotten(was: Any) -> Any:
    def newest(store: Store) -> tuple[Core | None, Records]:
        core, records = was(store)
        for row in range(len(records.table)):
            records.table.tries[row] = 0
        return core, records

    return newest


def _for_ever(was: Any) -> Any:
    def note(self: Step, kind: str, **body: Any) -> None:
        if kind == "machine_quarantined":
            body["until"] += 10**14
        was(self, kind, **body)

    return note


def _no_admin(was: Any) -> Any:
    def drain(step: Step, name: str, why: str) -> None:
        if why != "admin":
            was(step, name, why)

    return drain


def _at_once(was: Any) -> Any:
    def join(self: Any, step: Step, name: str, machine: Any, record: Any) -> None:
        left = {} if record is None else record.given_up
        was(self, step, name, machine, record and replace(record, given_up={}))
        step.cancels += [attempt for attempt in left if attempt not in step.ends]

    return join


def _never_failed(was: Any) -> Any:
    def failed(self: Any, time: int, error: Any) -> None:
        was(self, time, error)
        self.trouble, self._retry = "", None

    return failed


def _go_on_when_taken(was: Any) -> Any:
    def keep(self: Committer, pending: PendingStep) -> bool:
        try:
            return bool(was(self, pending))
        except TakenJournalError as error:
            self.trouble, self.stuck = str(error), pending
            return False

    return keep


def _read_what_can_be_read(was: Any) -> Any:
    def follow(store: Store, core: Core | None, records: Records) -> Core | None:
        try:
            found: Core | None = was(store, core, records)
        except CorruptJournalError:
            return core
        return found

    return follow


def _revoked_in_memory(was: Any) -> Any:
    def note(self: Step, kind: str, **body: Any) -> None:
        if kind == "token_revoked":
            self.records.tokens.pop(body["name"], None)
        else:
            was(self, kind, **body)

    return note


def _before_the_fold(was: Any) -> Any:
    def keep(self: Any, pending: PendingStep) -> bool:
        seq = self._records.seq
        taken = None
        if pending.step.entries and seq % 5 == 0 and seq > self._store.start():
            taken = snapshots.take(pending.step.core, self._records)
        kept = bool(was(self, pending))
        if kept and taken is not None:
            self._store.keep(seq, taken.encode())
        return kept

    return keep


def _gang_in_part(was: Any) -> Any:
    def decide(self: Step, *more: Any) -> None:
        was(self, *more)
        last = self.contents[-1] if self.contents else None
        if (
            isinstance(last, Launch)
            and self.core.state.job[self.core.ids.jobs[last.job]]["gang"] > 1
        ):
            self.entries.pop()
            self.contents.pop()

    return decide


def _limits_forgotten(was: Any) -> Any:
    def newest(store: Store) -> tuple[Core | None, Records]:
        core, records = was(store)
        if core is not None:
            core.state.limit[:] = UNLIMITED
        return core, records

    return newest


def _folded_twice(was: Any) -> Any:
    def keep(self: Any, pending: PendingStep) -> bool:
        again = self.stuck is pending
        kept = bool(was(self, pending))
        if kept and again:
            for entry, said in zip(pending.step.entries, pending.step.contents, strict=True):
                fold(self._records, entry, said)
        return kept

    return keep


def _any_token(was: Any) -> Any:
    def may_see(view: Any, caller: Any, tenant: str) -> bool:
        return caller.tenant is not None or bool(was(view, caller, tenant))

    return may_see


def _first_of_all(_was: Any) -> Any:
    def find(records: Records, _caller: Any, key: Any) -> Any:
        by_full = records.names.by_full(key) if isinstance(key, str) else None
        return by_full or next(iter(records.names.all(key)), None)

    return find


def _called_by_the_unique_name(was: Any) -> Any:
    def load(data: bytes) -> Any:
        core, records = was(data)
        jobs = list(records.jobs.values())
        for job in jobs:
            records.names.remove(job)
            job.called = job.name
            records.names.add(job)
        return core, records

    return load


def _one_entry_less(was: Any) -> Any:
    def after(self: Any, seq: int) -> Any:
        found = was(self, seq)
        return found[1:] if found and len(found) > 1 and found[0].seq % 7 == 0 else found

    return after


def _all_that_is_read(_was: Any) -> Any:
    def earlier(view: Any, seq: int) -> list[Any]:
        entries = list(islice(view.store.read(seq), CHUNK))
        if not entries or entries[0].seq != seq + 1:
            raise GoneError(OLDEST)
        return entries

    return earlier


def _spread_first(was: Any) -> Any:
    def finish(self: Any, pending: PendingStep) -> bool:
        if self._committer.stuck is None:
            self._committer.spread(pending.step.entries)
        return bool(was(self, pending))

    return finish


def _told_as_done(was: Any) -> Any:
    return lambda self, value, _kept, *more: was(self, value, True, *more)


class _ShowsAll:
    """Lends the service itself in the midst of a step."""

    def __init__(self, readers: Any, service: Service) -> None:
        self._readers, self._service = readers, service

    def lent(self, _midway: Any) -> Any:
        return self._readers.lent(self._service)

    def pause(self) -> None:
        self._readers.pause()

    def serve(self, _midway: Any) -> None:
        self._readers.serve(self._service)


def _all_is_shown(was: Any) -> Any:
    return lambda self, readers, **more: was(self, _ShowsAll(readers, self), **more)


def _core_is_lent(was: Any) -> Any:
    """Lends the core itself, and no copy of it."""

    def before(self: Any, requests: Any) -> Before | None:
        made = was(self, requests)
        return made and Before(FrozenCore(self.core, None), made.watch, made.trouble)

    return before


def _counted_at_the_end(was: Any) -> Any:
    """What a launch changes of its job's counts is seen once the whole step is folded."""

    def commit(self: Any, pending: PendingStep) -> bool:
        late: list[tuple[list[int], list[int]]] = []

        def part(whole: Any) -> Any:
            def fold(records: Records, entry: Entry, content: Any) -> None:
                counts = records.names[entry.body["job"]].counts if entry.kind == "launch" else []
                before = list(counts)
                whole(records, entry, content)
                more = [now - then for now, then in zip(counts, before, strict=True)]
                late.append((counts, more))
                counts[:] = before

            return fold

        with _instead((committing, "fold", part))():
            done = bool(was(self, pending))
        for counts, more in late:
            counts[:] = [count + some for count, some in zip(counts, more, strict=True)]
        return done

    return commit


MUTANTS: dict[str, Mutant] = {
    "all-is-shown-midway": Mutant(
        _instead((Service, "serve_meanwhile", _all_is_shown)),
        (
            "what is changing is read later",
            "lists agree with the journal",
            "records and core are the fold of the journal",
        ),
    ),
    "core-is-lent-midway": Mutant(
        _instead((Service, "_before", _core_is_lent)),
        ("records and core are the fold of the journal",),
    ),
    "counted-at-the-end-of-the-step": Mutant(
        _instead((Committer, "commit", _counted_at_the_end)), ("lists agree with the journal",)
    ),
    "act-before-append": Mutant(
        _instead((Service, "_finish", _act_then_append)),
        (
            "no launch before its entry is durable",
            "no report is acknowledged before it is durable",
            "no stop before its entry is durable",
            # Who hears of tokens before they are known looks too early, and not again.
            "a token is good until it is revoked",
            "what happens is told",
        ),
    ),
    "reply-before-append": Mutant(
        _instead((Service, "_reply", _told_as_done)),
        (
            "an accepted job is durable",
            "a reply says what was asked for",
            "a reply says what is durable",
            "mistakes are refused",
        ),
    ),
    "acknowledge-before-append": Mutant(
        _instead((Service, "_finish", _acknowledge_first)),
        ("no report is acknowledged before it is durable",),
    ),
    "lost-requeue": Mutant(
        _instead((taking, "take_report", _swallow_losses)),
        ("no report is acknowledged before it is durable",),
    ),
    "lost-is-failed": Mutant(
        _instead((reports, "_end", _fail_what_is_lost)),
        ("what never started is tried again", "transitions are legal"),
    ),
    "late-result": Mutant(
        _instead((reports, "_current", _any_attempt)),
        ("a late result is ignored", "a result is what the engine reported"),
    ),
    "stale-capacity": Mutant(
        _instead((Step, "apply", _blind_to_changes)),
        ("a change of a machine is seen", "no machine truly over capacity"),
    ),
    "new-attempt-after-reconcile": Mutant(
        _instead((reach, "resume", _resumed_with(_next_attempt))),
        ("no launch before its entry is durable",),
    ),
    "rerunnable-ignored": Mutant(
        _instead(
            (reports, "may_be_tried", _always(True)), (machines, "may_be_tried", _always(True))
        ),
        ("what is not rerunnable runs once",),
    ),
    "retries-never-end": Mutant(
        _instead((reports, "retries_of", _always(10**6)), (machines, "retries_of", _always(10**6))),
        ("retries end",),
    ),
    "key-forgotten-at-restart": Mutant(
        _instead((loop, "follow", _keys_forgotten)),
        ("a key is remembered", "a key gives one answer", "mistakes are refused"),
    ),
    "key-ignored": Mutant(
        _instead((submitting, "_find_key", _always(None))),
        ("a key is remembered", "a key gives one answer"),
    ),
    "snapshot-forgets-drains": Mutant(
        _instead((recover, "newest", _drains_forgotten)),
        ("records and core are the fold of the journal", "a drain is kept to"),
    ),
    "snapshot-forgets-retries": Mutant(
        _instead((recover, "newest", _tries_forgotten)),
        ("records and core are the fold of the journal", "retries end"),
    ),
    "cancel-lost-at-a-crash": Mutant(
        _instead((reach, "resume", _resumed_with(_no_cancel))),
        ("a cancel is carried out", "work gets done once the faults stop"),
    ),
    "expected-forgotten": Mutant(
        _instead((reach, "resume", _resumed_with(_expect_less))),
        ("what is expected is what the journal holds",),
    ),
    "quarantine-never-ends": Mutant(
        _instead((Step, "note", _for_ever)), ("work gets done once the faults stop",)
    ),
    "drain-forgotten-at-return": Mutant(
        _instead((machines, "_drain", _no_admin)),
        ("a drain is kept to",),
    ),
    "no-reconcile": Mutant(
        _instead((EngineLink, "_note_failure", _never_failed)), ("reconcile first",)
    ),
    "taken-journal-ignored": Mutant(
        _instead((Committer, "commit", _go_on_when_taken)),
        ("a service whose journal is taken stops",),
    ),
    "revocation-not-durable": Mutant(
        _instead((Step, "note", _revoked_in_memory)),
        (
            "a reply says what is durable",
            "a revoked token is refused",
            "lists agree with the journal",
        ),
    ),
    "snapshot-between-entry-and-fold": Mutant(
        _instead((Committer, "commit", _before_the_fold)),
        (
            "recovery gives the same state",
            "a good journal is read",
            "records and core are the fold of the journal",
            "DisagreementError came out of the service",
        ),
    ),
    "gang-in-part": Mutant(
        _instead((Step, "decide", _gang_in_part)),
        (
            "a gang starts together or not at all",
            "records and core are the fold of the journal",
            "DisagreementError came out of the service",
        ),
    ),
    "limits-forgotten-at-restart": Mutant(
        _instead((recover, "newest", _limits_forgotten)),
        (
            "limits are kept",
            "InternalError came out of the service",  # the core's own invariants
            "recovery gives the same state",
            "DisagreementError came out of the service",
        ),
    ),
    "applied-twice-after-a-failed-append": Mutant(
        _instead((Committer, "commit", _folded_twice)),
        (
            "records and core are the fold of the journal",
            "lists agree with the journal",
            "CorruptJournalError came out of the service",  # the fold itself notices
        ),
    ),
    "joins-before-it-is-empty": Mutant(
        _instead((machines.Machines, "_join", _at_once)),
        ("a machine that returns is empty",),
    ),
    "events-not-known-to-be-durable": Mutant(
        _instead((events, "earlier", _all_that_is_read)),
        ("what happens is told once and in order", "what happens is told"),
    ),
    "events-before-append": Mutant(
        _instead((Service, "_finish", _spread_first)),
        ("what happens is told once and in order",),
    ),
    "others-see-all": Mutant(
        _instead((jobs, "may_see", _any_token)),
        ("tenants see only their own", "owners see their own, and nobody else"),
    ),
    "name-means-the-oldest": Mutant(
        _instead((operations, "find", _first_of_all), (jobs, "find", _first_of_all)),
        (
            "nobody guesses whom a name means",
            "a reply says what is durable",
            "owners see their own, and nobody else",
            "a name that was told finds its job",
        ),
    ),
    "names-forgotten-at-restart": Mutant(
        _instead((recover, "load", _called_by_the_unique_name)),
        (
            "records and core are the fold of the journal",
            "recovery gives the same state",
            "lists agree with the journal",
        ),
    ),
    "event-left-out": Mutant(
        _instead((Feed, "after", _one_entry_less)),
        ("what happens is told once and in order",),
    ),
    "damage-ignored": Mutant(
        _instead(
            (recover, "follow", _read_what_can_be_read), (loop, "follow", _read_what_can_be_read)
        ),
        ("a journal that cannot be read is refused",),
    ),
}
