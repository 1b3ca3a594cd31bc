"""What a tenant's neighbour does for `benchmarks.neighbour`, as fast as it can."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

ELSEWHERE = "127.0.0.2"
"""Another address than the victim's."""


@dataclass(frozen=True)
class Far:
    """The service as somebody sees it: its address, his token, TLS where it is spoken, and the
    address that he comes from, where it is not the usual one."""

    address: str
    token: str
    tls: ssl.SSLContext | None
    source: str = ""

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """The body of an answer. Raises ValueError where it is refused."""
        connection = self.connection(120)
        try:
            headers = {"Content-Type": "application/json"}
            headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status >= 400:
                raise ValueError(told[:500])
            return told
        finally:
            connection.close()

    def connection(self, seconds: float) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(self.address, timeout=seconds)
        return http.client.HTTPSConnection(self.address, timeout=seconds, context=self.tls)

    def open(self) -> socket.socket:
        """A connection, not secured yet."""
        host, port = self.address.split(":")
        source = (self.source, 0) if self.source else None
        return socket.create_connection((host, int(port)), 60, source)


Attack = Callable[[Far], None]


def unchecked() -> ssl.SSLContext:
    """TLS that believes any certificate."""
    made = ssl.create_default_context()
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made


def jobs(name: str, number: int) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [
        {"name": f"{name}-{n}", "demand": {"cpu": 2}, "tasks": 50, "command": "sleep 1000"}
        for n in range(number)
    ]
    return [job | ({"where": f"zone != z{n}"} if n % 2 else {}) for n, job in enumerate(made)]


def _burns(_: Far) -> None:
    """All processors, and nobody is spoken to: what any neighbour on the same machine costs."""
    text = bytes(2**20)
    _together(8, lambda _: hashlib.sha256(text))


def _lists(far: Far) -> None:
    _together(8, lambda _: far.ask("GET", "/v1/jobs"))
    _together(4, lambda _: far.ask("GET", "/v1/shares?jobs=true"))


def _kept(far: Far) -> None:
    """Short requests on connections that are kept, as many as a tenant may have."""

    _on_kept(64, far, lambda n: f"/v1/jobs/loud-{n}", far.token)


def _whatifs(far: Far) -> None:
    _together(10, lambda _: far.ask("POST", "/v1/whatif", {"add": ["4 x m1"]}))


def _reasons(far: Far) -> None:
    _together(10, lambda n: far.ask("GET", f"/v1/jobs/loud-{n}/why"))


def _streams(far: Far) -> None:
    """As many as are let in, and something to tell them."""
    _together(100, lambda _: far.ask("GET", "/v1/events?since=-1000"))
    _together(2, lambda n: _come_and_go(far, f"event-{n}", 20))


def _slow_readers(far: Far) -> None:
    """Long answers, one behind the other, of which a byte a second is read."""
    shown = f"Authorization: Bearer {far.token}"
    head = f"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n{shown}\r\n\r\n".encode()

    def read_slowly(_: int) -> None:
        with far.open() as opened:
            opened.sendall(head * 50)
            while opened.recv(1):
                time.sleep(1)

    _together(200, read_slowly)


def _submissions(far: Far) -> None:
    _together(4, lambda n: _come_and_go(far, f"big-{n}", 2000))


def _come_and_go(far: Far, name: str, number: int) -> None:
    """Jobs are submitted, cancelled, forgotten."""
    named = jobs(f"{name}-{next(_TURNS)}", number)
    names = [job["name"] for job in named]
    far.ask("POST", "/v1/jobs", {"jobs": named})
    far.ask("POST", "/v1/cancel", {"jobs": names})
    far.ask("POST", "/v1/forget", {"jobs": names})


_TURNS = count()


def _idle(far: Far) -> None:
    """Connections on which nothing comes; each that is closed is opened again."""

    def wait(_: int) -> None:
        with far.open() as opened:
            opened.recv(1)
        time.sleep(0.1)

    _together(300, wait)


