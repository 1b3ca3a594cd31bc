"""Who connects waits in front until there is something to answer, and keeps nobody out."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count

import pytest

from fairlead.service.api.neighbours.door import RESERVE
from fairlead.service.api.neighbours.listener import AT_ONCE, PACE, SAID_AGAIN, Listener
from fairlead.service.api.neighbours.places import Headers
from fairlead.service.api.neighbours.turns import REST
from fairlead.service.api.settings import ApiSettings
from tests.surroundings import NOBODY

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = ASKED[:-2]


class Door:
    """A listener, who comes to it, and a clock that stands still."""

    def __init__(self, opened: ExitStack, settings: ApiSettings, **more: bool) -> None:
        self.time = 0.0
        self._opened = opened
        self.listener = opened.enter_context(Listener(socket.AF_INET, settings, **more))
        self.listener.clock = lambda: self.time
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(200)
        self.listener.setblocking(False)

    def come(self, said: bytes, source: str = "127.0.0.1") -> socket.socket:
        """One more, who says that."""
        far = socket.create_connection(self.listener.getsockname(), 60, (source, 0))
        if said:
            far.sendall(said)
        return self._opened.enter_context(far)

    def called(self) -> bool:
        """Whether an event loop would look at the listener."""
        return bool(select.select([self.listener], [], [], 0)[0])

    def round(self) -> list[object]:
        """Who is accepted in a round."""
        accepted: list[object] = []
        with suppress(BlockingIOError):
            while True:
                connection, peer = self.listener.accept()
                self._opened.enter_context(connection)
                accepted.append(peer)
        return accepted

    def rounds(self) -> list[object]:
        """Who is accepted until nobody calls any more."""
        accepted = []
        while self.called():
            accepted += self.round()
        return accepted


@contextmanager
def door(*, tls: bool = False, behind_proxy: bool = False, **settings: float) -> Iterator[Door]:
    chosen = ApiSettings(**settings)  # type: ignore[arg-type]  # some are whole
    with ExitStack() as opened:
        yield Door(opened, chosen, tls=tls, behind_proxy=behind_proxy)


def names(*sockets: socket.socket) -> list[object]:
    return [each.getsockname() for each in sockets]


def is_over(far: socket.socket) -> bool:
    """Whether the listener closed it."""
    with suppress(ConnectionResetError):
        if not select.select([far], [], [], 0)[0]:
            return False
        assert far.recv(1) == b""
    return True


def test_who_is_gone_is_accepted_by_nobody_and_a_round_accepts_a_few() -> None:
    with door() as at:
        for _ in range(20):
            at.come(b"").close()
        asking = [at.come(ASKED) for _ in range(2 * AT_ONCE + 1)]
        at.listener.guess = lambda _, __: str(next(owners))
        owners = count()
        rounds = [at.round() for _ in range(3)]
        assert [len(each) for each in rounds] == [AT_ONCE, AT_ONCE, 1]
        assert [each for some in rounds for each in some] == names(*asking)
        assert not at.called()


def test_a_round_accepts_for_some_time_and_longer_where_there_was_more_for_all_else() -> None:
    with door() as at:
        came = [at.come(ASKED, f"127.0.0.{n}") for n in range(1, 7)]
        times = count()
        at.listener.clock = lambda: next(times) * LEAST
        assert [at.round() for _ in range(2)] == [names(each) for each in came[:2]]
        for _ in range(6):
            at.listener.clock()
        assert len(at.round()) > SHARE


def test_half_a_head_waits_wakes_nobody_again_and_is_handed_over_when_it_is_whole() -> None:
    with door() as at:
        far = at.come(b"G")
        assert at.rounds() == []
        far.sendall(HALF[1:])
        assert at.called()
        assert at.round() == []
        assert not at.called()
        far.sendall(b"\r\n")
        assert at.rounds() == names(far)
        far.sendall(ASKED)  # it is no more of the listener's
        assert not at.called()


def test_who_only_begins_makes_room_at_his_own_address_first() -> None:
    with door(address_connections=2, connections=3) as at:
        first, other, *more = at.come(b"G"), at.come(b"G", "127.0.0.2"), at.come(b"G")
        assert at.rounds() == []
        more += [at.come(b"G")]
        assert at.rounds() == []
        assert [is_over(each) for each in (first, other, *more)] == [True, False, False, False]
        new = at.come(b"G", "127.0.0.3")
        assert at.rounds() == []
        assert [is_over(each) for each in (other, *more, new)] == [True, False, False, False]
        asks = at.come(ASKED)
        assert at.rounds() == names(asks)


def test_behind_a_proxy_its_address_counts_for_nothing() -> None:
    with door(behind_proxy=True, address_connections=1) as at:
        far = [at.come(b"G") for _ in "ab"]
        assert at.rounds() == []
        assert not any(map(is_over, far))
        at.listener.ready.rivals = lambda _: True
        strangers = [at.come(ASKED) for _ in range(3)]
        assert at.rounds() == names(*strangers)


def test_who_does_not_say_what_he_wants_in_time_is_ended() -> None:
    with door(head_seconds=30) as at:
        early = at.come(b"G")
        assert at.rounds() == []
        at.time = 20
        late = at.come(b"G")
        assert at.rounds() == []
        at.time = 31
        at.listener.end_slow()
        assert (is_over(early), is_over(late)) == (True, False)


def test_who_says_no_more_is_ended_unless_he_said_all() -> None:
    with door() as at:
        half, later, asked = at.come(HALF), at.come(b"G"), at.come(ASKED)
        half.shutdown(socket.SHUT_WR)
        asked.shutdown(socket.SHUT_WR)
        assert at.rounds() == names(asked)
        later.shutdown(socket.SHUT_WR)
        assert at.rounds() == []
        assert is_over(half)
        assert is_over(later)
        whole = at.come(HALF)
        assert at.rounds() == []
        whole.sendall(b"\r\n")
        whole.shutdown(socket.SHUT_WR)
        assert at.rounds() == names(whole)


def test_who_asks_has_his_turn_by_whose_the_request_is() -> None:
    with door() as at:

        def guess(headers: Headers, address: str) -> str:
            return {b"Bearer a": "tenant a", b"b": "tenant b"}.get(
                dict(headers)[b"cookie"], address
            )

        loud = [at.come(b"GET / HTTP/1.1\r\nCOOKIE: Bearer a \r\n\r\n") for _ in range(7)]
        one = at.come(b"GET / HTTP/1.1\r\nx: y\r\ncookie:b\r\n\r\nbody\r\n\ncookie: Bearer a\r\n")
        two = at.come(b"GET / HTTP/1.1\r\ncookie: c\r\n\r\n", "127.0.0.2")
        at.listener.guess = guess
        assert at.round() == names(loud[0], one, two)
        three = at.come(b"GET / HTTP/1.1\r\ncookie: c\r\n\r\n", "127.0.0.3")
        assert at.round() == names(three)
        assert [at.round() for _ in range(REST - 1)] == [[]] * (REST - 2) + [names(loud[1])]
        assert at.rounds() == names(*loud[2:])


def test_a_stranger_who_is_refused_is_answered_at_once_and_nobody_else_is() -> None:
    with door() as at:
        at.listener.guess = lambda headers, address: "tenant a" if headers else address
        at.listener.answer = lambda said, address: (
            said + address.encode() if b"no" in said else None
        )
        refused = [at.come(b"GET /no HTTP/1.1\r\nHost: x\r\n\r\n") for _ in "ab"]
        gone = at.come(b"GET /no HTTP/1.1\r\n\r\n")
        gone.close()
        others = at.come(b"GET /no HTTP/1.1\r\ncookie: x\r\n\r\n"), at.come(ASKED)
        assert at.rounds() == names(*others)
        for far in refused:
            assert far.recv(100) == b"GET /no HTTP/1.1\r\nHost: x\r\n\r\n127.0.0.1"
            assert far.recv(1) == b""  # it was not told that the connection is broken


def test_strangers_of_an_address_come_one_by_one_where_others_ask() -> None:
    with door() as at:
        later: list[tuple[float, Callable[[], None]]] = []
        at.listener.later = lambda seconds, call: later.append((seconds, call))
        at.listener.ready.rivals = lambda owner: owner == "127.0.0.1"
        at.listener.guess = lambda headers, address: "tenant a" if headers else address
        strangers = [at.come(ASKED) for _ in range(3)]
        mine = [at.come(b"GET / HTTP/1.1\r\ncookie: x\r\n\r\n") for _ in range(2)]
        others = [at.come(ASKED, "127.0.0.2") for _ in range(2)]
        assert at.rounds() == names(strangers[0], mine[0], others[0], mine[1], others[1])
        (seconds, call) = later.pop()
        assert later == []
        assert 0 < seconds <= PACE
        at.time = PACE
        call()
        assert at.rounds() == names(strangers[1])
        assert len(later) == 1


def test_who_is_ended_is_watched_no_more_though_another_process_has_his_connection() -> None:
    with door(address_connections=1) as at:
        first = at.come(b"G")
        assert at.rounds() == []
        child = os.fork()
        if child == 0:
            signal.pause()
        try:
            at.come(b"G")
            assert at.rounds() == []
            first.sendall(b"E")
            assert not at.called()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_of_too_many_who_ask_the_last_one_ends_of_him_who_has_most() -> None:
    with door(connections=5) as at:
        other = at.come(ASKED, "127.0.0.2")
        loud = [at.come(ASKED) for _ in range(6)]
        assert at.rounds() == names(other, *loud[:4])
        assert [is_over(each) for each in loud[4:]] == [True, True]


def test_where_no_descriptor_is_left_one_that_only_began_gives_its_own() -> None:
    with door() as at:
        began, later = at.come(b"G"), at.come(b"G")
        assert at.rounds() == []
        asks, next_one = at.come(ASKED), at.come(ASKED)
        with _no_descriptor_left():
            assert at.rounds() == names(asks, next_one)
        assert is_over(began)
        assert is_over(later)


def test_else_an_open_connection_gives_its_own_and_if_none_may_the_queue_rests(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with door() as at:
        opened = [at.come(ASKED)]
        assert at.rounds() == names(*opened)
        late = at.come(ASKED)
        with _no_descriptor_left():
            at.listener.make_room = lambda: bool(opened) and opened.pop() is not None
            assert at.called()
            assert at.round() == []
            assert opened == []
            assert at.called()
            assert at.round() == []
            assert not at.called()
            at.listener.end_slow()
            assert at.round() == []
            assert not at.called()
            assert len(caplog.messages) == 1
            at.time = SAID_AGAIN
            at.listener.end_slow()
            assert at.round() == []
            assert len(caplog.messages) == 2
            assert "new ones wait" in caplog.messages[1]
        at.listener.end_slow()
        assert at.rounds() == names(late)


def test_the_last_descriptors_are_for_the_service_itself() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as taken:
        highest = [taken.enter_context(socket.socket()).fileno() for _ in range(RESERVE)][-1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + RESERVE, limits[1]))
        try:
            with door() as at:
                none = at.come(ASKED)
                assert at.rounds() == []
                assert is_over(none)
                assert not at.called()
                at.listener.end_slow()
                at.listener.make_room = lambda: True
                one = at.come(ASKED)
                assert at.rounds() == names(one)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@contextmanager
def _no_descriptor_left() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as free:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free.fileno(), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_who_waits_is_closed_with_the_listener() -> None:
    with door() as at:
        began, *asks = at.come(b"G"), *(at.come(ASKED) for _ in range(AT_ONCE + 1))
        assert len(at.round()) == 1
        at.listener.close()
        at.listener.close()
        assert at.listener.fileno() == -1
        assert is_over(began)
        assert is_over(asks[-1])


def test_elsewhere_who_is_not_gone_is_accepted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "epoll")
    with door() as at:
        at.come(b"").close()
        came = [at.come(b"G") for _ in range(AT_ONCE + 1)]
        assert [at.round(), at.round()] == [names(*came[:-1]), names(came[-1])]


def test_a_head_is_whole_where_more_would_change_nothing() -> None:
    heads = Heads(tls=False, head_bytes=50)
    for whole in (ASKED, b"GET / HTTP/1.1\n\n", b"\r\n", b"\x16\x03", b"G" * 51):
        assert heads.is_whole(whole)
    for half in (b"", b"G", HALF, b"G" * 50):
        assert not heads.is_whole(half)


def test_what_is_no_tls_costs_no_handshake() -> None:
    with door(tls=True) as at:
        plain = at.come(ASKED)
        assert at.rounds() == []
        assert is_over(plain)


def test_what_is_accepted_says_that_it_is_of_tcp() -> None:
    """Or an answer in two parts waits 40 ms for the other end to say that the first one came."""
    with door() as at:
        at.come(ASKED)
        connection, _ = at.listener.accept()
        with connection:
            assert connection.proto == socket.IPPROTO_TCP


def test_a_handshake_has_begun_with_its_first_record() -> None:
    heads = Heads(tls=True, head_bytes=50)
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        NOBODY.wrap_bio(coming, going).do_handshake()
    hello = going.read()
    assert len(hello) <= heads.most
    assert heads.is_whole(hello)
    assert not any(heads.is_whole(hello[:length]) for length in range(len(hello)))
    assert heads.secrets(hello) == []
    assert [heads.is_none(said) for said in (b"", hello[:1], hello)] == [False] * 3
    assert heads.is_none(ASKED[:1])
    assert heads.is_whole(b"\x16\x03\x01" + (RECORD_BYTES + 1).to_bytes(2))
