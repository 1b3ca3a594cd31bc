"""What a tenant's requests take while its neighbour asks for all that it can get.

    python -m benchmarks.neighbour --seconds 20

A service of its own, two tenants, 200 jobs that wait. The victim asks for its job, its list and why
its job waits, one after the other; first alone, then beside a neighbour with ten what-ifs at once,
with as many reads as it is given, and with 300 connections on which nothing comes. Printed: median
and 99% of each kind, alone and beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

CLUSTER = """\
machines:
  - {name: "m[1-50]", capacity: {cpu: 4}, labels: {zone: east}}
tenants:
  - {name: victim}
  - {name: loud}
"""


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--load", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.load:
        _be_loud(*args.load)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
        words = [sys.executable, "-m", "fairlead", "serve", "--state", str(place / "state")]
        words += ["--cluster", str(place / "cluster.yaml"), "--listen", "127.0.0.1:0"]
        service = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _measure(place / "state", args.seconds)
        finally:
            service.terminate()
            service.wait()


def _measure(state: Path, seconds: float) -> None:
    while not (state / "address").exists():
        time.sleep(0.1)
    address = urlsplit((state / "address").read_text(encoding="utf-8").strip()).netloc
    admin = (state / "admin-token").read_text(encoding="utf-8").strip()
    tokens = {}
    for name in ("victim", "loud"):
        body = {"name": name, "role": "tenant", "tenant": name}
        tokens[name] = json.loads(_ask(address, admin, "POST", "/v1/tokens", body))["token"]
        jobs = [
            {"name": f"{name}-{n}", "demand": {"cpu": 2}, "tasks": 50, "command": "sleep 1000"}
            | ({"where": f"zone != z{n}"} if n % 2 else {})
            for n in range(100)
        ]
        _ask(address, tokens[name], "POST", "/v1/jobs", {"jobs": jobs})
    time.sleep(5)
    alone = _times(address, tokens["victim"], seconds)
    words = [sys.executable, "-m", "benchmarks.neighbour", "--load", address, tokens["loud"]]
    loud = subprocess.Popen(words)  # not in the process that measures
    time.sleep(2)
    host, port = address.split(":")
    idle: list[socket.socket] = []
    for _ in range(300):
        with suppress(OSError):
            idle.append(socket.create_connection((host, int(port)), timeout=5))
    beside = _times(address, tokens["victim"], seconds)
    loud.kill()
    loud.wait()
    for each in idle:
        each.close()
    print(f"{'':12}{'alone':>20}{'beside':>20}   (median, 99% in ms; refused)")
    for kind, times in alone.items():
        print(f"{kind:12}{_said(times):>20}{_said(beside[kind]):>20}")


def _said(times: list[float | None]) -> str:
    good = sorted(each * 1000 for each in times if each is not None)
    refused = len(times) - len(good)
    last = good[int(0.99 * (len(good) - 1))]
    return f"{statistics.median(good):.1f}, {last:.1f}; {refused}"


def _times(address: str, token: str, seconds: float) -> dict[str, list[float | None]]:
    kinds: dict[str, Callable[[], str]] = {
        "job": lambda: "/v1/jobs/victim-1",
        "jobs": lambda: "/v1/jobs?tenant=victim",
        "why": lambda: "/v1/jobs/victim-1/why",
    }
    found: dict[str, list[float | None]] = {kind: [] for kind in kinds}
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for kind, path in kinds.items():
            if kind == "why" and turn % 25:
                continue
            begun = time.perf_counter()
            try:
                _ask(address, token, "GET", path())
            except (OSError, http.client.HTTPException, ValueError):
                found[kind].append(None)
            else:
                found[kind].append(time.perf_counter() - begun)
        turn += 1
        time.sleep(0.01)
    return found


def _be_loud(address: str, token: str) -> None:
    """Asks for all it can get, until it is killed, and waits when it is refused for no time."""
    asked: list[tuple[str, str, object]] = [("POST", "/v1/whatif", {"add": ["4 x m1"]})] * 10
    asked += [("GET", "/v1/shares?jobs=true", None)] * 2 + [("GET", "/v1/jobs", None)] * 2
    threads = [threading.Thread(target=_load, args=(address, token, *what)) for what in asked]
    for thread in threads:
        thread.start()


def _load(address: str, token: str, method: str, path: str, body: object) -> None:
    while True:
        with suppress(OSError, http.client.HTTPException, ValueError):
            _ask(address, token, method, path, body)


def _ask(address: str, token: str, method: str, path: str, body: object = None) -> bytes:
    """The body of an answer. Raises ValueError where it is refused."""
    connection = http.client.HTTPConnection(address, timeout=120)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, headers)
        answer = connection.getresponse()
        told = answer.read()
        if answer.status >= 400:
            raise ValueError(told[:500])
        return told
    finally:
        connection.close()


if __name__ == "__main__":
    main()
