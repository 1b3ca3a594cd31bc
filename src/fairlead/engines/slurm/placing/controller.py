"""Slurm as placing reaches it: what is there, and jobs that are submitted, released, cancelled."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fairlead.engines.interface import EngineError
from fairlead.engines.people import Person
from fairlead.engines.slurm.reading.commands import PATIENCE, passes
from fairlead.engines.slurm.reading.reader import Reader
from fairlead.engines.slurm.reading.values import Picture
from fairlead.model.errors import FairleadError, InputError

NO_RIGHT = ("Access/permission denied", "Unspecified error")
"""Words of Slurm, and of `job_submit.lua`, where a user may not do this, whatever the job."""


class RefusedError(FairleadError):
    """Slurm does not take this job; the text says why, in its words."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job to be submitted: the words of `sbatch`, its script, and whose it is."""

    words: Sequence[str]
    script: str
    person: Person | None


class Controller(Protocol):
    """All calls raise EngineError where Slurm cannot be reached: it is done, or not."""

    def read(self) -> Picture:
        """Nodes, jobs and partitions now, and the accounts."""

    def submit(self, job: Submission) -> int:
        """Submits it; its number. Raises RefusedError where Slurm does not want it."""

    def change(self, lines: Sequence[str]) -> Mapping[str, str]:
        """Lines of `scontrol`, in one command. Those that Slurm refuses, by what the line calls its
        job, each with Slurm's words; under the empty name what it says of no job."""

    def cancel(self, numbers: Sequence[int]) -> None:
        """Cancels these jobs; those that are over already are nothing."""


class Commands:
    def __init__(self) -> None:
        self._reader = Reader()

    def read(self) -> Picture:
        try:
            return self._reader.read()
        except InputError as error:
            raise EngineError(str(error)) from error

    def submit(self, job: Submission) -> int:
        who = () if job.person is None else (f"--uid={job.person.uid}", f"--gid={job.person.gid}")
        done = _run(("sbatch", *job.words, *who), job.script)
        said = " ".join(done.stderr.split())
        if done.returncode:
            if passes(said):
                raise EngineError(f"sbatch failed: {said[-300:]}")
            raise RefusedError(said.rpartition("sbatch: error: ")[2][-300:] or "it says nothing")
        number = re.match(r"[0-9]+", done.stdout)
        if number is None:
            raise EngineError(f"sbatch says {done.stdout[:100]!r} instead of a number")
        return int(number[0])

    def change(self, lines: Sequence[str]) -> Mapping[str, str]:
        if not lines:
            return {}
        done = _run(("scontrol",), "".join(f"{line}\n" for line in lines))
        if passes(done.stderr):
            raise EngineError(f"scontrol failed: {done.stderr.strip()[-300:]}")
        found = {}
        for said in filter(None, map(str.strip, done.stderr.splitlines())):
            words, _, job = said.rpartition(" for job ")
            found[job if words else ""] = words or said
        return found

    def cancel(self, numbers: Sequence[int]) -> None:
        if numbers:
            done = _run(("scancel", "--quiet", *map(str, numbers)), "")
            if passes(done.stderr):
                raise EngineError(f"scancel failed: {done.stderr.strip()[-300:]}")


def _run(command: Sequence[str], given: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of Slurm. No variable of the service reaches jobs by it."""
    kept = ("PATH", "SLURM_CONF", "HOME", "USER", "LOGNAME", "TZ")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    try:
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            cwd="/",
            env={**environment, "LC_ALL": "C"},
            encoding="utf-8",
            errors="surrogateescape",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]} cannot be used: {error}") from error
