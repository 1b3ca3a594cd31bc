"""A tenant beside one that asks for all it can get: places, connections and rates are by tenant."""

from __future__ import annotations

import asyncio
import gc
import selectors
import socket
import threading
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import pytest
import uvicorn
from uvicorn.server import ServerState

from fairlead.service.api.neighbours.connection import Connections, guard_protocol
from fairlead.service.api.neighbours.handshakes import Handshakes
from fairlead.service.api.neighbours.limits import CHANGING
from fairlead.service.api.neighbours.places import Places
from fairlead.service.api.settings import ApiSettings
from fairlead.service.mailbox import Mailbox
from fairlead.service.precedence import Ahead
from fairlead.service.process.rounds import Rounds
from fairlead.service.process.runner import Driven
from fairlead.service.process.server import _Server
from tests.service.api.stage import Stage, job


def run(what: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(what, 60))


@dataclass
class Hall:
    """Who is in a place now, and who was, in order. Whoever is in goes when told."""

    places: Places
    served: list[str] = field(default_factory=list)
    inside: list[tuple[str, asyncio.Event]] = field(default_factory=list)

    def ask(self, owner: str) -> asyncio.Task[None]:
        async def be_served() -> None:
            async with self.places.place(owner):
                over = asyncio.Event()
                self.served.append(owner)
                self.inside.append((owner, over))
                await over.wait()

        return asyncio.create_task(be_served())

    async def go(self, index: int = 0) -> None:
        self.inside.pop(index)[1].set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


def test_one_owner_never_holds_all_places_and_others_wait_for_their_turn_alone() -> None:
    async def played() -> None:
        hall = Hall(Places(2, 1))
        tasks = [hall.ask("loud") for _ in range(10)]
        await hall.settle()
        assert hall.served == ["loud"]
        tasks.append(hall.ask("a"))
        await hall.settle()
        assert hall.served == ["loud", "a"]  # at once
        tasks += [hall.ask("b"), hall.ask("a")]
        await hall.settle()
        await hall.go(0)  # of the loud one: its next has waited for longer than b
        await hall.go(0)
        assert hall.served[2:] in (["b", "loud"], ["loud", "b"])
        while hall.inside:
            await hall.go()
        assert sorted(hall.served) == ["a", "a", "b", *["loud"] * 10]
        await asyncio.gather(*tasks)

    run(played())


def test_a_request_that_is_given_up_holds_no_place() -> None:
    async def played() -> None:
        hall = Hall(Places(1, 1))
        first, second, third = (hall.ask(name) for name in "abc")
        await hall.settle()
        second.cancel()
        await hall.settle()
        await hall.go()
        assert hall.served == ["a", "c"]
        third.cancel()  # inside
        await hall.settle()
        fourth = hall.ask("d")
        await hall.settle()
        assert hall.served[-1] == "d"
        hall.inside[-1][1].set()
        await asyncio.gather(first, fourth)

    run(played())


class Line:
    """A connection."""

    def __init__(self) -> None:
        self.ended = False

    def end(self) -> None:
        self.ended = True


def limited(**more: int) -> Connections:
    return Connections(ApiSettings(**more), behind_proxy=False)  # type: ignore[arg-type]  # numbers


def test_room_is_made_by_who_showed_no_token_and_else_by_a_handshake() -> None:
    connections = limited()
    known, stranger = Line(), Line()
    for line in (known, stranger):
        assert connections.enter(line, "here")
    connections.own(known, "tenant a")
    assert connections.make_room()
    assert (known.ended, stranger.ended) == (False, True)
    assert not connections.make_room()
    near, far = socket.socketpair()
    with near, far:
        connections.handshakes.begin(near, ("127.0.0.1", 1))
        assert connections.make_room()
        assert far.recv(1) == b""
        assert not connections.make_room()


def test_idle_connections_without_a_token_make_room_for_new_ones() -> None:
    connections = limited(address_connections=3)
    idle = [Line() for _ in range(3)]
    assert all(connections.enter(line, "here") for line in idle)
    one, two = Line(), Line()
    assert connections.enter(one, "here")
    assert [line.ended for line in idle] == [True, False, False]
    connections.own(one, "tenant a")
    assert connections.enter(two, "here")
    for _ in range(5):
        assert connections.enter(Line(), "here")
    assert (one.ended, two.ended) == (False, True)
    connections.leave(idle[0])  # closed at last: it is not counted twice
    assert connections.enter(Line(), "elsewhere")


