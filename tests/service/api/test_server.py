"""The service as a process: where it listens, for whom, and how it stops."""

from __future__ import annotations

import json
import select
import signal
import socket
import ssl
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from fairlead.model.errors import InputError
from fairlead.service.api.solving import NICE
from fairlead.service.process.listening import check_listening
from tests.cli.live.place import until
from tests.conftest import ROOT
from tests.service.api.serving import MACHINE, Served, served
from tests.service.api.stage import Stage, job
from tests.surroundings import NOBODY
from tests.zygote.forked import Forked

PATIENCE = 120.0
"""Seconds until a test gives up."""


def get(url: str, verify: ssl.SSLContext = NOBODY, **more: Any) -> httpx2.Response:
    return httpx2.get(url, timeout=PATIENCE, verify=verify, **more)


def post(url: str, **more: Any) -> httpx2.Response:
    return httpx2.post(url, timeout=PATIENCE, verify=NOBODY, **more)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for all tests that leave it running."""
    api = {"body_seconds": 600, "head_seconds": 600, "body_bytes": 100_000}
    with served(tmp_path_factory.mktemp("state"), api) as one:
        yield one


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that soon gives up who sends nothing."""
    with served(tmp_path_factory.mktemp("state"), {"head_seconds": 1}) as one:
        yield one


def test_it_says_where_it_listens_in_a_file_that_only_its_owner_reads(running: Served) -> None:
    file = running.folder / "address"
    assert file.read_text() == running.url + "\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_first_token_is_an_admins_and_only_its_owner_reads_it(running: Served) -> None:
    assert stat.S_IMODE((running.folder / "admin-token").stat().st_mode) == 0o600
    answer = get(running.url + "/v1/me", headers=running.headers)
    assert (answer.status_code, answer.json()["role"]) == (200, "admin")
    assert get(running.url + "/v1/me").status_code == 401


def test_a_job_submitted_over_the_wire_runs(running: Served) -> None:
    answer = post(
        running.url + "/v1/jobs", headers=running.headers, json={"jobs": [job("wire", "sales")]}
    )
    assert answer.status_code == 201

    def state() -> dict[str, Any]:
        found: dict[str, Any] = get(url, headers=running.headers).json()
        return found

    url = running.url + "/v1/jobs/wire"
    until(lambda: state()["tasks"]["running"])
    assert state()["state"] == "running"


def test_a_body_without_end_is_cut_off_where_it_is_too_long(running: Served) -> None:
    with _request(running, "Transfer-Encoding: chunked") as connection:
        chunk = b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n"
        try:
            for _ in range(1000):
                connection.sendall(chunk)
        except OSError:
            pass  # it is closed while we send
        answer = _all(connection)
    # The answer can be lost where the connection is closed with bytes of ours still on the way.
    assert answer == b"" or b" 413 " in answer.split(b"\r\n")[0]


def test_a_body_that_trickles_is_cut_off_in_time(tmp_path: Path) -> None:
    """Whose head may take as long as it likes."""
    short = {"body_seconds": 1, "head_seconds": 600}
    with served(tmp_path, short) as one, _request(one, "Content-Length: 1000") as connection:
        connection.sendall(b"{")
        answer = _all(connection)
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert b'"slow"' in answer


def test_who_says_nothing_or_half_a_head_is_cut_off_in_time(impatient: Served) -> None:
    where = ("127.0.0.1", impatient.port)
    with (
        socket.create_connection(where, PATIENCE) as silent,
        socket.create_connection(where, PATIENCE) as slow,
    ):
        slow.sendall(b"GET /v1/health HTTP/1.1\r\n")
        assert _all(slow) == b""
        assert _all(silent) == b""


def test_a_connection_that_says_nothing_after_an_answer_is_closed(impatient: Served) -> None:
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b'{"ok":true}' in _all(connection)


