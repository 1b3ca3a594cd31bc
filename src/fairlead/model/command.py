"""Fields of a job for engines: its command, environment, folder and retries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.model.errors import InputError
from fairlead.model.quantity import Amount, exact, write_amount
from fairlead.model.values import FrozenMap

Command = str | tuple[str, ...]
"""A string is for the shell; a list is a program and its arguments."""

LONGEST = 128 * 1024
"""Bytes of a command, of a folder's name, of an environment: Linux takes no longer argument."""

MOST_RETRIES = 1_000_000

OWN_VARIABLES = frozenset(
    {
        "FAIRLEAD_ATTEMPT",
        "FAIRLEAD_JOB",
        "FAIRLEAD_JOB_ID",
        "FAIRLEAD_MACHINE",
        "FAIRLEAD_MARK",
        "FAIRLEAD_PIECES",
        "FAIRLEAD_RUN",
        "FAIRLEAD_TASK",
        "FAIRLEAD_TENANT",
    }
)
"""What engines say to tasks, whatever their jobs say of it."""

DEVICE_VARIABLES = frozenset({"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
"""What engines say to tasks of their pieces of the resource `gpu`."""


def command_of(command: str | Iterable[str]) -> Command:
    """The command, as text for the shell or as a program with its arguments."""
    if isinstance(command, str):
        if not command.strip():
            raise InputError("the command is empty", 'write one, as in "python train.py"')
        return _short(command, "the command")
    words = tuple(command)
    if not words or not all(isinstance(word, str) for word in words) or not words[0]:
        raise InputError(
            "the command is not a list of a program and its arguments",
            'write texts, as in [python, train.py, "--epochs", "3"], or one text for the shell',
        )
    _short("\0".join(words), "the command", parts=len(words) - 1)
    return words


def environment(env: Mapping[str, str]) -> FrozenMap[str]:
    """The variables that a task finds set beside those of the service's own choice."""
    total = 0
    for name, value in env.items():
        if not isinstance(value, str):
            raise InputError(f'the value of "{name}" is not a text', 'put it in quotes, as in "1"')
        if not name or "=" in name:
            raise InputError(f'"{name}" cannot be the name of a variable', "write a name without =")
        total += len(_short(name + value, "an environment variable").encode())
    if total > LONGEST:
        raise InputError(f"the environment is longer than {LONGEST} bytes", "put it into a file")
    return FrozenMap(dict(env))


def folder(cwd: str) -> str:
    """The folder in which a task starts: an absolute path."""
    if not cwd.startswith("/"):
        raise InputError(f"the folder {cwd[:60]!r} is not an absolute path", "begin it with /")
    return _short(cwd, "the folder")


def retries_of(retries: Amount) -> int:
    """The number of times that a task is tried again after a failure or a loss."""
    number = exact(retries)
    if number.denominator != 1 or not 0 <= number <= MOST_RETRIES:
        raise InputError(
            f"{write_amount(number)} is not a number of retries",
            f"write a whole number from 0 to {MOST_RETRIES}",
        )
    return int(number)


def call_of(call: str) -> str:
    """The text that a client library hands to the engine in place of a command, as it is."""
    if not call:
        raise InputError("the call is empty", "leave it out, or let the library write it")
    return call


def _short(text: str, what: str, parts: int = 0) -> str:
    if text.count("\0") > parts:
        raise InputError(f"{what} holds a zero byte", "take it out")
    if len(text.encode(errors="surrogatepass")) > LONGEST:
        raise InputError(f"{what} is longer than {LONGEST} bytes", "put it into a file")
    return text
