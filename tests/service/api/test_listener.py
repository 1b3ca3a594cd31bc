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
from functools import partial
from itertools import pairwise

import pytest

from fairlead.service.api.kernels.door import STRANGER, UNHEARD
from fairlead.service.api.kernels.heads import RECORD_BYTES
from fairlead.service.api.neighbours.door import RESERVE
from fairlead.service.api.neighbours.listener import (
    AT_ONCE,
    CONNECTING,
    PACE,
    SAID_AGAIN,
    SHARES,
    YIELDING,
    YIELDING_MOST,
    Listener,
)
from fairlead.service.api.neighbours.places import Headers
from fairlead.service.api.neighbours.turns import REST
from fairlead.service.api.settings import ApiSettings
from tests.surroundings import NOBODY

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = ASKED[:-2]


def shows(token: str) -> bytes:
    """A request that shows it."""
    return f"GET / HTTP/1.1\r\nauthorization: {token}\r\n\r\n".encode()


def by_token(shown: Headers, address: str) -> str:
    """Whose a request is: of the tenant that its token is called after; `no` is nobody's."""
    token = dict(shown).get(b"authorization", b"no").decode()
    return address if token == "no" else f"tenant {token[0]}"


class Door:
    """A listener, who comes to it, and a clock that stands still."""

    def __init__(self, opened: ExitStack, settings: ApiSettings, **more: bool) -> None:
        self.time = 0.0
        self._opened = opened
        self.listener = opened.enter_context(Listener(socket.AF_INET, settings, **more))
        self.listener.clock = lambda: self.time
        self.listener.stopwatch = lambda: 0.0
        self.listener.guess = by_token
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(200)
        self.listener.setblocking(False)

    def come(self, said: bytes, source: str = "127.0.0.1") -> socket.socket:
        """One more, who says that."""
        far = socket.create_connection(self.listener.getsockname(), 60, (source, 0))
        if said:
            far.sendall(said)
        return self._opened.enter_context(far)

    def know(self, *tokens: str) -> None:
        """They were shown before."""
        for token in tokens:
            self.come(shows(token))
            assert len(self.rounds()) == 1
            for _ in range(REST):
                self.round()

    def called(self) -> bool:
        """Whether an event loop would look at the listener, once who is there was attended to."""
        self.listener.look()
        return bool(select.select([self.listener], [], [], 0)[0])

    def round(self) -> list[object]:
        """Who is accepted in a round."""
        self.listener.look()
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
    owners = "abcdefghi"
    with door() as at:
        at.know(*owners)
        for _ in range(20):
            at.come(b"").close()
        asking = [at.come(shows(token)) for token in owners]
        rounds = [at.round() for _ in range(3)]
        assert [len(each) for each in rounds] == [AT_ONCE[0], AT_ONCE[0], 1]
        assert [each for some in rounds for each in some] == names(*asking)
        assert at.rounds() == []


def test_of_those_whom_nobody_knows_a_round_accepts_one_of_either_kind() -> None:
    with door() as at:
        at.know("a")
        strangers = [at.come(ASKED, f"127.0.0.{n}") for n in range(2, 4)]
        unheard = [at.come(shows(token), f"127.0.0.{n}") for n, token in enumerate("bc", 2)]
        known = at.come(shows("a"))
        assert at.round() == names(known, unheard[0], strangers[0])
        assert at.round() == names(unheard[1], strangers[1])


def test_what_those_cost_whom_nobody_knows_their_kind_makes_up_for() -> None:
    with door() as at:
        at.know("a")
        later: list[tuple[float, Callable[[], None]]] = []
        at.listener.later = lambda seconds, call: later.append((seconds, call))
        times = iter(range(100))
        at.listener.stopwatch = lambda: float(next(times))
        first, second = (at.come(ASKED, f"127.0.0.{n}") for n in (2, 3))
        other = at.come(shows("b"), "127.0.0.4")
        assert at.rounds() == names(other, first)
        assert [seconds for seconds, _ in later] == [SHARES[STRANGER]]
        more, known = at.come(shows("c"), "127.0.0.5"), at.come(shows("a"))
        assert at.rounds() == names(known)
        at.time = SHARES[UNHEARD]
        assert at.round() == names(more)
        assert not at.called()
        at.time = SHARES[STRANGER]
        later[0][1]()
        assert at.rounds() == names(second)


