"""A search that is ended leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.search.ending import workers

ROOT = Path(__file__).resolve().parents[2]

PATIENCE = 60.0


def start_a_service() -> int:
    """As the programs of a search do: in a session of its own, by a process that is gone then."""
    words = 'setsid sleep 1000 >/dev/null & echo "$!"'
    return int(subprocess.run(["sh", "-c", words], stdout=subprocess.PIPE, check=True).stdout)


def search_for_ever() -> None:
    """A search whose worker is at work when it ends."""
    with workers(1) as pool:
        sys.stdout.write(f"{pool.submit(start_a_service).result()}\n")
        sys.stdout.flush()
        pool.submit(signal.pause).result()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name)
def test_what_a_search_started_ends_with_it(number: signal.Signals) -> None:
    program = f"from {__name__} import search_for_ever; search_for_ever()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        started = psutil.Process(int(process.stdout.readline()))
        all_of_it = [started, *psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(number)
        _, left = psutil.wait_procs(all_of_it, timeout=PATIENCE)
        assert left == []
        assert process.wait(PATIENCE) != 0
