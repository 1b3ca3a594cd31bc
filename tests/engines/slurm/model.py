"""A model of Slurm, as far as placing meets it: what slurmctld knows, what it has written down, and
what really runs on the nodes. `test_model` compares it with the real one.

It reads no clock. A batch script is run by what it does first, as a shell would: it renames its
permit, or ends. Then it lasts for so long, and writes its end, as its command says: `last SECONDS
CODE`. Users' own jobs have no permit: they are held when they are submitted, last as long as their
users say, and are given back to the queue where their node fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.placing.controller import Submission
from fairlead.engines.slurm.reading.parse import parse
from fairlead.engines.slurm.reading.values import Picture, SlurmJob, SlurmNode

FOLDER = re.compile(r"^folder=(\S+)$", re.MULTILINE)
PERMIT = re.compile(r'"\$folder/(permit-[0-9]+)"')
LAST = re.compile(r"last ([0-9]+) ([0-9]+)")

HAVING = ("RUNNING", "COMPLETING")

CPUS = 4
DELAY = 120.0
"""Seconds for which what was given back to the queue may not start."""

FORGOTTEN = 300.0
"""Seconds for which what is over is known."""

BLANK = parse(
    {
        "version.txt": "slurm 22.05.8",
        "nodes.json": '{"nodes": []}',
        "partitions.txt": "",
        "jobs.json": '{"jobs": [{"job_id": 1, "partition": "fair", "job_state": "PENDING"}]}',
    }
).jobs[0]


@dataclass
class Process:
    """A batch script that runs on a node. `folder` None: a user's own."""

    number: int
    attempt: str
    node: str
    folder: Path | None
    ends: float
    code: int


@dataclass
class Controller:
    """What slurmctld knows."""

    jobs: dict[int, SlurmJob] = field(default_factory=dict)
    scripts: dict[int, str] = field(default_factory=dict)
    lasting: dict[int, int] = field(default_factory=dict)  # users' own jobs, with their seconds
    next: int = 1

    def copied(self) -> Controller:
        """The same, which no change here reaches: what its tables hold never changes."""
        return replace(
            self, jobs=dict(self.jobs), scripts=dict(self.scripts), lasting=dict(self.lasting)
        )


