"""How long nobody leads where the service that leads and the one that follows are killed at once.

    python -m benchmarks.both_killed --jobs 100000 [--turns 3]

A PostgreSQL server of its own, two services on its journal, so many jobs that wait. Both are
killed and both started again, as a supervisor would do it. Printed for each turn: seconds until one
of them is ready, the processor time that it took until then, and how busy the machine was.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.ports import kept_port
from tests.service.journal import postgres_server

CLUSTER = """\
machines:
  - {name: m1, capacity: {cpu: 4}}
tenants:
  - {name: a}
"""

AT_ONCE = 2000


def main() -> None:
    """Measures, and prints a line a turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="each job is a tenant of its own")
    args = parser.parse_args()
    programs = postgres_server.programs()
    if programs is None:
        sys.exit("PostgreSQL is not installed")
    server = postgres_server.start(programs)
    try:
        with tempfile.TemporaryDirectory() as folder, kept_port() as one, kept_port() as other:
            pair = _Pair(Path(folder), server.make("journal"), (one, other), tenant=not args.alone)
            pair.measure(args.jobs, args.turns)
    finally:
        server.stop()


class _Pair:
    """Two services, each with a folder and a port."""

    def __init__(self, folder: Path, journal: str, ports: tuple[int, int], *, tenant: bool) -> None:
        self._folder, self._journal, self._ports, self._tenant = folder, journal, ports, tenant
        (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")

    def measure(self, jobs: int, turns: int) -> None:
        running = [self._start(0)]
        try:
            self._wait(running)
            file = self._folder / "0" / "admin-token"
            while not file.exists():
                _check_alive(running)
                time.sleep(0.05)
            token = file.read_text(encoding="utf-8").strip()
            running.append(self._start(1))
            for first in range(0, jobs, AT_ONCE):
                self._submit(token, range(first, min(first + AT_ONCE, jobs)))
            for _ in range(turns):
                for each in running:
                    each.kill()
                    each.wait()
                began = time.monotonic()
                running = [self._start(0), self._start(1)]
                spent = _processor_time(running[self._wait(running)].pid)
                seconds, load = time.monotonic() - began, os.getloadavg()[0]
                said = f"{jobs} jobs: {seconds:.1f} s, of processors {spent:.1f} s, load {load:.1f}"
                print(said, flush=True)
        finally:
            for each in running:
                each.terminate()
                each.wait()

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "fairlead", "serve", "--journal", self._journal]
        words += ["--state", str(self._folder / str(number))]
        words += ["--cluster", str(self._folder / "cluster.yaml")]
        words += ["--listen", f"127.0.0.1:{self._ports[number]}"]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _wait(self, running: Sequence[subprocess.Popen[bytes]]) -> int:
        """The one that is ready first."""
        while True:
            _check_alive(running)
            for number in range(len(running)):
                with suppress(OSError):
                    if self._ask(number, "GET", "/v1/ready") == http.client.OK:
                        return number
            time.sleep(0.05)

    def _submit(self, token: str, numbers: range) -> None:
        """Jobs that wait behind the first one, of which a task runs for a minute at most."""
        tenant = {"tenant": "a"} if self._tenant else {}
        jobs = [
            {"name": f"j{n}", "demand": {"cpu": 4}, "tasks": 9, "command": "sleep 60"} | tenant
            for n in numbers
        ]
        status = self._ask(0, "POST", "/v1/jobs", json.dumps({"jobs": jobs}), token)
        if status != http.client.CREATED:
            raise RuntimeError(f"the jobs were not taken: {status}")

    def _ask(self, number: int, method: str, path: str, body: str = "", token: str = "") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[number], timeout=120)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        try:
            connection.request(method, path, body or None, headers if body else {})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()


def _check_alive(services: Sequence[subprocess.Popen[bytes]]) -> None:
    """Raises RuntimeError where one has ended: nobody waits for it."""
    for service in services:
        if service.poll() is not None:
            raise RuntimeError(f"a service ended with {service.returncode}")


def _processor_time(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