def test_a_flood_of_whoever_it_is_leaves_others_their_lines() -> None:
    with door(connections=8, address_connections=3) as at:
        at.know("a", "b")
        wrong = shows("no")
        at.listener.answer = lambda said, _: b"no" if said == wrong else None
        at.come(wrong)
        assert at.rounds() == []  # that it is wrong is known now
        for said in (ASKED, wrong, shows("x"), shows("a"), b"G"):
            for _ in range(12):
                at.come(said)
        mine = at.come(shows("b")), at.come(shows("c"), "127.0.0.2"), at.come(ASKED, "127.0.0.2")
        accepted = at.round() + at.round()
        assert [each in accepted for each in names(*mine)] == [True] * 3


def test_what_a_line_has_too_many_of_is_closed_the_last_first_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with door(connections=100, address_connections=2) as at:
        came = [at.come(ASKED) for _ in range(4)]
        assert at.rounds() == names(*came[:2])
        assert [is_over(each) for each in came[2:]] == [True, True]
        for moment in (0, SAID_AGAIN):
            at.time = moment
            came = [at.come(ASKED) for _ in range(3)]
            assert at.rounds() == names(*came[:2])
        assert [message.split()[0] for message in caplog.messages] == ["2", "2"]


def test_who_shows_what_is_nobodys_any_more_is_unheard_again() -> None:
    with door() as at:
        at.know("a")
        at.listener.guess = lambda _, address: address
        once = at.come(shows("a")), at.come(shows("a"))
        assert at.round() == names(once[0])
        assert at.rounds() == names(once[1])
        at.listener.guess = by_token
        at.know("b")
        mine, others = at.come(shows("a")), at.come(shows("b"))
        assert at.round() == names(others, mine)


def test_a_thread_attends_to_who_comes_by_itself() -> None:
    with door(head_seconds=0.05) as at:
        asked, slow = at.come(ASKED), at.come(b"G")
        at.listener.attend()  # the seconds are real ones: whoever asks has asked by now
        assert select.select([at.listener], [], [], 60)[0]
        connection, peer = at.listener.accept()
        with connection:
            assert peer == asked.getsockname()
        with suppress(ConnectionResetError):
            assert slow.recv(1) == b""


def test_where_many_come_the_thread_rests_between_handfuls_and_meets_them_all() -> None:
    with door(address_connections=1000, connections=1000) as at:
        at.listener.attend()
        some = [at.come(HALF) for _ in range(300)]
        for each in some:
            each.sendall(b"\r\n")
        met = 0
        while met < len(some):
            assert select.select([at.listener], [], [], 60)[0]
            with suppress(BlockingIOError):  # until then an event loop goes on, and is called again
                while True:
                    at.listener.accept()[0].close()
                    met += 1


def test_half_a_head_waits_wakes_nobody_again_and_is_handed_over_when_it_is_whole() -> None:
    with door() as at:
        far = at.come(b"G")
        assert at.rounds() == []
        far.sendall(HALF[1:])
        assert not at.called()
        far.sendall(b"\r\n")
        assert at.rounds() == names(far)
        far.sendall(ASKED)  # it is no more of the listener's
        assert not at.called()


def test_who_only_begins_makes_room_at_his_own_address_first() -> None:
    with door(address_connections=2, connections=3) as at:
        first, other, *more = at.come(b"G"), at.come(b"G", "127.0.0.2"), at.come(b"G")
        assert at.rounds() == []
        at.time = 1
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
        at.listener.rivals = lambda _: True
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
        at.listener.look()
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

        at.listener.guess = guess
        first = at.come(b"GET / HTTP/1.1\r\nCookie: Bearer a\r\n\r\n")
        assert at.rounds() == names(first)
        first = at.come(b"GET / HTTP/1.1\r\ncookie: b\r\n\r\n")
        assert at.rounds() == names(first)
        loud = [at.come(b"GET / HTTP/1.1\r\nCOOKIE: Bearer a \r\n\r\n") for _ in range(3)]
        one = at.come(b"GET / HTTP/1.1\r\nx: y\r\ncookie:b\r\n\r\nbody\r\n\ncookie: Bearer a\r\n")
        two = at.come(b"GET / HTTP/1.1\r\ncookie: c\r\n\r\n", "127.0.0.2")
        assert at.round() == names(loud[0], one, two)
        assert [at.round() for _ in range(REST)] == [[]] * (REST - 1) + [names(loud[1])]
        assert at.rounds() == names(loud[2])


