"""What a tenant's requests take while its neighbour does all that it can.

    python -m benchmarks.neighbour --seconds 10 [--only lists why] [--tls] [--markdown]

A service of its own, two tenants with 100 jobs each that wait. The victim asks for its job, its
list and (every 25th time) why its job waits, one after the other, on a connection each; before each
attack alone, then beside it. The neighbour is another process, of the lowest priority, for it would
be on another machine. Printed: median and 99% of each kind, of all times alone and beside each
attack, how many requests were refused or cut off, and how many processors the service and the
neighbour used. As root, `chrt -r 1 python -m benchmarks.neighbour` has the service and the victim
go before all else on the machine, so that what is left is the service's own.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.attacks import ATTACKS, Far, jobs, unchecked

CLUSTER = """\
machines:
  - {name: "m[1-50]", capacity: {cpu: 4}, labels: {zone: east}}
tenants:
  - {name: victim}
  - {name: loud}
"""

KINDS = {
    "job": "/v1/jobs/victim-1",
    "jobs": "/v1/jobs?tenant=victim",
    "why": "/v1/jobs/victim-1/why",
}


@dataclass
class Row:
    """What was measured beside one neighbour: seconds of requests by kind, None for those that
    were refused; and processor seconds of the service and of the neighbour, in so many seconds."""

    beside: str
    times: dict[str, list[float | None]] = field(default_factory=lambda: {k: [] for k in KINDS})
    seconds: float = 0.0
    used: list[float] = field(default_factory=lambda: [0.0, 0.0])


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--tls", action="store_true", help="with a certificate of its own")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--load", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.nice(19)
        name, address, token = args.load
        ATTACKS[name](Far(address, token, unchecked() if args.tls else None))
        return
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder), tls=args.tls) as service:
        _measure(service, Path(folder) / "state", args)


@contextmanager
def _service(place: Path, *, tls: bool) -> Iterator[psutil.Process]:
    """A service with its state there."""
    (place / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = [sys.executable, "-m", "fairlead", "serve", "--state", str(place / "state")]
    words += ["--cluster", str(place / "cluster.yaml"), "--listen", "127.0.0.1:0"]
    words += _certificate(place) if tls else []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
        try:
            while not (place / "state" / "address").exists():
                time.sleep(0.1)
            yield psutil.Process(service.pid)
        finally:
            service.terminate()


def _certificate(folder: Path) -> list[str]:
    """The options of a service with TLS."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = shlex.split("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2")
    made += shlex.split("-subj /CN=x -keyout")
    subprocess.run(["openssl", *made, key, "-out", cert], check=True, capture_output=True)
    return ["--tls-cert", str(cert), "--tls-key", str(key)]


def _measure(service: psutil.Process, state: Path, args: argparse.Namespace) -> None:
    address = urlsplit((state / "address").read_text(encoding="utf-8").strip()).netloc
    token = (state / "admin-token").read_text(encoding="utf-8").strip()
    admin = Far(address, token, unchecked() if args.tls else None)
    tenants = {}
    for name in ("victim", "loud"):
        body = {"name": name, "role": "tenant", "tenant": name}
        token = json.loads(admin.ask("POST", "/v1/tokens", body))["token"]
        tenants[name] = Far(address, token, admin.tls)
        tenants[name].ask("POST", "/v1/jobs", {"jobs": jobs(name, 100)})
    time.sleep(5)
    rows = [Row("nobody")]
    for attack in args.only:
        _take(rows[0], tenants["victim"], args.seconds, [service])
        words = [sys.executable, "-m", "benchmarks.neighbour", *(["--tls"] if args.tls else [])]
        words += ["--load", attack, address, tenants["loud"].token]
        with subprocess.Popen(words) as loud:
            try:
                time.sleep(2)
                rows.append(Row(attack))
                beside = [service, psutil.Process(loud.pid)]
                _take(rows[-1], tenants["victim"], args.seconds, beside)
            finally:
                loud.kill()
        time.sleep(2)
    _end(admin)
    _show(rows, markdown=args.markdown)


def _take(row: Row, victim: Far, seconds: float, processes: list[psutil.Process]) -> None:
    """Asks as the victim for so long."""
    before = [_spent(process) for process in processes]
    began, turn = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        for kind, path in KINDS.items():
            if kind == "why" and turn % 25:
                continue
            asked = time.perf_counter()
            try:
                victim.ask("GET", path)
            except (OSError, http.client.HTTPException, ValueError):
                row.times[kind].append(None)
            else:
                row.times[kind].append(time.perf_counter() - asked)
        turn += 1
        time.sleep(0.01)
    row.seconds += time.monotonic() - began
    for at, process in enumerate(processes):
        row.used[at] += _spent(process) - before[at]


def _spent(process: psutil.Process) -> float:
    """Processor seconds, ever."""
    times = process.cpu_times()
    return times.user + times.system


def _end(admin: Far) -> None:
    """Ends all jobs: what runs would outlive the service, and what waits would run instead."""
    while found := json.loads(admin.ask("GET", "/v1/jobs?limit=1000"))["jobs"]:
        names = [f"{job['tenant']}/{job['name']}" for job in found]
        admin.ask("POST", "/v1/cancel", {"jobs": names})
        time.sleep(0.5)


def _show(rows: list[Row], *, markdown: bool) -> None:
    heads = ["beside", *(f"{kind}, ms: half, 99%" for kind in KINDS), "refused"]
    cells = [[*heads, "processors: service, neighbour"]]
    for row in rows:
        refused = sum(each is None for kind in row.times.values() for each in kind)
        said = [_said(row.times[kind], rows[0].times[kind]) for kind in KINDS]
        used = ", ".join(f"{seconds / row.seconds:.1f}" for seconds in row.used)
        cells.append([row.beside, *said, str(refused), used])
    if markdown:
        cells.insert(1, ["---"] * len(cells[0]))
    for each in cells:
        line = " | ".join(each) if markdown else "".join(f"{cell:26}" for cell in each)
        print(f"| {line} |" if markdown else line)


def _said(times: list[float | None], alone: list[float | None]) -> str:
    half, last = _percentiles(times)
    factor = "" if times is alone else f" ({last / _percentiles(alone)[1]:.1f} times)"
    return f"{half:.1f}, {last:.1f}{factor}"


def _percentiles(times: list[float | None]) -> tuple[float, float]:
    good = sorted(each * 1000 for each in times if each is not None)
    return statistics.median(good), good[int(0.99 * (len(good) - 1))]


if __name__ == "__main__":
    main()
