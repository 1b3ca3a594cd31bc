"""What a tenant's requests take while its neighbour does all that it can.

    python -m benchmarks.neighbour --seconds 10 [--only lists why] [--tls] [--markdown]

A service of its own, two tenants with 100 jobs each that wait. The victim asks for its job, its
list and (every 25th time) why its job waits, one after the other, on a connection each; before each
attack alone, then beside it. The neighbour is another process, of the lowest priority, for it would
be on another machine. Printed: median and 99% of each kind, of all times alone and beside each
attack, and how many requests were refused or cut off.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

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

ELSEWHERE = "127.0.0.2"
"""Another address than the victim's."""

_TLS: ssl.SSLContext | None = None

Times = dict[str, list[float | None]]


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--tls", action="store_true", help="with a certificate of its own")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--load", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.tls:
        global _TLS  # noqa: PLW0603  one for all threads that attack
        _TLS = ssl.create_default_context()
        _TLS.check_hostname, _TLS.verify_mode = False, ssl.CERT_NONE
    if args.load:
        os.nice(19)
        name, address, token = args.load
        ATTACKS[name](address, token)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
        words = [sys.executable, "-m", "fairlead", "serve", "--state", str(place / "state")]
        words += ["--cluster", str(place / "cluster.yaml"), "--listen", "127.0.0.1:0"]
        if args.tls:
            words += _certificate(place)
        service = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _measure(place / "state", args.seconds, args.only, markdown=args.markdown)
        finally:
            service.terminate()
            service.wait()


def _measure(state: Path, seconds: float, attacks: list[str], *, markdown: bool) -> None:
    while not (state / "address").exists():
        time.sleep(0.1)
    address = urlsplit((state / "address").read_text(encoding="utf-8").strip()).netloc
    admin = (state / "admin-token").read_text(encoding="utf-8").strip()
    tokens = {}
    for name in ("victim", "loud"):
        body = {"name": name, "role": "tenant", "tenant": name}
        tokens[name] = json.loads(_ask(address, admin, "POST", "/v1/tokens", body))["token"]
        _ask(address, tokens[name], "POST", "/v1/jobs", {"jobs": _jobs(name, 100)})
    time.sleep(5)
    alone: Times = {kind: [] for kind in KINDS}
    rows = [("", alone)]
    for attack in attacks:
        for kind, times in _times(address, tokens["victim"], seconds).items():
            alone[kind] += times
        words = [sys.executable, "-m", "benchmarks.neighbour", *(["--tls"] if _TLS else [])]
        loud = subprocess.Popen([*words, "--load", attack, address, tokens["loud"]])
        try:
            time.sleep(2)
            rows.append((attack, _times(address, tokens["victim"], seconds)))
        finally:
            loud.kill()
            loud.wait()
        time.sleep(2)
    _end(address, admin)
    _show(rows, markdown=markdown)


def _end(address: str, token: str) -> None:
    """Ends all jobs: what runs would outlive the service, and what waits would run instead."""
    while jobs := json.loads(_ask(address, token, "GET", "/v1/jobs?limit=1000"))["jobs"]:
        names = [f"{job['tenant']}/{job['name']}" for job in jobs]
        _ask(address, token, "POST", "/v1/cancel", {"jobs": names})
        time.sleep(0.5)