def test_a_stranger_who_is_refused_is_answered_at_once_and_nobody_else_is() -> None:
    with door() as at:
        at.listener.answer = lambda said, address: (
            said + address.encode() if b"no" in said else None
        )
        refused = [at.come(b"GET /no HTTP/1.1\r\nHost: x\r\n\r\n") for _ in "ab"]
        gone = at.come(b"GET /no HTTP/1.1\r\n\r\n")
        gone.close()
        others = at.come(shows("no").replace(b"no", b"a no")), at.come(ASKED)
        assert at.rounds() == names(*others)
        for far in refused:
            assert far.recv(100) == b"GET /no HTTP/1.1\r\nHost: x\r\n\r\n127.0.0.1"
            assert far.recv(1) == b""  # it was not told that the connection is broken


def test_strangers_of_an_address_come_one_by_one_where_others_ask() -> None:
    with door() as at:
        at.know("a")
        later: list[tuple[float, Callable[[], None]]] = []
        at.listener.later = lambda seconds, call: later.append((seconds, call))
        at.listener.rivals = lambda owner: owner == "127.0.0.1"
        strangers = [at.come(ASKED) for _ in range(3)]
        mine = [at.come(shows("a")) for _ in range(2)]
        others = [at.come(ASKED, "127.0.0.2") for _ in range(2)]
        assert at.rounds() == names(mine[0], strangers[0], others[0], mine[1], others[1])
        (seconds, call) = later.pop()
        assert later == []
        assert 0 < seconds <= PACE
        at.time = PACE
        call()
        assert at.rounds() == names(strangers[1])
        assert len(later) == 1


def test_who_had_too_much_of_the_event_loop_waits_for_his_own_where_others_ask() -> None:
    with door(connecting_rate=0.25, connecting_burst=0.25) as at:
        at.know("a", "b")
        at.time = 100
        at.listener.later = lambda _seconds, _call: None
        at.listener.rivals = lambda owner: owner == "tenant a"
        for owner in ("tenant a", "tenant b"):
            at.listener.charge(owner, 0.5)
        loud, other = [[at.come(shows(who)) for _ in range(3)] for who in "ab"]
        assert at.round() == names(loud[0], other[0])
        others = [each for _ in range(3 * REST) for each in at.round()]
        assert others == names(other[1], other[2])
        at.time += 1 + CONNECTING / 0.25
        assert at.round() == names(loud[1])
        assert [each for _ in range(2 * REST) for each in at.round()] == names(
            loud[2]
        )  # nothing owed


def test_who_had_too_much_goes_on_once_others_are_answered_and_in_any_case_after_a_while() -> None:
    with door(connecting_rate=0.25, connecting_burst=0.25) as at:
        at.know("a", "b")
        at.time = 100
        at.listener.later = lambda _seconds, _call: None
        at.listener.rivals = lambda owner: owner == "tenant a"
        at.listener.charge("tenant a", 0.25)
        loud = [at.come(shows("a")) for _ in range(4)]
        assert at.round() == names(loud[0])  # it owes what this one cost
        at.time += CONNECTING / 0.25 - YIELDING / 2
        other = at.come(shows("b"))
        assert at.round() == names(other)
        at.time += YIELDING * 0.75  # nothing is owed any more
        assert [each for _ in range(2 * REST) for each in at.round()] == []
        at.time += YIELDING / 2
        at.listener.charge("tenant a", 0.001)
        assert at.round() == names(loud[1])
        began = at.time
        while at.time < began + YIELDING_MOST - YIELDING:
            at.time += YIELDING / 2
            come = at.come(shows("b"))
            assert [each for _ in range(2 * REST) for each in at.round()] == names(come)
        at.time = began + YIELDING_MOST
        assert at.round() == names(loud[2])


def test_who_went_without_a_word_is_forgotten_at_both_ends() -> None:
    with door(head_seconds=1) as at:
        gone, slow = at.come(b""), at.come(b"G")
        gone.shutdown(socket.SHUT_WR)
        assert at.rounds() == []
        at.time = 3
        at.listener.look()
        for far in (gone, slow):  # reset: nobody's kernel keeps the port for a minute
            with pytest.raises(ConnectionResetError):
                far.recv(1)


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


