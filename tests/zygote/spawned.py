"""Processes that multiprocessing starts in this process are forked from its zygote: an adviser, the
workers of a study."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from multiprocessing import popen_spawn_posix, spawn, util
from typing import Any

from tests.zygote.ask import ask, received
from tests.zygote.forked import zygote

_answers: dict[int, socket.socket] = {}
"""Where it is heard how each of them ended, by their processes."""


class Spawned(popen_spawn_posix.Popen):
    """As multiprocessing's own; of the end of what is no child of this process the zygote tells."""

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        answer = _answers.get(self.pid)
        if self.returncode is not None or answer is None:
            return super().poll(flag)
        try:
            status = received(answer, socket.MSG_DONTWAIT if flag & os.WNOHANG else 0)
        except OSError:  # it goes on, or another thread was told
            return self.returncode
        self.returncode = os.waitstatus_to_exitcode(status)
        answer.close()
        return self.returncode


def fork_what_is_spawned() -> None:
    """From now on it is so; what watches over what they share is started as ever."""
    anew, said = util.spawnv_passfds, spawn.get_preparation_data

    def begin(path: bytes, words: Sequence[str | bytes], numbers: Sequence[int]) -> int:
        told = [os.fsdecode(word) for word in words]
        if not any("spawn_main" in word for word in told):
            return anew(path, words, numbers)
        program, given = told[told.index("-c") :], (0, 1, 2, *numbers)
        answer, process = ask(zygote().path, program, os.curdir, os.environ, given)
        _answers[process] = answer
        return process

    def prepared(name: str) -> dict[str, Any]:
        # Nothing that these processes do is in pytest's own program, which they would import.
        return {key: data for key, data in said(name).items() if "init_main" not in key}

    setattr(util, "spawnv_passfds", begin)  # noqa: B010 - mypy: typeshed has wider words
    setattr(popen_spawn_posix, "Popen", Spawned)  # noqa: B010 - mypy: a type
    setattr(spawn, "get_preparation_data", prepared)  # noqa: B010 - mypy: a function