def _certificate(folder: Path) -> list[str]:
    """The options of a service with TLS."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=x",
        "-keyout",
    ]
    subprocess.run(["openssl", *made, key, "-out", cert], check=True, capture_output=True)
    return ["--tls-cert", str(cert), "--tls-key", str(key)]


def _show(rows: list[tuple[str, Times]], *, markdown: bool) -> None:
    heads = ["beside", *(f"{kind}, ms: half, 99%" for kind in KINDS), "refused", "load"]
    load = f"{os.getloadavg()[0]:.1f}"
    cells = [heads]
    for attack, times in rows:
        refused = sum(each is None for kind in times.values() for each in kind)
        said = [_said(times[kind], rows[0][1][kind]) for kind in KINDS]
        cells.append([attack or "nobody", *said, str(refused), load])
    if markdown:
        cells.insert(1, ["---"] * len(heads))
    for row in cells:
        line = " | ".join(row) if markdown else "".join(f"{cell:26}" for cell in row)
        print(f"| {line} |" if markdown else line)


def _said(times: list[float | None], alone: list[float | None]) -> str:
    half, last = _percentiles(times)
    factor = "" if times is alone else f" ({last / _percentiles(alone)[1]:.1f} times)"
    return f"{half:.1f}, {last:.1f}{factor}"


def _percentiles(times: list[float | None]) -> tuple[float, float]:
    good = sorted(each * 1000 for each in times if each is not None)
    return statistics.median(good), good[int(0.99 * (len(good) - 1))]


def _jobs(name: str, number: int) -> list[dict[str, object]]:
    jobs: list[dict[str, object]] = [
        {"name": f"{name}-{n}", "demand": {"cpu": 2}, "tasks": 50, "command": "sleep 1000"}
        for n in range(number)
    ]
    return [job | ({"where": f"zone != z{n}"} if n % 2 else {}) for n, job in enumerate(jobs)]


def _times(address: str, token: str, seconds: float) -> Times:
    found: Times = {kind: [] for kind in KINDS}
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for kind, path in KINDS.items():
            if kind == "why" and turn % 25:
                continue
            begun = time.perf_counter()
            try:
                _ask(address, token, "GET", path)
            except (OSError, http.client.HTTPException, ValueError):
                found[kind].append(None)
            else:
                found[kind].append(time.perf_counter() - begun)
        turn += 1
        time.sleep(0.01)
    return found


def _lists(address: str, token: str) -> None:
    _together(8, lambda _: _ask(address, token, "GET", "/v1/jobs"))
    _together(4, lambda _: _ask(address, token, "GET", "/v1/shares?jobs=true"))


def _whatifs(address: str, token: str) -> None:
    _together(10, lambda _: _ask(address, token, "POST", "/v1/whatif", {"add": ["4 x m1"]}))


def _reasons(address: str, token: str) -> None:
    _together(10, lambda n: _ask(address, token, "GET", f"/v1/jobs/loud-{n}/why"))


def _streams(address: str, token: str) -> None:
    """As many as are let in, and something to tell them."""
    _together(100, lambda _: _ask(address, token, "GET", "/v1/events?since=-1000"))
    _together(2, lambda n: _come_and_go(address, token, f"event-{n}", 20))


def _slow_readers(address: str, token: str) -> None:
    """Long answers, one behind the other, of which a byte a second is read."""
    head = f"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()

    def read_slowly(_: int) -> None:
        with _opened(address, "") as far:
            far.sendall(head * 50)
            while far.recv(1):
                time.sleep(1)

    _together(200, read_slowly)


def _submissions(address: str, token: str) -> None:
    _together(4, lambda n: _come_and_go(address, token, f"big-{n}", 2000))


def _come_and_go(address: str, token: str, name: str, jobs: int) -> None:
    """Jobs are submitted, cancelled, forgotten."""
    turn = next(_TURNS)
    named = _jobs(f"{name}-{turn}", jobs)
    names = [job["name"] for job in named]
    _ask(address, token, "POST", "/v1/jobs", {"jobs": named})
    _ask(address, token, "POST", "/v1/cancel", {"jobs": names})
    _ask(address, token, "POST", "/v1/forget", {"jobs": names})


_TURNS = count()


def _idle(address: str, _: str) -> None:
    """Connections on which nothing comes; each that is closed is opened again."""

    def wait(_: int) -> None:
        with _opened(address, "") as far:
            far.recv(1)
        time.sleep(0.1)

    _together(300, wait)


def _churn(address: str, _: str, source: str) -> None:
    """Connections that are opened, secured where that is so, and closed, without a word."""

    def come_and_go(_: int) -> None:
        with _opened(address, source) as far:
            if _TLS is not None:
                _TLS.wrap_socket(far).close()

    _together(8, come_and_go)


def _beginnings(address: str, _: str, source: str) -> None:
    """Connections on which a request begins and nothing more comes; the last 600 stay open."""
    kept: deque[socket.socket] = deque(maxlen=600)

    def begin(_: int) -> None:
        far = _opened(address, source)
        far.sendall(b"G")
        kept.append(far)

    _together(8, begin)


def _no_readers(path: str, *headers: str) -> Callable[[str, str, str], None]:
    """Requests, each on a connection of its own, whose answers nobody waits for. `{token}` in a
    header is the neighbour's."""
    written = "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers, "", ""])

    def attack(address: str, token: str, source: str) -> None:
        said = written.format(token=token).encode()

        def ask(_: int) -> None:
            with _opened(address, source) as far:
                if _TLS is not None:
                    far = _TLS.wrap_socket(far)
                far.sendall(said)

        _together(8, ask)

    return attack


