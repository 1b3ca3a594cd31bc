"""Slurm's outputs, from its commands or from files that were saved of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.reading.parse import NoAnswerError, check_answer
from fairlead.model.errors import InputError

ACCOUNTING = "sacctmgr"
"""It asks slurmdbd, all others slurmctld."""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "version.txt": ("sinfo", "--version"),
    # First: where slurmctld is away it fails, and the next two say nothing wrong after as long.
    "partitions.txt": ("scontrol", "--oneliner", "show", "partitions"),
    "nodes.json": ("sinfo", "--json"),
    # Newer versions show no jobs that ended, and none of hidden partitions, unless asked for.
    "jobs.json": ("squeue", "--all", "--states=all", "--json"),
    "accounts.txt": (
        *(ACCOUNTING, "--noheader", "--parsable2", "show", "associations"),
        "format=Cluster,Account,User,ParentName,Share,GrpTRES",
    ),
}
"""The files of a saved cluster, and the command whose output each holds: five requests in all."""

SINCE: Mapping[str, tuple[str, ...]] = {"nodes.json": ("scontrol", "show", "nodes", "--json")}
"""Of versions after 22.05: their `sinfo --json` has groups of nodes, and no nodes."""

FIRST = "22.05"

SHORT = "partitions.txt"
"""The first one that slurmctld is asked for, and a short table."""

EMPTY = 10_000
"""An error for an answer is shorter: it is seen before the next command waits as long in vain."""

ACCOUNTS, VERSION = "accounts.txt", "version.txt"

NOTHING: Mapping[str, str] = {}

OPTIONAL = frozenset({ACCOUNTS})
"""Outputs that a cluster without slurmdbd does not have."""

HAS_NONE = ("there is no sacctmgr", "Only 'accounting_storage/slurmdbd' is supported")
"""Words of where there are no accounts. All else may be for now, as where a database hangs, and a
tree of no accounts would be another one."""

PATIENCE = 60
"""Seconds that a command may take."""

FIRST_ANSWER = 30
"""Seconds until a short answer, by which it is seen that Slurm is there: three times what its
commands wait for it by themselves, but where munge is away they try for 50 before they say so."""

PASSING = (
    *("Unable to contact slurm controller", "Socket timed out", "temporarily"),
    *("Transport endpoint", "Zero Bytes were transmitted", "Communication connection failure"),
    *("Connection refused", "controller not responding", "Rate limit exceeded"),
    *("Slurm backup controller in standby", "authentication error", "missing socket error"),
)
"""Words of refusals that say nothing of what was asked for: the same is asked again later."""


class AwayError(EngineError):
    """slurmctld does not answer now; the text says it in Slurm's words."""


def passes(said: str) -> bool:
    """Whether a refusal in these words is only for now."""
    return any(each in said for each in PASSING)


def run(command: tuple[str, ...], patience: float = PATIENCE) -> str:
    """A command's output. Raises EngineError, in a sentence, where it is absent, or fails, or takes
    longer than this."""
    # Long lists of an array's elements are written out, not cut; times are not local.
    environment = {**os.environ, "SLURM_BITSTR_LEN": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=patience, env=environment
        )
    except FileNotFoundError as error:
        raise EngineError(
            f"there is no {command[0]} on this machine; run this where Slurm's commands are, or"
            " give saved outputs with --from"
        ) from error
    except subprocess.TimeoutExpired as error:
        who = "slurmdbd" if command[0] == ACCOUNTING else "slurmctld or munge"
        raise AwayError(
            f"{' '.join(command)} has no answer after {patience:g} s: {who} is away, or busy"
        ) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        last = said.splitlines()[-1] if said else "it says nothing"
        failed = AwayError if passes(said) else EngineError
        raise failed(f"{' '.join(command)} failed: {last}")
    return done.stdout.decode("utf-8", "replace")


def setting(name: str) -> str:
    """A setting of the cluster's slurm.conf. Raises EngineError and InputError."""
    (found,) = settings(name)
    return found


def settings(*names: str) -> list[str]:
    """Several, by one request. Raises EngineError and InputError."""
    said = run(("scontrol", "show", "config"), FIRST_ANSWER)
    found = []
    for name in names:
        value = re.search(rf"^{name}\s*=\s*(\S+)", said, re.MULTILINE)
        if value is None:
            raise InputError(f"`scontrol show config` has no {name}", "is it Slurm's scontrol?")
        found.append(value[1])
    return found


def command_for(name: str, version: str) -> tuple[str, ...]:
    """The command whose output the file of this name holds, in a version as it calls itself."""
    newer = name in SINCE and FIRST not in version
    return SINCE[name] if newer else COMMANDS[name]


def ask(known: Mapping[str, str] = NOTHING) -> dict[str, str]:
    """All outputs of the live cluster by the names of their files; what is `known` of them is not
    asked for. Raises EngineError where one cannot be had, but for what such a cluster may not
    have."""
    outputs = dict(known)
    for name in COMMANDS:
        if name in known:
            continue
        try:
            command = command_for(name, outputs.get(VERSION, ""))
            outputs[name] = run(command, FIRST_ANSWER if name == SHORT else PATIENCE)
            if len(outputs[name]) < EMPTY:
                check_answer(outputs, name)
        except NoAnswerError as error:
            raise AwayError(str(error)) from error
        except EngineError as error:
            if name not in OPTIONAL:
                raise
            if not any(words in str(error) for words in HAS_NONE):
                raise AwayError(str(error)) from error
    return outputs


def load(folder: Path) -> dict[str, str]:
    """All saved outputs. Raises InputError with the file that is missing and its command."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "`fairlead import slurm --save` makes one")
    outputs: dict[str, str] = {}
    for name in COMMANDS:
        try:
            outputs[name] = (folder / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError as error:
            if name in OPTIONAL:
                continue
            raise InputError(
                f"{folder} holds no {name}",
                f"save it: {' '.join(command_for(name, outputs.get('version.txt', FIRST)))} >"
                f" {name}",
            ) from error
        except OSError as error:
            raise InputError(f"{folder / name} cannot be read: {error.strerror}") from error
    return outputs