def test_where_no_descriptor_is_left_one_that_only_began_gives_its_own() -> None:
    with door() as at:
        began, later = at.come(b"G"), at.come(b"G")
        assert at.rounds() == []
        asks, next_one = at.come(ASKED), at.come(ASKED)
        with _no_descriptor_left():
            assert at.rounds() == names(asks, next_one)
        assert is_over(began)
        assert is_over(later)


def test_else_one_in_line_gives_its_own_else_an_open_connection_and_else_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with door() as at:
        opened = [at.come(ASKED)]
        assert at.rounds() == names(*opened)
        line = [at.come(ASKED) for _ in "abc"]
        assert at.called()
        late = at.come(ASKED)
        with _no_descriptor_left():
            assert at.round() == []
            assert is_over(line[2])
            assert at.rounds() == names(*line[:2], late)
        last = at.come(ASKED)
        with _no_descriptor_left():
            at.listener.make_room = lambda: bool(opened) and opened.pop() is not None
            for moment, said in ((1, 0), (2, 1), (3, 1), (2 + SAID_AGAIN, 2)):
                at.time = moment
                assert at.round() == []
                assert opened == []
                assert len(caplog.messages) == said
            assert "new ones wait" in caplog.messages[1]
        assert at.rounds() == names(last)


def test_the_last_descriptors_are_for_the_service_itself_and_owners_whom_room_is_made_for() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as taken:
        highest = [taken.enter_context(socket.socket()).fileno() for _ in range(RESERVE)][-1] + 30
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + RESERVE, limits[1]))
        try:
            with door() as at:
                at.know("a")
                while taken.enter_context(socket.socket()).fileno() < highest:
                    pass
                for room in (False, True):
                    at.listener.make_room = partial(bool, room)
                    stranger, known = at.come(ASKED), at.come(shows("a"))
                    assert at.rounds() == names(known) * room
                    assert [is_over(each) for each in (stranger, known)] == [True, not room]
                    at.time += 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_strangers_without_end_close_no_line_of_an_owner() -> None:
    with door(connections=8, address_connections=4) as at:
        at.know("a")
        strangers = [at.come(ASKED, f"127.0.0.{n}") for n in range(2, 22)]
        mine = [at.come(shows("a")) for _ in range(4)]
        assert set(names(*mine)) <= set(at.rounds())
        assert sum(map(is_over, strangers)) == 4


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
        began, *asks = at.come(b"G"), *(at.come(ASKED) for _ in "ab")
        assert len(at.round()) == 1
        late = at.come(ASKED)
        at.listener.look()
        at.listener.close()
        at.listener.close()
        assert at.listener.fileno() == -1
        assert [is_over(each) for each in (began, asks[1], late)] == [True] * 3


def test_elsewhere_it_is_as_any_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "epoll")
    with door() as at:
        came = [at.come(b"G") for _ in "ab"]
        at.listener.attend()
        assert at.round() == names(*came)


def test_a_head_is_whole_where_more_would_change_nothing() -> None:
    with door(head_bytes=50) as at:
        for whole in (ASKED, b"GET / HTTP/1.1\n\n", b"\r\n", b"\x16\x03", b"G" * 51):
            far = at.come(whole)
            assert at.rounds() == names(far)
        for half in (b"G", HALF, b"G" * 50):
            at.come(half)
            assert at.rounds() == []


def test_what_is_no_tls_costs_no_handshake() -> None:
    with door(tls=True) as at:
        plain = at.come(ASKED)
        assert at.rounds() == []
        assert is_over(plain)


def test_what_is_accepted_says_that_it_is_of_tcp() -> None:
    """Or an answer in two parts waits 40 ms for the other end to say that the first one came."""
    with door() as at:
        at.come(ASKED)
        at.listener.look()
        connection, _ = at.listener.accept()
        with connection:
            assert connection.proto == socket.IPPROTO_TCP


def test_a_handshake_has_begun_with_its_first_record() -> None:
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        NOBODY.wrap_bio(coming, going).do_handshake()
    hello = going.read()
    with door(tls=True) as at:
        far = at.come(hello[:1])
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        for begin, end in pairwise((1, 2, 4, 5, 6, 100, len(hello) - 1, len(hello))):
            assert not at.called()
            far.sendall(hello[begin:end])
        assert at.rounds() == names(far)
        far = at.come(b"\x16\x03\x01" + (RECORD_BYTES + 1).to_bytes(2))
        assert at.rounds() == names(far)