def test_those_with_a_token_are_not_ended_and_one_tenant_does_not_hold_all() -> None:
    connections = limited(address_connections=3, tenant_connections=2)
    mine = [Line() for _ in range(3)]
    for line in mine:
        assert connections.enter(line, "here")
        connections.own(line, "tenant a")
    other = Line()
    assert connections.enter(other, "here")
    connections.own(other, "tenant b")
    assert [line.ended for line in mine] == [False, False, True]
    assert not connections.enter(Line(), "here")
    connections.leave(mine[0])
    assert connections.enter(Line(), "here")


def test_the_limit_on_all_connections_ends_strangers_first_too() -> None:
    connections = limited(connections=2, address_connections=2)
    known, stranger, new = Line(), Line(), Line()
    assert connections.enter(known, "here")
    connections.own(known, "tenant a")
    assert connections.enter(stranger, "there")
    assert connections.enter(new, "elsewhere")
    assert (known.ended, stranger.ended, new.ended) == (False, True, False)


def test_requests_without_a_token_take_nothing_from_who_has_one_at_the_same_address() -> None:
    few = ApiSettings(threads=False, address_rate=0.001, address_burst=3)
    with Stage(settings=few) as stage:
        told = [stage.get("/v1/health", None).status for _ in range(5)]
        assert told == [200, 200, 200, 429, 429]
        assert stage.get("/v1/jobs", "sales").status == 200
        assert stage.get("/v1/jobs", None).status == 429


@pytest.mark.parametrize("token", ["mine", "theirs"])
def test_a_tenant_has_one_limit_for_all_of_its_tokens(token: str) -> None:
    few = ApiSettings(threads=False, token_rate=0.001, token_burst=3)
    with Stage(settings=few) as stage:
        tenant = "vision" if token == "mine" else "language"
        made = {"name": "more", "role": "tenant", "tenant": tenant}
        second = stage.ask("POST", "/v1/tokens", body=made).tree["token"]
        assert [stage.get("/v1/me", "vision").status for _ in range(4)] == [200] * 3 + [429]
        assert stage.get("/v1/me", second).status == (429 if token == "mine" else 200)


def test_what_is_sent_by_who_took_too_much_is_not_even_read_while_others_ask() -> None:
    """A long list of jobs takes a while to read, also one that is refused then."""
    slow = ApiSettings(changing_rate=1e-9, changing_burst=0.1, refusal_seconds=0)
    long = b'{"jobs": [' + b" " * 2**17
    with Stage(settings=slow) as stage:
        many = [job(f"j{n}", "vision") for n in range(500)]
        assert stage.ask("POST", "/v1/jobs", "vision", long).status == 400
        assert stage.ask("POST", "/v1/jobs", "vision", {"jobs": many}).status == 201
        assert stage.get("/v1/me", "sales").status == 200
        assert stage.ask("POST", "/v1/jobs", "vision", long).status == 429
        assert stage.ask("POST", "/v1/jobs", "sales", long).status == 400


def test_a_request_costs_its_sender_what_it_took_the_loop_and_not_what_its_jobs_would() -> None:
    slow = ApiSettings(changing_rate=1e-9, changing_burst=CHANGING * 1.5, refusal_seconds=0)
    with Stage(settings=slow) as stage:
        odd = job("j", "vision") | {"demand": {f"r{n}": 1 for n in range(3000)}}
        assert stage.ask("POST", "/v1/jobs", "vision", {"jobs": [odd]}).status == 422
        assert stage.get("/v1/me", "sales").status == 200
        assert stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job("k")]}).status == 429


def test_for_one_handshake_too_many_the_oldest_of_its_address_ends() -> None:
    few = ApiSettings(address_handshakes=2, handshakes=3)
    going_on = Handshakes(few, behind_proxy=False)
    with ExitStack() as opened:
        pairs = [tuple(map(opened.enter_context, socket.socketpair())) for _ in range(6)]
        for here, there in pairs:
            there.setblocking(False)
            here.setblocking(False)

        def ended() -> list[int]:
            return [n for n, (_, there) in enumerate(pairs) if is_over(there)]

        for n, peer in enumerate([("a", 1), ("a", 2), ("a", 3)]):
            going_on.begin(pairs[n][0], peer)
        assert ended() == [0]
        going_on.end(("a", 2))  # it is a connection now
        going_on.begin(pairs[3][0], ("a", 4))
        assert ended() == [0]
        going_on.begin(pairs[4][0], ("b", 1))
        pairs[3][0].close()  # the other end went away
        going_on.begin(pairs[5][0], ("c", 1))
        assert len(going_on) == 3
        assert 2 not in ended()