@dataclass
class SlurmModel:
    """`faulty` is asked before each command that changes something: None, or at which of its ends
    it fails. `starts`: of each attempt, how often its command began; `ended`: with which code."""

    nodes: tuple[str, ...] = ("n1", "n2", "n3")
    now: float = 1000.0
    up: bool = True
    mind: Controller = field(default_factory=Controller)
    saved: Controller = field(default_factory=Controller)
    processes: dict[int, Process] = field(default_factory=dict)
    waiting: list[tuple[str, int, int]] = field(default_factory=list)  # ends not heard of yet
    registered: set[str] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    starts: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    disasters: int = 0
    late: list[tuple[float, Submission]] = field(default_factory=list)  # on their way
    faulty: Callable[[str], str | None] = lambda _: None
    killed: type[BaseException] = KeyboardInterrupt

    def __post_init__(self) -> None:
        self.registered = set(self.nodes)

    # What the engine asks.

    def read(self) -> Picture:
        self._reach("read")
        nodes = tuple(
            SlurmNode(name, CPUS, 8000, (), (), ("fair",), frozenset({self._state(name)}), "")
            for name in self.nodes
        )
        jobs = tuple(self.mind.jobs.values())
        return Picture("22.05.8", "tests", nodes, jobs, (), frozenset())

    def submit(self, job: Submission) -> int:
        fault = self._reach("submit")
        if fault == "late":
            self.late.append((self.now + 8, job))
            raise self.killed
        number = self._take(job)
        self._fail(fault)
        return number

    def _take(self, job: Submission) -> int:
        asked = dict(word.removeprefix("--").partition("=")[::2] for word in job.words)
        number = self.mind.next
        self.mind.next += 1
        self.mind.jobs[number] = replace(
            BLANK,
            number=number,
            name=asked["job-name"],
            reason="",
            partitions=(asked["partition"],),
            cpus=int(asked["cpus-per-task"]),
            required=asked["nodelist"],
            comment=asked["comment"],
            priority=1,
        )
        self.mind.scripts[number] = job.script
        return number

    def change(self, lines: Sequence[str]) -> Mapping[str, str]:
        fault = self._reach("change") if lines else None
        if fault in ("half", "half killed"):  # some of them arrive
            for line in lines[: len(lines) // 2]:
                self._change(line)
            raise self.killed if fault == "half killed" else EngineError("Socket timed out")
        for line in lines:
            self._change(line)
        self._fail(fault)
        return {}

    def _change(self, line: str) -> None:
        """A line of `scontrol`, by somebody who may."""
        word, *rest = line.split()
        values = dict(each.partition("=")[::2] for each in rest)
        number = self._find(values["JobId"] if word == "update" else rest[0])
        job = self.mind.jobs.get(number)
        if job is None or job.state not in ("PENDING", *HAVING):
            return
        if word in ("hold", "uhold"):
            reason = "JobHeldAdmin" if word == "hold" else "JobHeldUser"
            self.mind.jobs[number] = replace(job, priority=0, reason=reason)
        elif word == "release":
            late = job.eligible > self.now and job.state == "PENDING"
            reason = "BeginTime" if late else ""
            self.mind.jobs[number] = replace(job, priority=1, reason=reason)
        elif job.state == "PENDING":
            self.mind.jobs[number] = replace(
                job,
                required=values.get("ReqNodeList", job.required),
                remark=values.get("AdminComment", job.remark),
                eligible=0 if "StartTime" in values else job.eligible,
            )

    def _find(self, name: str) -> int:
        """The number of a job or an element, which is a job of its own from then on."""
        number, _, element = name.partition("_")
        if not element:
            return int(number)
        for job in self.mind.jobs.values():
            if job.array == int(number) and job.element == element:
                return job.number
        whole = self.mind.jobs.get(int(number))
        if whole is None or element not in whole.which.split(","):
            return 0
        left = [each for each in whole.which.split(",") if each != element]
        alone = self.mind.next if left else whole.number
        self.mind.next += bool(left)
        one = replace(whole, number=alone, element=element, which="", elements=1)
        if left:
            rest = replace(whole, which=",".join(left), elements=len(left))
            self.mind.jobs[whole.number] = rest
        self.mind.jobs[alone] = one
        self.mind.lasting[alone] = self.mind.lasting[whole.number]
        return alone

    def cancel(self, numbers: Sequence[int]) -> None:
        fault = self._reach("cancel") if numbers else None
        for number in numbers:
            job = self.mind.jobs.get(number)
            if job is not None and job.state == "PENDING":
                self._over(number, "CANCELLED", 15)
            elif job is not None and job.state == "RUNNING":  # its node is told next
                self.mind.jobs[number] = replace(job, state="COMPLETING")
        self._fail(fault)

    # What happens.

    def pass_time(self, seconds: float) -> None:
        """Scripts end, nodes report, jobs start."""
        self.now += seconds
        for number in [n for n, each in self.processes.items() if each.ends <= self.now]:
            self._end(self.processes.pop(number))
        if not self.up:
            return
        for name in self.nodes:
            if name not in self.registered and name not in self.down:
                self._register(name)
                break  # one at a time
        for number, job in list(self.mind.jobs.items()):
            if job.state == "COMPLETING" and job.node_list in self.registered:
                self._kill(number)
                self._over(number, "CANCELLED", 15)
        self._hear()
        for each in [each for each in self.late if each[0] <= self.now]:
            self.late.remove(each)
            self._take(each[1])
        self._start()
        self._forget()

    def save(self) -> None:
        """slurmctld writes down what it knows."""
        if self.up:
            self.saved = self.mind.copied()

    def kill(self) -> None:
        """slurmctld is killed: what it had not written down is lost."""
        self.up, self.registered = False, set()
        self.disasters += 1
        self.mind = self.saved.copied()

    def begin(self) -> None:
        """It is started again."""
        self.up = True

    def fail_node(self, name: str) -> None:
        """A node dies with all that runs there."""
        self.down.add(name)
        self.disasters += 1
        self.registered.discard(name)
        for number in [n for n, each in self.processes.items() if each.node == name]:
            del self.processes[number]
        if self.up:
            for number, job in list(self.mind.jobs.items()):
                if job.state in HAVING and job.node_list == name:
                    self._fail_under(number)

    def mend_node(self, name: str) -> None:
        """It comes back."""
        self.down.discard(name)

    def by_hand(self, number: int) -> None:
        """An administrator cancels a job."""
        if self.up:
            self.cancel((number,))

    def user(self, seconds: int, elements: int = 0, user: str = "man", cpus: int = 1) -> int:
        """A user submits a job, or an array of such; its number."""
        number = self.mind.next
        self.mind.next += 1
        self.mind.jobs[number] = replace(
            BLANK,
            number=number,
            array=number if elements else 0,
            which=",".join(map(str, range(elements))),
            elements=elements or 1,
            user=user,
            cpus=cpus,
            partitions=("fair",),
            reason="JobHeldUser",
            priority=0,
        )
        self.mind.lasting[number] = seconds
        return number

    def give_back(self, number: int) -> None:
        """A user's job that runs is given back to the queue."""
        job = self.mind.jobs[number]
        self.processes.pop(number, None)
        self.mind.jobs[number] = replace(
            job,
            state="PENDING",
            reason=job.reason if not job.priority else "BeginTime",
            eligible=int(self.now + DELAY),
            restarts=job.restarts + 1,
            node_list="",
            running_on=0,
            started=0,
        )

    def stranger(self) -> int:
        """Somebody else submits a job that never starts; its number."""
        number = self.mind.next
        self.mind.next += 1
        self.mind.jobs[number] = replace(
            BLANK, number=number, partitions=("main",), reason="JobHeldUser", priority=0
        )
        return number

    def _state(self, name: str) -> str:
        return "DOWN" if name in self.down else "IDLE" if name in self.registered else "UNKNOWN"

    def _reach(self, what: str) -> str | None:
        fault = self.faulty(what)
        if not self.up or fault == "before":
            raise EngineError("Unable to contact slurm controller (connect failure)")
        return fault

    def _fail(self, fault: str | None) -> None:
        if fault == "after":
            raise EngineError("Socket timed out on send/recv operation")
        if fault == "lost":
            self.kill()
        if fault == "killed":
            raise self.killed

    def _over(self, number: int, state: str, status: int) -> None:
        job = self.mind.jobs[number]
        self.mind.jobs[number] = replace(job, state=state, exit=status, ended=int(self.now))

    def _kill(self, number: int) -> None:
        self.processes.pop(number, None)

    def _start(self) -> None:
        taken = dict.fromkeys(self.nodes, 0)
        for job in self.mind.jobs.values():
            if job.state in HAVING:
                taken[job.node_list] += job.cpus
        for number, job in list(self.mind.jobs.items()):
            if job.state != "PENDING" or not job.priority or job.which:
                continue
            room = [n for n in sorted(self.registered) if taken[n] + job.cpus <= CPUS]
            node = job.required or next(iter(room), "")
            if node not in self.registered or job.eligible > self.now:
                continue
            if number in self.processes or taken[node] + job.cpus > CPUS:
                continue
            taken[node] += job.cpus
            self.mind.jobs[number] = replace(
                job, state="RUNNING", node_list=node, running_on=1, started=int(self.now)
            )
            self._run(number, node)

    def _run(self, number: int, node: str) -> None:
        if number in self.mind.lasting:
            name = f"job {number}"
            self.starts[name] = self.starts.get(name, 0) + 1
            ends = self.now + self.mind.lasting[number]
            self.processes[number] = Process(number, name, node, None, ends, 0)
            return
        script = self.mind.scripts[number]
        folder, permit, last = FOLDER.search(script), PERMIT.search(script), LAST.search(script)
        assert folder is not None
        assert permit is not None
        assert last is not None
        place = Path(folder[1])
        try:
            (place / permit[1]).rename(place / "claim")
        except FileNotFoundError:
            self._over(number, "FAILED", 75 << 8)
            return
        name = place.name
        self.starts[name] = self.starts.get(name, 0) + 1
        ends = self.now + int(last[1])
        self.processes[number] = Process(number, name, node, place, ends, int(last[2]))

    def _end(self, process: Process) -> None:
        self.ended[process.attempt] = process.code
        if process.folder is not None and process.folder.exists():
            (process.folder / "end").write_text(f"exit {process.code}\n")
        self.waiting.append((process.node, process.number, process.code))

    def _hear(self) -> None:
        """Ends that nodes have to tell; they tell them again until they are heard."""
        for end in [end for end in self.waiting if end[0] in self.registered]:
            self.waiting.remove(end)
            _, number, code = end
            job = self.mind.jobs.get(number)
            if job is not None and job.state == "RUNNING":
                self._over(number, "FAILED" if code else "COMPLETED", code << 8)

    def _register(self, name: str) -> None:
        """A node says what runs there: slurmctld ends what it does not know to run there."""
        self.registered.add(name)
        told = {number for node, number, _ in self.waiting if node == name}
        for number, process in list(self.processes.items()):
            job = self.mind.jobs.get(number)
            known = job is not None and job.state in HAVING and job.node_list == name
            if process.node == name and not known:
                self._kill(number)
        runs = {number for number, each in self.processes.items() if each.node == name}
        for number, job in list(self.mind.jobs.items()):
            here = job.state == "RUNNING" and job.node_list == name
            if here and number not in runs and number not in told:
                self._fail_under(number)

    def _fail_under(self, number: int) -> None:
        """What ran on a node that failed is over, or waits again."""
        if number in self.mind.lasting:
            self.give_back(number)
        else:
            self._over(number, "NODE_FAIL", 0)

    def _forget(self) -> None:
        for number, job in list(self.mind.jobs.items()):
            if job.ended and job.ended + FORGOTTEN < self.now:
                del self.mind.jobs[number]
