"""An attempt as a batch job of Slurm: the words of `sbatch`, and the script."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from pathlib import Path
from shlex import quote

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.people import CannotRunError, Person
from fairlead.engines.slurm.placing.folder import attempt_of
from fairlead.engines.slurm.reading.values import SlurmJob

CLAIM = "fairlead"
"""The first word of the comment of our jobs; then come the engine and the attempt."""

TAKEN = 75
"""The code of a batch job whose attempt was started, or taken back, before it."""

NO_FOLDER, NOT_FOUND = 125, 127

PASSED_ON = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")
HOME = ("PATH", "HOME", "USER", "LOGNAME", "SHELL")
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
MEBIBYTE = 2**20


def claim(identity: str, attempt: Attempt) -> str:
    """The comment by which a job of Slurm is known as this attempt's."""
    return f"{CLAIM}:{identity}:{attempt}"


def attempt_of_comment(comment: str, identity: str) -> Attempt | None:
    """The attempt whose job says so; None where it is none of this engine's."""
    first, _, rest = comment.partition(":")
    engine, _, name = rest.partition(":")
    return attempt_of(name) if (first, engine) == (CLAIM, identity) else None


def is_of(job: SlurmJob, assignment: Assignment) -> bool:
    """Whether it was submitted as the user of the task, or as the service's own."""
    return job.user in ("", assignment.user or pwd.getpwuid(os.geteuid()).pw_name)


def words(assignment: Assignment, partition: str, comment: str, folder: Path) -> list[str]:
    """The options of `sbatch` without the user's. Raises CannotRunError where Slurm cannot give
    what the task asks for."""
    found = [
        *("--parsable", "--nodes=1", "--ntasks=1", "--no-requeue", "--open-mode=append"),
        f"--partition={partition}",
        f"--nodelist={assignment.machine}",
        f"--job-name={assignment.name[:200]}",
        f"--comment={comment}",
        "--chdir=/",
        "--input=/dev/null",
        f"--output={folder}/stdout",
        f"--error={folder}/stderr",
    ]
    demand = dict(assignment.demand)
    cpus = _whole("cpu", demand.pop("cpu", Fraction(1)))
    found.append(f"--cpus-per-task={cpus}")
    memory = demand.pop("memory", None)
    if memory is not None:
        found.append(f"--mem={max(1, ceil(memory / MEBIBYTE))}M")
    devices = [f"{name}:{_whole(name, amount)}" for name, amount in demand.items() if amount]
    if devices:
        found.append(f"--gres={','.join(devices)}")
    if assignment.time_limit is not None:  # Slurm counts minutes; the engine is there before it
        found.append(f"--time={ceil(assignment.time_limit / 60) + 1}")
    return found


def _whole(name: str, amount: Fraction) -> int:
    if amount.denominator != 1 or amount < 1:
        raise CannotRunError(
            f"Slurm gives whole parts of {name}, and the task asks for {float(amount):g}"
        )
    return int(amount)


def script(assignment: Assignment, permit: Path, person: Person | None) -> str:
    """The script that Slurm runs: it takes the permit, runs the command, and writes down how it
    ended."""
    folder, command = permit.parent, assignment.command
    assert command is not None
    argv = ("/bin/sh", "-c", command) if isinstance(command, str) else command
    environment = "\n".join(
        f"export {name}={quote(value)}" for name, value in _environment(assignment, person).items()
    )
    return f"""\
#!/bin/sh
# Fairlead: attempt {assignment.attempt}. Whoever renames the permit has it.
folder={quote(str(folder))}
mv -- "$folder/{permit.name}" "$folder/claim" 2>/dev/null || exit {TAKEN}
over() {{
  echo "$1 $2" >"$folder/end.new" && mv -- "$folder/end.new" "$folder/end"
  exit "$2"
}}
{environment}
cd -- {quote(assignment.cwd or "/")} 2>/dev/null || over missed {NO_FOLDER}
command -v -- {quote(argv[0])} >/dev/null 2>&1 || over missed {NOT_FOUND}
{" ".join(map(quote, argv))}
over exit "$?"
"""


def _environment(assignment: Assignment, person: Person | None) -> Mapping[str, str]:
    """The variables of a task beside Slurm's own. Its job's win over the service's, and those that
    name the task over its job's."""
    names = PASSED_ON if person is not None else (*PASSED_ON, *HOME)
    found = {name: os.environ[name] for name in names if name in os.environ}
    found.setdefault("PATH", USUAL_PATH)
    if person is not None:
        found |= {"HOME": person.home, "SHELL": person.shell}
        found |= {"USER": person.name, "LOGNAME": person.name}
    return {**found, **assignment.env, **assignment.variables()}