def is_over(end: socket.socket) -> bool:
    """Whether the other end was shut down."""
    try:
        return end.recv(1) == b""
    except BlockingIOError:
        return False


def test_a_connection_that_is_over_is_freed_at_once_and_waits_for_no_look_for_garbage() -> None:
    """A look that finds thousands takes tens of milliseconds, in which nobody is answered."""

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def played() -> None:
        made = guard_protocol(Connections(ApiSettings(), behind_proxy=False))
        config = uvicorn.Config(app, log_config=None, lifespan="off")
        kept: list[ref[Any]] = []

        class Watched(made):  # type: ignore[misc, valid-type]  # made for these connections
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                kept.extend((ref(self), ref(transport)))

        def protocol() -> asyncio.Protocol:
            found: asyncio.Protocol = Watched(
                config=config, server_state=ServerState(), app_state={}
            )
            return found

        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        async with server:
            for said in (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"no HTTP\r\n\r\n", b""):
                reads, writes = await asyncio.open_connection(*server.sockets[0].getsockname())
                writes.write(said)
                if said:
                    assert (await reads.readline()).startswith(b"HTTP/1.1 ")
                writes.close()
                await writes.wait_closed()
            while len(kept) < 6 or any(each() is not None for each in kept):
                await asyncio.sleep(0.001)

    gc.collect()
    gc.disable()
    try:
        run(played())
    finally:
        gc.enable()


def test_long_work_rests_from_what_came_to_the_event_loop_until_it_is_done() -> None:
    ahead = Ahead()
    rounds = Rounds(ahead)
    seen: list[bool] = []
    loop = asyncio.SelectorEventLoop(rounds)
    try:
        assert ahead.goes_on
        loop.call_soon(lambda: seen.append(ahead.goes_on))
        here, there = socket.socketpair()
        with here, there:
            seen.append(loop.run_until_complete(_waits_unseen(loop, ahead, here, there)))
    finally:
        loop.close()
    assert seen == [True, True]
    assert not ahead.goes_on


def test_what_came_to_the_event_loop_or_is_due_is_seen_before_it_has_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    ahead = Ahead(lambda: now)
    rounds = Rounds(ahead)
    here, there = socket.socketpair()
    with here, there:
        rounds.register(here, selectors.EVENT_READ)
        assert not ahead.comes()
        there.sendall(b"x")
        assert ahead.comes()
        here.recv(1)

        seen: list[bool] = []

        def wait(*_: object) -> list[object]:
            nonlocal now
            seen.append(ahead.comes())
            now += 0.5
            seen.append(ahead.comes())
            return []

        monkeypatch.setattr(selectors.DefaultSelector, "select", wait)
        rounds.select(0.5)
        assert seen == [False, True]
        assert not ahead.comes()
        there.sendall(b"x")
        rounds.close()
    assert not ahead.comes()


def test_the_server_answers_in_rounds_that_go_before_long_work() -> None:
    door, seen = Mailbox[Driven](), list[bool]()

    class Watched(_Server):
        def __init__(self) -> None:
            self._mailbox = door

        async def serve(self, sockets: list[socket.socket] | None = None) -> None:
            del sockets
            seen.append(door.precedence.rounds.goes_on)

    Watched().run()
    assert seen == [True]
    assert not door.precedence.rounds.goes_on


async def _waits_unseen(
    loop: asyncio.AbstractEventLoop, ahead: Ahead, here: socket.socket, there: socket.socket
) -> bool:
    """Whether it goes on when something came, which comes once nothing goes on."""
    here.setblocking(False)

    def send() -> None:
        ahead.wait(60)
        there.sendall(b"x" if not ahead.goes_on else b"y")

    sender = threading.Thread(target=send)
    sender.start()
    came = await loop.sock_recv(here, 1)
    found = ahead.goes_on and came == b"x"
    sender.join()
    return found
