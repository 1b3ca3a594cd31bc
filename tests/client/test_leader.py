"""Several addresses of which one leads: who is asked, and what is done while nobody leads."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fairlead.client import Client, UnreachableError
from fairlead.client.errors import NotLeadingError
from fairlead.client.places import Place, find_place
from fairlead.client.transport import Transport
from fairlead.model.errors import InputError
from tests.client.answering import Answer, Asked, answering

VERSION = b'{"version": "1"}'
FOLLOWS = {"Fairlead-Age": "1.500"}


class Pair:
    """Two services; `leads` says which of them leads, None: neither."""

    def __init__(self, stack: ExitStack) -> None:
        self.leads: int | None = 0
        one, self.one = stack.enter_context(answering(self._answer(0)))
        other, self.other = stack.enter_context(answering(self._answer(1)))
        self.urls = (one, other)

    def _answer(self, number: int) -> Callable[[Asked], Answer]:
        def answer(asked: Asked) -> Answer:
            leads = self.leads == number
            headers = {} if leads else FOLLOWS
            if asked.path == "/v1/ready":
                body = json.dumps({"ready": leads, "leads": leads}).encode()
                return Answer(200 if leads else 503, body, headers)
            if leads or asked.method == "GET":
                return Answer(body=VERSION, headers=headers)
            kind = {"kind": "not_leading", "mistakes": [{"message": "this service follows"}]}
            return Answer(421, json.dumps({"error": kind}).encode(), headers)

        return answer


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(stack)


def paths(asked: list[Asked]) -> list[str]:
    return [each.path for each in asked if each.path != "/v1/ready"]


def client(*urls: str, patience: float = 0.0) -> Client:
    return Client(",".join(urls), "fl_ann_secret", patience=patience)


def transport(*urls: str, patience: float = 0.0) -> Transport:
    return Transport(Place(urls[0], "fl_ann_secret", None, "--url", urls[1:]), patience=patience)


def change(asking: Transport) -> None:
    asking.ask("POST", "/v1/machines/m/drain", again=True)


def test_the_one_that_leads_is_asked(pair: Pair) -> None:
    pair.leads = 1
    with client(*pair.urls) as asking:
        assert asking.version().version == "1"
        assert asking.age is None
        assert asking.place.url == pair.urls[1]
        asking.version()
    assert (paths(pair.one), paths(pair.other)) == ([], ["/v1/version", "/v1/version"])
    assert len(pair.other) == 3  # it is looked for once


def test_another_one_is_found_when_it_leads_no_more(pair: Pair) -> None:
    asking = transport(*pair.urls, patience=30)
    change(asking)
    pair.leads = 1
    change(asking)
    assert asking.place.url == pair.urls[1]
    asking.close()


def test_one_that_nothing_answers_for_is_passed_over(pair: Pair) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with client(dead, *pair.urls) as asking:
            assert asking.version().version == "1"
            assert asking.place.url == pair.urls[0]


def test_while_nobody_leads_a_follower_reads_and_nobody_writes(pair: Pair) -> None:
    pair.leads = None
    asking = transport(*pair.urls)
    asking.ask("GET", "/v1/version")
    assert asking.age == 1.5
    with pytest.raises(NotLeadingError, match="that --url names none leads now"):
        change(asking)
    pair.leads = 1
    change(asking)  # it is looked for again
    assert asking.place.url == pair.urls[1]
    asking.close()


def test_a_follower_alone_says_what_to_do(pair: Pair) -> None:
    with client(pair.urls[1], patience=30) as asking:
        with pytest.raises(NotLeadingError, match="name all addresses, with commas"):
            asking.drain("m")  # at once: it will not lead because one waits
        asking.version()
        assert asking.age == 1.5


def test_where_none_answers_that_is_an_error_at_once() -> None:
    with socket.socket() as one, socket.socket() as other:
        urls = []
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
            urls.append(f"http://127.0.0.1:{each.getsockname()[1]}")
        with client(*urls, patience=30) as asking, pytest.raises(UnreachableError):
            asking.version()


def test_a_token_in_a_file_is_for_the_addresses_that_it_names(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("url: http://a:1,http://b:2\ntoken: fl_x_y\n", encoding="utf-8")
    known = {"FAIRLEAD_CONFIG": str(file), "HOME": str(tmp_path)}
    place = find_place(environ=known)
    assert (place.url, place.others, place.token) == ("http://a:1", ("http://b:2",), "fl_x_y")
    assert find_place("http://b:2", environ=known).token == "fl_x_y"
    assert find_place("http://b:2,http://c:3", environ=known).token is None
    with pytest.raises(InputError, match="several with commas"):
        find_place("http://a:1,,http://b:2", environ=known)


def told(*numbers: int, at: int) -> bytes:
    """A stream that begins there, with launches of these numbers."""
    text = f": hello\nid: {at}\n\n"
    for number in numbers:
        event = {"seq": number, "time": 1, "kind": "launch", "job": "a"}
        text += f"id: {number}\nevent: launch\ndata: {json.dumps(event)}\n\n"
    return text.encode()


def test_events_go_on_at_the_one_that_leads_then() -> None:
    """The first hangs up before anything happened; the second tells of what was missed."""
    asked_for: list[tuple[int, str | None]] = []
    streams = [told(at=6), told(7, 8, at=6), b'event: gone\ndata: {"since": 8}\n\n']

    def answer(number: int) -> Callable[[Asked], Answer]:
        def answered(asked: Asked) -> Answer:
            leads = number == len(asked_for) % 2
            if asked.path == "/v1/ready":
                return Answer(200 if leads else 503, json.dumps({"ready": leads}).encode())
            asked_for.append((number, asked.headers.get("Last-Event-ID")))
            return Answer(body=streams[len(asked_for) - 1])

        return answered

    with ExitStack() as stack:
        urls = [stack.enter_context(answering(answer(number)))[0] for number in (0, 1)]
        with client(*urls, patience=30) as asking:
            found = [each.since for each in asking.events()]
    assert asked_for == [(0, None), (1, "6"), (0, "8")]
    assert found == [7, 8, 8]


def test_without_patience_events_end_with_their_stream() -> None:
    with answering(lambda _: Answer(body=told(7, at=6))) as (url, asked), client(url) as asking:
        assert [each.since for each in asking.events()] == [7]
    assert len(asked) == 1


def test_events_that_do_not_come_back_are_an_error_once_patience_ends() -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(body=told(7, at=6), hang_up="Last-Event-ID" in asked.headers)

    with answering(answer) as (url, asked), client(url, patience=0.5) as asking:
        events = asking.events()
        assert next(events).since == 7
        with pytest.raises(UnreachableError):
            next(events)
    assert len(asked) > 1
