"""Users' own jobs in the partition: they wait there, held, and whose turn it is is released to the
nodes that were chosen.

What is held as `job_submit.lua` holds it waits for its turn; every other hold, and what somebody
else released, is an administrator's own affair. Slurm's number is all that is needed to find a job
again, and releasing it twice is releasing it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.observing import Apart, Part, SeenJob, View
from fairlead.engines.slurm.lying import nodes_of
from fairlead.engines.slurm.placing.batch import attempt_of_comment
from fairlead.engines.slurm.placing.given import Given
from fairlead.engines.slurm.placing.marks import (
    Key,
    as_asked,
    key_of,
    mark_of,
    number_of,
    pin,
    put_back,
    released_by_another,
    slurm_id,
)
from fairlead.engines.slurm.placing.nodes import Amounts, still_waits
from fairlead.engines.slurm.placing.others import UNHELD, Others
from fairlead.engines.slurm.placing.tasks import BOUNCE
from fairlead.engines.slurm.reading.values import ASKING, Picture, SlurmJob
from fairlead.engines.slurm.translation import IMPOSSIBLE, OWN_HOLD, QUEUED, RUNNING
from fairlead.engines.slurm.viewing import DELAYED, SECOND, Viewer
from fairlead.model.names import expand_all
from fairlead.model.words import timespan

AT_ONCE = 300
"""Jobs that are released by one command."""

RELEASING, HOLDING = 3, 2
"""Requests of a release with the nodes, and of a hold: `scontrol` asks for a job that it holds or
releases."""

REST = 300.0
"""Seconds until a job is released again that Slurm did not start for reasons of its own."""

SETTLED = 5.0
"""Seconds until what was given back to the queue is released again: a slurmd refuses a job that it
ended in the same second (it revoked its credential), and Slurm then ends the job for good. Slurm
itself waits for two minutes."""

BEYOND = (
    "; it waits until an administrator releases it (scontrol release), and counts as taken then"
)

AGAIN = "it is tried again after"

TURN = "Slurm holds it until Fairlead releases it to a node; a hold of its owner changes nothing"

TAKEN = "what it holds counts as taken"


class Adopted:
    """The jobs in `partition` that are none of the engine's own (`identity`). `tell`: says a
    sentence once. Whoever calls holds the engine's lock."""

    def __init__(
        self,
        partition: str,
        identity: str,
        clock: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._partition, self._identity, self._clock = partition, identity, clock
        self._tell = tell
        self._viewer = Viewer(self._why_held, BEYOND)
        self._given: dict[Key, Given] = {}
        self._over: dict[Key, Given] = {}  # ends that no view has shown
        self._rests: dict[Key, tuple[float, str]] = {}
        self._back: dict[Key, tuple[int, float]] = {}  # how often given back, since when it waits
        self._rows: dict[Key, SlurmJob] = {}
        self._arrays: dict[int, SlurmJob] = {}  # of elements that wait together
        self._readings = self._told = 0
        self._seen: View | None = None
        self._others = Others(partition, identity, tell)

    def give(self, batch: Sequence[Assignment]) -> None:
        """These are to be released, tasks of one part together."""
        for each in batch:
            key = key_of(each)
            if key not in self._given or self._given[key].sent is not None:
                self._given[key] = Given(each.name)
            self._given[key].demand = each.demand
            self._given[key].attempts.append(each.attempt)
            self._given[key].machines.append(each.machine)

    def elder(self, picture: Picture) -> str:
        """Why nothing is to be placed here; empty where it may be."""
        return self._others.elder(self._theirs(picture))

    def withdraw(self, attempts: Iterable[Attempt]) -> None:
        """The machines of these are gone. What waits is held again; what runs counts as taken."""
        gone = set(attempts)
        for key, given in list(self._given.items()):
            if gone.isdisjoint(given.attempts):
                continue
            if given.sent is not None and not given.started:
                given.leaving = "its node is gone"
            else:
                del self._given[key]

    def expect(self, expected: Sequence[Assignment], picture: Picture) -> None:
        """Begins anew with what should be released or running. What is held is neither: it shows as
        waiting, and whose turn it is is decided again."""
        self._given.clear()
        self._index(self._theirs(picture))
        for each in expected:
            job = None if each.part is None else self._row(key_of(each))
            if job is not None and (job.priority or not still_waits(job)):
                given = self._given.setdefault(key_of(each), Given(each.name, sent=self._clock()))
                given.demand = each.demand
                given.attempts.append(each.attempt)
                given.machines.append(each.machine)
        self.look(picture)

    def look(self, picture: Picture) -> None:
        """Takes in what was read last, and ends what does not go on by it."""
        theirs = self._theirs(picture)
        self._index(theirs)
        self._readings += 1
        for key, given in list(self._given.items()):
            if not self._goes_on(key, given, self._row(key)):
                del self._given[key]
        now = self._clock()
        before, self._back = self._back, {}
        for key, job in self._rows.items():
            if job.restarts and still_waits(job):
                known = before.get(key, (0, now))
                self._back[key] = known if known[0] == job.restarts else (job.restarts, now)
        self._rests = {key: rest for key, rest in self._rests.items() if rest[0] > now}
        self._others.look(theirs)
        jobs = tuple(map(self._as_asked, theirs))
        self._seen = self._viewer.view(replace(picture, jobs=jobs), int(now * SECOND))
        for note in self._seen.notes:
            self._tell(note)

    def view(self) -> View | None:
        """These jobs, once for each reading."""
        seen, self._seen = self._seen, None
        if seen is None:
            return None
        given: dict[str, list[tuple[str, Given]]] = {}
        for (_, part), each in self._given.items():
            given.setdefault(each.name, []).append((part, each))
        jobs: dict[str, SeenJob] = {}
        apart = dict(seen.apart)
        for name, job in seen.jobs.items():
            found = self._launched(name, job, given.get(name, ()))
            cancelled = not (job.waiting or job.running or job.ended)  # before it ever ran
            if cancelled or found.waiting or found.running or found.ended or found.given:
                jobs[name] = found
            elif job.running:
                where = ", ".join(sorted({node for part in job.running for node in part.machines}))
                how = (
                    UNHELD if number_of(name) in self._others.unheld else "it was not released here"
                )
                why = f"it runs, and {how}: {TAKEN} on {where}"
                apart[name] = Apart(job.job.tenant, why, runs=True)
        self._over.clear()
        return replace(seen, nodes=(), jobs=jobs, apart=apart, notes=())

    def counted(self) -> dict[int, Mapping[str, Amounts]]:
        """Numbers of the jobs whose room the service counts itself; of one that lies otherwise than
        it was placed, how much on each node."""
        return {
            job.number: given.amounts() if given.beyond else {}
            for key, given in self._given.items()
            if given.started and (job := self._row(key)) is not None
        }

    def lines(
        self, room: int, affords: Callable[[int], bool] = lambda _: True
    ) -> tuple[dict[str, str], list[str]]:
        """The lines of `scontrol` that give jobs their nodes, by what they call the job, which is
        to be released then; and all other lines. `room`: elements that may become jobs of their
        own, which an array's are once they are released. `affords`: whether so many more requests
        may be made; what may not is written at a later call."""
        found: list[str] = []
        pins: dict[str, str] = {}
        for key, given in self._given.items():
            job = self._row(key)
            if job is None:
                continue
            if given.sent is None:
                if len(pins) >= AT_ONCE:
                    continue
                if job.which and room <= 0:
                    self._tell("Slurm has as many jobs as it may (MaxJobCount): arrays wait")
                    continue
                if not affords(RELEASING):
                    continue
                room -= bool(job.which)
                given.sent, given.as_ = self._clock(), as_asked(job)
                pins[slurm_id(key)] = pin(key, given.as_, given.machines, self._identity)
            elif (
                given.told != self._readings
                and job.priority
                and _is_to_be_held(given)
                and affords(HOLDING)
            ):
                # One that runs, too: where Slurm gives it back to the queue, it waits for its turn.
                given.told = self._readings
                found.append(f"uhold {slurm_id(key)}")
        if self._told != self._readings:
            self._told = self._readings
            found += self._put_back(affords)
        return pins, found

    def rest_refused(self, refused: Mapping[str, str]) -> None:
        """Takes in what Slurm did not let be written: of what was to be released so, another try
        is made after a while."""
        for key, given in list(self._given.items()):
            if (said := refused.get(slurm_id(key))) and not given.started and not given.leaving:
                why = f"Slurm does not let it be released ({said})"
                self._rests[key] = (self._clock() + REST, f"{why}; {AGAIN} {timespan(REST)}")
                del self._given[key]

    def _put_back(self, affords: Callable[[int], bool]) -> list[str]:
        """Lines by which jobs that wait and were released once are held, as their users asked."""
        waiting = ((key, job) for key, job in self._rows.items() if still_waits(job))
        found: list[str] = []
        for key, job in waiting:
            skipped = key in self._given or released_by_another(job, self._identity)
            lines = [] if skipped else put_back(key, job)
            if lines and affords(HOLDING * len(lines)):
                found += lines
        return found

    def _goes_on(self, key: Key, given: Given, job: SlurmJob | None) -> bool:
        """Whether it is as it was launched, or on its way there."""
        if job is None:
            return False
        if still_waits(job):
            return self._goes_on_waiting(key, given, job)
        if job.state not in RUNNING:
            self._over[key] = given
            return False
        where, placed = set(nodes_of(job)), set(given.machines)
        released = mark_of(job) is not None and _nodes(job.required) == placed
        shrunk = bool(given.started) and where < placed
        if not (where == placed or shrunk or released):
            self._tell(
                f"job {slurm_id(key)} ({job.name}) runs on {job.node_list}, where Fairlead did not"
                f" place it: {TAKEN}"
            )
            return False
        # It is its tenant's share as it was placed, on whatever nodes Slurm lets it run: what lies
        # otherwise counts as taken beside it, and what its owner gave away is his until it is over.
        given.look(job)
        if not where <= placed:
            self._tell(
                f"job {slurm_id(key)} ({job.name}) runs on {job.node_list}, more nodes than"
                f" Fairlead placed it on: {TAKEN}, beside its share"
            )
        given.started, given.leaving = given.started or job.started * SECOND, ""
        return True

    def _goes_on_waiting(self, key: Key, given: Given, job: SlurmJob) -> bool:
        if not job.priority:
            if given.sent is not None and not given.leaving and not given.started:
                if job.reason in IMPOSSIBLE:
                    self._rest(key, job)
                    return False
                # Somebody held it, or Slurm did not take the release.
                self._rests[key] = (self._clock() + BOUNCE, "it was released, and is held again")
            return given.sent is None and job.reason == OWN_HOLD
        mark = mark_of(job)
        if given.sent is None or mark is None or released_by_another(job, self._identity):
            return False  # somebody was quicker
        if given.started or int(mark["times"]) != job.restarts:
            given.started, given.leaving = 0, "it was given back to the queue"
        elif _nodes(job.required) != set(given.machines):
            given.leaving = "slurmctld begins again with what was released before"
        own = job.reason not in QUEUED and job.reason != DELAYED
        late = self._clock() - given.sent > BOUNCE
        if not given.leaving and own:
            given.leaving = self._rest(key, job)
        elif not given.leaving and late:
            given.leaving = self._report_missed(key, job)
        return True

    def _report_missed(self, key: Key, job: SlurmJob) -> str:
        """Says that it does not start."""
        why = f"it does not start on its node (Slurm says {job.reason or 'nothing'})"
        self._tell(f"job {slurm_id(key)} ({job.name}): {why}")
        return why

    def _rest(self, key: Key, job: SlurmJob) -> str:
        """The same, for a reason of Slurm's own that may last: it has no turn for a while."""
        why = f"{self._report_missed(key, job)}; {AGAIN} {timespan(REST)}"
        self._rests[key] = (self._clock() + REST, why)
        return why

    def _why_held(self, job: SlurmJob, picture: Picture) -> str:
        """Why a job has no turn, in a sentence; empty where it waits for one, or had it."""
        key = (job.array or job.number, job.element)
        if job.priority and key in self._given:
            return ""
        starts = f"Slurm starts it (it says {job.reason or '-'})"
        if job.priority and (other := released_by_another(job, self._identity)):
            return f"another service, of engine {other}, released it, and {starts}"
        if job.priority and mark_of(job) is not None:
            return "it was given back to the queue, and is held again"
        if job.priority and key[0] in self._others.unheld:
            return f"{UNHELD}, and {starts}"
        if job.priority:
            return f"it was released by hand, and {starts}"
        if job.reason != OWN_HOLD:
            return f"Slurm holds it ({job.reason})"
        if self._partition in picture.closed:
            return f"partition {self._partition} is not up"
        if job.depends:
            return f"it depends on other jobs ({job.depends})"
        if self._clock() - self._back.get(key, (0, 0.0))[1] < SETTLED:
            return "it was given back to the queue just now"
        wait = job.eligible - self._clock()
        if wait > 0 and not job.restarts:
            return f"it is not to start before another {timespan(wait)} have passed"
        if re.search(r"""[\s"'\\]""", job.remark):
            return "its AdminComment has blanks or quotes, which could not be put back: clear it"
        return self._rests[key][1] if key in self._rests else ""

    def _launched(self, name: str, job: SeenJob, given: Sequence[tuple[str, Given]]) -> SeenJob:
        """A job of which only what was launched here runs or has ended."""
        number = number_of(name)
        waits = {part: each for part, each in given if not each.started}
        waiting = max(0, job.waiting - len(waits) * int(job.job.gang))
        launched = {part for part, each in given if each.started}
        others = [part for part in job.running if part.name not in launched]
        said = [TURN] if waiting else []
        if waits and not waiting:
            nodes = sorted({machine for each in waits.values() for machine in each.machines})
            said.append(f"it is released to {', '.join(nodes)}; {job.said}")
        if others:
            said.append(f"{len(others)} of it run that were not released here: {TAKEN}")
        return replace(
            job,
            waiting=waiting,
            running=tuple(
                Part(part, tuple(each.machines), each.started)
                for part, each in given
                if each.started
            ),
            ended=tuple(each for each in job.ended if (number, each.part.name) in self._over),
            given=frozenset(waits),
            said="; ".join(said),
        )

    def _theirs(self, picture: Picture) -> list[SlurmJob]:
        """The jobs of users in the partition."""
        here = [job for job in picture.jobs if job.partitions == (self._partition,)]
        return [job for job in here if attempt_of_comment(job.comment, self._identity) is None]

    def _as_asked(self, job: SlurmJob) -> SlurmJob:
        """A job as its user asked for it. What was launched is what it was then, and lies on its
        nodes as it was placed."""
        key = (job.array or job.number, job.element)
        if (given := self._given.get(key) or self._over.get(key)) is None:
            return as_asked(job)
        names = ASKING if given.as_ is not None else ()
        otherwise: dict[str, Any] = {name: getattr(given.as_, name) for name in names}
        if not still_waits(job):
            cores = Counter(given.machines)
            lies = {"node_list": ",".join(cores), "cores": tuple(cores.items()), "devices": ()}
            otherwise |= lies
        return as_asked(job, **otherwise)

    def _index(self, theirs: Sequence[SlurmJob]) -> None:
        self._rows = {
            (job.array or job.number, job.element): job for job in theirs if not job.which
        }
        self._arrays = {job.array: job for job in theirs if job.which}

    def _row(self, key: Key) -> SlurmJob | None:
        """The row of a part: its own, or that of the elements that wait with it."""
        found = self._rows.get(key)
        return self._arrays.get(key[0]) if found is None and key[1] else found


def _nodes(text: str) -> set[str]:
    return set(expand_all([text])) if text else set()


def _is_to_be_held(given: Given) -> bool:  # by this name a bug is planted: tests/engines/slurm
    return bool(given.started or given.leaving)