def test_a_head_that_is_too_long_is_refused(running: Served) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nX: " + b"x" * 100_000)
        answer = _all(connection)
    assert answer == b"" or b" 400 " in answer.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
        b"GET /v1/health HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked",
    ],
)
def test_what_says_in_two_ways_where_it_ends_is_refused_and_nothing_follows(
    running: Served, head: bytes
) -> None:
    """RFC 9112, 6.1: who is in front may have believed the other."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        connection.sendall(head + b"\r\n\r\n0\r\n\r\nGET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = _all(connection)
    assert b" 400 " in answer.split(b"\r\n")[0]
    assert b"is said in two ways" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_one_address_gets_only_so_many_connections(tmp_path: Path) -> None:
    """A service that had none before, and closes none because nothing comes."""
    with served(tmp_path, {"head_seconds": 600, "address_connections": 20}) as one:
        where, opened = ("127.0.0.1", one.port), list[socket.socket]()
        try:
            opened.extend(socket.create_connection(where, PATIENCE) for _ in range(40))
            until(lambda: len(closed_ones(opened)) >= 20)
            time.sleep(0.2)
            assert len(closed_ones(opened)) == 20  # and no more
        finally:
            for connection in opened:
                connection.close()
        until(lambda: answers(one))  # once it has seen that they are gone


def closed_ones(opened: list[socket.socket]) -> list[socket.socket]:
    """Those that the service has closed: it sends nothing to any."""
    return select.select(opened, [], [], 0)[0]


def answers(one: Served) -> bool:
    try:
        return get(one.url + "/v1/health").status_code == 200
    except httpx2.TransportError:
        return False


def test_a_stop_ends_streams_and_takes_the_address_away(tmp_path: Path) -> None:
    with (
        served(tmp_path) as one,
        httpx2.stream(
            "GET", one.url + "/v1/events", headers=one.headers, timeout=PATIENCE
        ) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == ": fairlead"
        one.process.send_signal(signal.SIGINT)
        for _ in lines:  # raises where the stream is torn
            pass
        one.process.wait(PATIENCE)
        assert not (tmp_path / "address").exists()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"host": "0.0.0.0"}, "TLS"),
        ({"host": "::"}, "TLS"),
        ({"host": "0.0.0.0", "no_auth": True, "behind_proxy": True}, "tokens"),
        ({"host": "127.0.0.1", "no_auth": True, "behind_proxy": True}, "proxy"),
        ({"host": "no.such.host.invalid"}, "host"),
        ({"host": "127.0.0.1", "tls_cert": Path("/none")}, "key"),
        ({"host": "127.0.0.1", "tls_cert": Path("/none"), "tls_key": Path("/none")}, "/none"),
    ],
)
def test_it_refuses_to_listen_where_that_is_not_safe(options: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        check_listening(**options)  # type: ignore[arg-type]  # of several kinds


@pytest.mark.parametrize(
    "options",
    [
        {"host": "127.0.0.1"},
        {"host": "localhost"},
        {"host": "::1"},
        {"host": "127.0.0.1", "no_auth": True},
        {"host": "0.0.0.0", "behind_proxy": True},
    ],
)
def test_it_listens_where_it_is_safe(options: dict[str, object]) -> None:
    check_listening(**options)  # type: ignore[arg-type]  # of several kinds


def test_a_port_that_is_taken_is_a_sentence(running: Served, tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match=r"cannot be listened on: .*--listen"),
        served(tmp_path, port=running.port),
    ):
        pass
    assert not (tmp_path / "address").exists()
    assert not (tmp_path / "admin-token").exists()


def test_while_the_engine_is_away_it_says_what_it_waits_for(tmp_path: Path) -> None:
    (tmp_path / "away").touch()
    module = "tests.service.api.serving"
    with Forked(
        [module, str(tmp_path), "{}", "{}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            said = process.stderr.readline()
            assert said.startswith("no token for the administrator can be made yet: ")
            assert "waiting for it up to 60 s" in said
            assert not (tmp_path / "address").exists()
            (tmp_path / "away").unlink()
            url = process.stdout.readline().strip()
            token = (tmp_path / "admin-token").read_text().strip()
            answer = get(url + "/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert answer.json()["role"] == "admin"
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=PATIENCE) == ("", "")
        finally:
            process.kill()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of its own for this machine, and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    # No RSA: a key of this kind is there at once.
    kind = "ec -pkeyopt ec_paramgen_curve:prime256v1"
    words = f"req -x509 -newkey {kind} -nodes -days 2 -subj /CN=x -addext"
    made = subprocess.run(
        ["openssl", *words.split(), "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=False,
        capture_output=True,
    )
    assert made.returncode == 0, made.stderr
    return cert, key


def hello() -> bytes:
    """What a client says first with TLS."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = NOBODY.wrap_bio(coming, going, server_hostname="127.0.0.1")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return going.read()


