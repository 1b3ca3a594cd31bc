"""What a tenant's requests take while its neighbour does all that it can.

    python -m benchmarks.neighbour --seconds 6 [--apart] [--only lists why] [--tls ec] [--markdown]

A service of its own, two tenants with 100 jobs each that wait. The victim asks for its job, its
list and (every 25th time) why its job waits, one after the other, on a connection each; before each
attack alone, then beside it, in so many rounds. The neighbour is another process, whose programs
would be on another machine. Here they have low priority (nice 19); as root,
`chrt -r 1 python -m benchmarks.neighbour` has the service and the victim go before all else on the
machine, so that they have what is left. With `--apart` the neighbour has the last processor to
itself, and the service and the victim the others.

Printed: of each kind median and 99%, of all times alone, and the median of the rounds beside each
attack, with the lowest and highest of the rounds; how many requests were refused or cut off; how
many processors the service and the neighbour used; and how often a second the neighbour did what it
does.
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
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.attacks import ATTACKS, Far, done, jobs, unchecked

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

KEYS = {
    "ec": "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x",
    "rsa": "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x",
}
"""How openssl makes a certificate with a key of this kind."""

PROCESSORS = os.cpu_count() or 1

PROMISED = 2.0
"""Times as long as alone the 99% of others may be."""


@dataclass
class Taken:
    """What was measured once, or in sum: milliseconds of requests by kind, without those that were
    refused; processor seconds of the service and of the neighbour, in so many seconds; how often
    the neighbour did what it does in a second."""

    times: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    refused: int = 0
    seconds: float = 0.0
    used: list[float] = field(default_factory=lambda: [0.0, 0.0])
    load: float = 0.0

    def last(self, kind: str) -> float:
        """The 99%."""
        good = sorted(self.times[kind])
        return good[int(0.99 * (len(good) - 1))]


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--apart", action="store_true", help="the neighbour's own processor")
    parser.add_argument("--tls", choices=KEYS, help="with a certificate that has such a key")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--load", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load:
        _be_neighbour(args)
        return
    if args.apart:
        if PROCESSORS < 2:
            parser.error("--apart takes two processors")
        os.sched_setaffinity(0, range(PROCESSORS - 1))
    alone, beside = Taken(), {attack: [Taken() for _ in range(args.rounds)] for attack in args.only}
    for turn in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder, _service(Path(folder), args.tls) as service:
            of_turn = {attack: taken[turn] for attack, taken in beside.items()}
            _measure(service, Path(folder) / "state", args, alone, of_turn)
    _show(alone, beside, markdown=args.markdown)


def _be_neighbour(args: argparse.Namespace) -> None:
    """Does what it is told, and says how often it did whenever it is asked."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(19)
    if args.apart:
        os.sched_setaffinity(0, {PROCESSORS - 1})
    name, address, token = args.load

    def tell() -> None:
        for _ in sys.stdin:
            print(done(), time.monotonic(), flush=True)

    threading.Thread(target=tell).start()
    ATTACKS[name](Far(address, token, unchecked() if args.tls else None))


@contextmanager
def _service(place: Path, key: str | None) -> Iterator[psutil.Process]:
    """A service with its state there."""
    (place / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = [sys.executable, "-m", "fairlead", "serve", "--state", str(place / "state")]
    words += ["--cluster", str(place / "cluster.yaml"), "--listen", "127.0.0.1:0"]
    words += [] if key is None else _certificate(place, key)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
        try:
            while not (place / "state" / "address").exists():
                time.sleep(0.1)
            yield psutil.Process(service.pid)
        finally:
            service.terminate()


def _certificate(folder: Path, key: str) -> list[str]:
    """The options of a service with TLS."""
    cert, secret = str(folder / "cert.pem"), str(folder / "key.pem")
    made = [*shlex.split(KEYS[key]), "-keyout", secret, "-out", cert]
    subprocess.run(["openssl", *made], check=True, capture_output=True)
    return ["--tls-cert", cert, "--tls-key", secret]


def _measure(
    service: psutil.Process,
    state: Path,
    args: argparse.Namespace,
    alone: Taken,
    beside: dict[str, Taken],
) -> None:
    """Takes a round, of a service that nobody has asked anything yet."""
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
    for attack, taken in beside.items():
        _take(alone, tenants["victim"], args.seconds / 2, [service])
        words = [sys.executable, "-m", "benchmarks.neighbour"]
        words += ["--apart"] if args.apart else []
        words += ["--tls", args.tls] if args.tls else []
        with _neighbour([*words, "--load", attack, address, tenants["loud"].token]) as loud:
            time.sleep(2)
            before = _asked(loud)
            both = [service, psutil.Process(loud.pid)]
            _take(taken, tenants["victim"], args.seconds, both)
            after = _asked(loud)
            taken.load = (after[0] - before[0]) / (after[1] - before[1])
        time.sleep(1)
    _end(admin)


@contextmanager
def _neighbour(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as loud:
        try:
            yield loud
        finally:
            loud.kill()


def _asked(loud: subprocess.Popen[str]) -> tuple[float, float]:
    """How often it has done what it does, and when it said so."""
    assert loud.stdin is not None
    assert loud.stdout is not None
    loud.stdin.write("\n")
    loud.stdin.flush()
    often, moment = loud.stdout.readline().split()
    return float(often), float(moment)


def _take(taken: Taken, victim: Far, seconds: float, processes: list[psutil.Process]) -> None:
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
                taken.refused += 1
            else:
                taken.times[kind].append((time.perf_counter() - asked) * 1000)
        turn += 1
        time.sleep(0.01)
    taken.seconds += time.monotonic() - began
    for at, process in enumerate(processes):
        taken.used[at] += _spent(process) - before[at]


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


def _show(alone: Taken, beside: dict[str, list[Taken]], *, markdown: bool) -> None:
    heads = ["beside", *(f"{kind}, ms: half, 99%" for kind in KINDS), "refused"]
    cells = [[*heads, "processors: service, neighbour", "a second"]]
    for name, rounds in {"nobody": [alone], **beside}.items():
        said = [_said(rounds, alone, kind) for kind in KINDS]
        used = [statistics.median(each.used[at] / each.seconds for each in rounds) for at in (0, 1)]
        load = statistics.median(each.load for each in rounds)
        refused = sum(each.refused for each in rounds)
        cells.append([name, *said, f"{refused}", f"{used[0]:.1f}, {used[1]:.1f}", f"{load:,.0f}"])
    if markdown:
        cells.insert(1, ["---"] * len(cells[0]))
    for each in cells:
        line = " | ".join(each) if markdown else "".join(f"{cell:32}" for cell in each)
        print(f"| {line} |" if markdown else line)


def _said(rounds: list[Taken], alone: Taken, kind: str) -> str:
    half = statistics.median(statistics.median(each.times[kind]) for each in rounds)
    lasts = [each.last(kind) for each in rounds]
    last = statistics.median(lasts)
    if rounds == [alone]:
        return f"{half:.1f}, {last:.1f}"
    low, usual, high = (each / alone.last(kind) for each in (min(lasts), last, max(lasts)))
    times = f"**{usual:.1f}**" if usual > PROMISED else f"{usual:.1f}"
    return f"{half:.1f}, {last:.1f} ({times}: {low:.1f} to {high:.1f})"


if __name__ == "__main__":
    main()