def _churn(far: Far) -> None:
    """Connections that are opened, secured where that is so, and closed, without a word."""

    def come_and_go(_: int) -> None:
        with far.open() as opened:
            if far.tls is not None:
                far.tls.wrap_socket(opened).close()

    _together(8, come_and_go)


def _beginnings(far: Far) -> None:
    """Connections on which a request begins and nothing more comes; the last 600 stay open."""
    kept: deque[socket.socket] = deque(maxlen=600)

    def begin(_: int) -> None:
        opened = far.open()
        opened.sendall(b"G")
        kept.append(opened)

    _together(8, begin)


def _no_readers(path: str, *headers: str) -> Attack:
    """Requests, each on a connection of its own, whose answers nobody waits for. `{token}` in a
    header is the neighbour's."""
    written = "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers, "", ""])

    def attack(far: Far) -> None:
        said = written.format(token=far.token).encode()

        def ask(_: int) -> None:
            with far.open() as opened:
                if far.tls is not None:
                    opened = far.tls.wrap_socket(opened)
                opened.sendall(said)

        _together(8, ask)

    return attack


def _apart(attack: Attack) -> Attack:
    """The same against a port of its own: what sharing the processors costs, and nothing else."""

    def alone(far: Far) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:

            def accept() -> None:
                while True:
                    listener.accept()[0].close()

            threading.Thread(target=accept).start()
            attack(replace(far, address=f"127.0.0.1:{listener.getsockname()[1]}"))
            threading.Event().wait()

    return alone


def _elsewhere(attack: Attack) -> Attack:
    """The same from another address than the victim's."""
    return lambda far: attack(replace(far, source=ELSEWHERE))


def _strangers(far: Far) -> None:
    """Without a token that is good, on connections that are kept."""

    nobody = replace(far, token="")
    _on_kept(32, far, lambda _: "/v1/jobs", "fl_loud_no")
    _together(8, lambda _: nobody.ask("GET", "/v1/health"))


ATTACKS: dict[str, Attack] = {
    "burns": _burns,
    "lists": _lists,
    "kept": _kept,
    "whatifs": _whatifs,
    "reasons": _reasons,
    "streams": _streams,
    "slow-readers": _slow_readers,
    "idle": _idle,
    "strangers": _strangers,
    "churn": _churn,
    "churn-elsewhere": _elsewhere(_churn),
    "churn-apart": _apart(_churn),
    "beginnings": _beginnings,
    "beginnings-elsewhere": _elsewhere(_beginnings),
    "no-readers": _no_readers("/v1/jobs"),
    "no-readers-wrong": _no_readers("/v1/jobs", "Authorization: Bearer fl_loud_no"),
    "no-readers-own": _no_readers("/v1/jobs", "Authorization: Bearer {token}"),
    "no-readers-public": _no_readers("/v1/health"),
    "no-readers-apart": _apart(_no_readers("/v1/jobs")),
    "submissions": _submissions,  # the last one: it leaves jobs that wait
}


def _on_kept(number: int, far: Far, path: Callable[[int], str], token: str) -> None:
    """Asks on so many connections that are kept, of each again and again."""
    kept = [far.connection(60) for _ in range(number)]
    headers = {"Authorization": f"Bearer {token}"}

    def ask(n: int) -> None:
        try:
            kept[n].request("GET", path(n), headers=headers)
            kept[n].getresponse().read()
        except (OSError, http.client.HTTPException):
            kept[n].close()
            raise

    _together(number, ask)


def _together(number: int, what: Callable[[int], object]) -> None:
    """So many threads do it again and again, and wait for nothing when they are refused."""

    def again(n: int, at: int) -> None:
        while True:
            with suppress(OSError, http.client.HTTPException, ValueError):
                what(n)
                _DONE[at] += 1

    first = len(_DONE)
    _DONE.extend([0] * number)
    for n in range(number):
        threading.Thread(target=again, args=(n, first + n)).start()


_DONE: list[int] = []


def done() -> int:
    """How often the neighbour did what it does, and was not refused."""
    return sum(_DONE)
