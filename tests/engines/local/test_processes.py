"""Processes by their numbers, which may be others' by now."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from typing import NoReturn

import pytest

from fairlead.engines.local import processes


@pytest.mark.parametrize("number", [errno.ESRCH, errno.EINVAL, errno.ENOENT])
def test_a_number_that_no_process_has_is_nobodys_in_the_words_of_every_linux(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(_: int) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pidfd_open", refused)
    found = processes.process(os.getpid())
    assert found is not None
    assert processes.opened(found.pid) is None
    assert not processes.kill(found.pid, found.start, signal.SIGKILL)


def test_the_number_of_a_group_whose_first_process_is_gone_is_no_process() -> None:
    with subprocess.Popen(
        ["/bin/sh", "-c", "sleep 1000 >/dev/null & :"], start_new_session=True
    ) as first:
        pass
    assert processes.opened(first.pid) is None
    os.killpg(first.pid, signal.SIGKILL)