def _apart(attack: Callable[[str, str, str], None]) -> Callable[[str, str], None]:
    """The same against a port of its own: what sharing the processors costs, and nothing else."""

    def alone(_address: str, token: str) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:

            def accept() -> None:
                while True:
                    listener.accept()[0].close()

            threading.Thread(target=accept).start()
            attack(f"127.0.0.1:{listener.getsockname()[1]}", token, "")
            threading.Event().wait()

    return alone


def _from(attack: Callable[[str, str, str], None], source: str = "") -> Callable[[str, str], None]:
    """The same from that address: the victim's, where none is given."""
    return lambda address, token: attack(address, token, source)


def _opened(address: str, source: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 60, (source, 0) if source else None)


def _strangers(address: str, _: str) -> None:
    """Without a token that is good, on connections that are kept."""

    def guess(_: int) -> None:
        connection = _connection(address, 60)
        while True:
            connection.request("GET", "/v1/jobs", headers={"Authorization": "Bearer fl_loud_no"})
            connection.getresponse().read()

    _together(32, guess)
    _together(8, lambda _: _ask(address, "", "GET", "/v1/health"))


ATTACKS: dict[str, Callable[[str, str], None]] = {
    "lists": _lists,
    "whatifs": _whatifs,
    "reasons": _reasons,
    "streams": _streams,
    "slow-readers": _slow_readers,
    "idle": _idle,
    "strangers": _strangers,
    "churn": _from(_churn),
    "churn-elsewhere": _from(_churn, ELSEWHERE),
    "churn-apart": _apart(_churn),
    "beginnings": _from(_beginnings),
    "beginnings-elsewhere": _from(_beginnings, ELSEWHERE),
    "no-readers": _from(_no_readers("/v1/jobs")),
    "no-readers-wrong": _from(_no_readers("/v1/jobs", "Authorization: Bearer fl_loud_no")),
    "no-readers-own": _from(_no_readers("/v1/jobs", "Authorization: Bearer {token}")),
    "no-readers-public": _from(_no_readers("/v1/health")),
    "no-readers-apart": _apart(_no_readers("/v1/jobs")),
    "submissions": _submissions,  # the last one: it leaves jobs that wait
}


def _together(number: int, what: Callable[[int], object]) -> None:
    """So many threads do it again and again, and wait for nothing when they are refused."""

    def again(n: int) -> None:
        while True:
            with suppress(OSError, http.client.HTTPException, ValueError):
                what(n)

    for n in range(number):
        threading.Thread(target=again, args=(n,)).start()


def _connection(address: str, seconds: float) -> http.client.HTTPConnection:
    if _TLS is None:
        return http.client.HTTPConnection(address, timeout=seconds)
    return http.client.HTTPSConnection(address, timeout=seconds, context=_TLS)


def _ask(address: str, token: str, method: str, path: str, body: object = None) -> bytes:
    """The body of an answer. Raises ValueError where it is refused."""
    connection = _connection(address, 120)
    try:
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
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