@pytest.mark.slow
def test_who_begins_handshakes_and_lets_them_hang_keeps_nobody_out(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    few = {"address_handshakes": 5}
    with served(tmp_path, few, tls_cert=str(cert), tls_key=str(key)) as one, ExitStack() as opened:
        context = ssl.create_default_context(cafile=str(cert))
        place = ("127.0.0.1", one.port)
        hanging = [
            opened.enter_context(socket.create_connection(place, timeout=PATIENCE))
            for _ in range(30)
        ]
        for half, whole in zip(hanging[::2], hanging[1::2], strict=True):
            half.sendall(b"\x16")  # who says nothing is not accepted for a while
            whole.sendall(hello())
        for each in hanging[:20]:
            _all(each)  # ends, as others came
        for _ in range(10):
            answer = get(one.url + "/v1/me", headers=one.headers, verify=context)
            assert answer.json()["role"] == "admin"


@pytest.mark.slow
def test_with_tls_it_listens_everywhere(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    with served(tmp_path, host="0.0.0.0", tls_cert=str(cert), tls_key=str(key)) as one:
        assert one.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(cert))
        answer = get(one.url + "/v1/me", headers=one.headers, verify=context)
        assert answer.json()["role"] == "admin"
        with pytest.raises(httpx2.HTTPError):
            get(one.url.replace("https", "http") + "/v1/health")


class _Request:
    """The head of a submission was sent; its body is to come."""

    def __init__(self, running: Served, header: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE)
        head = [
            "POST /v1/jobs HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {running.token}",
            "Content-Type: application/json",
            header,
        ]
        self._socket.sendall("\r\n".join([*head, "", ""]).encode())

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.close()


_request = _Request


def _all(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_a_body_that_is_whole_is_read_in_its_parts(running: Served) -> None:
    body = json.dumps({"jobs": [job("parts", "sales")]}).encode()
    with _request(running, "Transfer-Encoding: chunked\r\nConnection: close") as connection:
        for at in range(0, len(body), 7):
            part = body[at : at + 7]
            connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        assert b" 201 " in _all(connection).split(b"\r\n")[0]


@pytest.mark.slow
def test_after_a_restart_tokens_are_good_and_a_token_that_was_taken_away_is_made_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "admin-token"
    with served(tmp_path) as one:
        first = one.headers
        given = {"jobs": [job("kept", "sales")]}
        assert post(one.url + "/v1/jobs", headers=first, json=given).status_code == 201
    before = file.read_text()
    file.unlink()
    with served(tmp_path) as one:
        assert file.read_text() != before
        for headers, name in ((first, "admin"), (one.headers, "admin-2")):
            assert get(one.url + "/v1/me", headers=headers).json()["name"] == name
    file.write_text("")
    with served(tmp_path) as one:
        assert file.read_text() == ""
        tokens = get(one.url + "/v1/tokens", headers=first).json()["tokens"]
        assert [token["name"] for token in tokens] == ["admin", "admin-2"]
        kinds = []
        url = one.url + "/v1/events?since=0"
        with httpx2.stream("GET", url, headers=first, timeout=PATIENCE) as answer:
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    kinds.append(line.removeprefix("event: "))
                if kinds.count("service_started") == 3:
                    break
        assert "job_submitted" in kinds  # of the first run, from the journal


@pytest.mark.slow
def test_a_what_if_is_solved_in_a_process_that_ends_with_the_service_though_it_is_killed(
    tmp_path: Path,
) -> None:
    given = {"jobs": [job("a", "sales", 9), job("b", "vision", 9)]}
    asked = {"weight": ["sales=3"]}
    with served(tmp_path, killed=True) as one:
        assert post(one.url + "/v1/jobs", headers=one.headers, json=given).status_code == 201
        service = psutil.Process(one.process.pid)
        before = service.children(recursive=True)
        answer = post(one.url + "/v1/whatif", headers=one.headers, json=asked)
        assert answer.status_code == 200, answer.text
        (solver,) = (each for each in set(service.children()) - set(before) if each.nice() == NICE)
        wrong = {"weight": ["nobody=3"]}
        refused = post(one.url + "/v1/whatif", headers=one.headers, json=wrong)
        assert refused.status_code == 422
        children = service.children(recursive=True)
        assert solver in children  # it was refused, and the process is as well as before
        one.process.kill()
        _, left = psutil.wait_procs(children, timeout=PATIENCE)
        assert left == []
    with Stage(machines=[MACHINE]) as stage:
        stage.ask("POST", "/v1/jobs", "root", given)
        within = stage.ask("POST", "/v1/whatif", "root", asked).tree
    found = answer.json()
    assert found["sentences"]
    assert found | {"time": 0} == within | {"time": 0}


def test_who_shows_no_token_is_told_the_same_before_he_is_a_connection(running: Served) -> None:
    """The cookie has the application asked, and no token is in it."""
    host, port = running.url.removeprefix("http://").split(":")

    def told(more: str) -> list[bytes]:
        with socket.create_connection((host, int(port)), PATIENCE) as far:
            far.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode())
            found = b""
            while part := far.recv(10_000):
                found += part
        return [line for line in found.split(b"\r\n") if not line.startswith(b"date:")]

    by_the_application = told("Cookie: a=b\r\nConnection: close\r\n")
    assert by_the_application[0] == b"HTTP/1.1 401 Unauthorized"
    assert told("") == told("Connection: close\r\n") == by_the_application
