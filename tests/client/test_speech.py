"""Who answers at an address and is no service: known by what is said first, or that nothing is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from fairlead.client import AnswerError, Client, UnreachableError, transport


@contextmanager
def saying(begun: bytes, hang_up: bool = False) -> Iterator[str]:
    """The address of one who says this to each that comes, and then nothing."""
    heard: list[socket.socket] = []
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()

        def talk() -> None:
            with suppress(OSError):
                while True:
                    heard.append(door.accept()[0])
                    heard[-1].sendall(begun)
                    if hang_up:
                        heard[-1].recv(65536)
                        heard[-1].close()

        thread = threading.Thread(target=talk)
        thread.start()
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            door.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in heard:
                each.close()


@pytest.mark.parametrize(
    ("begun", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", r"no Fairlead service \(it says 'SSH-2.0-OpenSSH_9.2p1'\)"),
        (b"HTQ", "speaks no HTTP, and is no Fairlead service .*is the address right"),
        (b"\x00\x01\x02\x03", "speaks no HTTP, and is no Fairlead service; is the address right"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "wants TLS: the address begins with https://"),
    ],
)
@pytest.mark.parametrize("hang_up", [True, False])
def test_who_speaks_no_http_is_said_to_be_no_service_at_once(
    begun: bytes, said: str, hang_up: bool
) -> None:
    """Whether he hangs up or waits for more; he is not asked again."""
    waited = list[str]()
    with (
        saying(begun, hang_up) as url,
        Client(url, "t", timeout=600, patience=600, on_wait=waited.append) as client,
    ):
        with pytest.raises(AnswerError, match=rf"what listens at {url} \(from --url\) .*{said}"):
            client.version()
        with pytest.raises(AnswerError, match=said):
            client.output("a", 0)
        with pytest.raises(AnswerError, match=said):
            next(client.events())
    assert waited == []


def test_who_says_nothing_is_told_of_before_he_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "DEAF", 0.05)
    told = threading.Event()
    waited = list[str]()

    def tell(sentence: str) -> None:
        waited.append(sentence)
        told.set()

    with saying(b"") as url, Client(url, "t", timeout=600, on_wait=tell) as client:

        def ask() -> None:
            with suppress(UnreachableError):
                client.version()

        asking = threading.Thread(target=ask)
        asking.start()
        assert told.wait(120)
    asking.join()
    (sentence,) = waited
    assert sentence.startswith(f"{url} (from --url) took the request 0.05 s ago and has not")
    assert sentence.endswith("it is waited for 599.95 s more")


def test_who_hangs_up_is_asked_again_and_is_not_said_to_be_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(transport, "SILENT", 0.0)
    waited = list[str]()
    with (
        saying(b"", hang_up=True) as url,
        Client(url, "t", patience=1, on_wait=waited.append) as client,
        pytest.raises(UnreachableError, match="hung up without an answer"),
    ):
        client.version()
    (sentence,) = waited
    assert sentence.startswith(f"{url} (from --url) hung up without an answer; if it wants TLS")
