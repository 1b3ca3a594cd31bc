"""Who shows no good token is refused before he is a connection, in the words of the application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairlead.service.api.neighbours.heads import read_plain
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.strangers import Strangers
from fairlead.wire.route import Access
from fairlead.wire.routes import ROUTES
from tests.service.api.stage import Stage

HERE = "10.1.2.3"
WRONG = "Authorization: Bearer fl_root_wrong"

PLENTY = ApiSettings(threads=False, guess_burst=1000)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage(settings=PLENTY) as one:
        yield one


def strangers(stage: Stage) -> Strangers:
    stage.get("/v1/me")  # tokens are read as somebody asks
    return Strangers(stage.app, lambda: [(b"date", b"today")])


def said(line: str, *headers: str, body: str = "") -> bytes:
    return "\r\n".join([line + " HTTP/1.1", "Host: x", *headers, "", body]).encode()


def test_each_route_that_needs_a_token_is_answered_as_the_application_does(stage: Stage) -> None:
    door, answered = strangers(stage), 0
    for route in ROUTES:
        path = route.path.replace("{", "").replace("}", "")
        for wrong in ((), (WRONG,)):
            told = door.answer(said(f"{route.method} {path}?a=b", *wrong), HERE)
            assert (told is None) == (route.access is Access.PUBLIC)
            if told is None:
                continue
            real = stage.ask(route.method, path + "?a=b", "fl_root_wrong" if wrong else None)
            head, _, body = told.partition(b"\r\n\r\n")
            first, date, *headers, close = head.decode().split("\r\n")
            assert (first, date, close) == (
                "HTTP/1.1 401 Unauthorized",
                "date: today",
                "Connection: close",
            )
            assert real.status == 401
            assert [f"{name}: {value}" for name, value in real.headers.items()] == headers
            assert real.body == body
            answered += 1
    assert answered > 70


def test_such_answers_are_counted_as_others_are(stage: Stage) -> None:
    def counted() -> float:
        lines = stage.metrics.text().decode().splitlines()
        (line,) = (each for each in lines if "{job}/why" in each and "401" in each)
        return float(line.rpartition(" ")[2])

    strangers(stage).answer(said("GET /v1/jobs/x/why"), HERE)
    before = counted()
    stage.get("/v1/jobs/x/why", None)
    between = counted()
    strangers(stage).answer(said("GET /v1/jobs/x/why"), HERE)
    assert counted() - between == between - before == 1


@pytest.mark.parametrize(
    "odd",
    [
        said("GET /v1/nothing"),
        said("HEAD /v1/jobs"),
        said("GET /v1/health"),
        said("GET /v1/jobs", "Cookie: fairlead=x"),
        said("GET /v1/jobs", "Authorization: Bearer x", "Authorization: Bearer y"),
        said("GET /v1/jobs", "Host: y"),
        said("GET /v1/jobs").replace(b"Host: x\r\n", b""),
        said("GET /v1/jobs", " folded"),
        said("GET /v1/jobs", "name : x"),
        said("GET /v1/jobs", "name: \x00"),
        said("GET http://x/v1/jobs"),
        said("GET /v1/jobs").replace(b"1.1", b"1.0"),
        said("GET /v1/jobs").replace(b"\r\n", b"\n"),
        said("POST /v1/jobs", "Transfer-Encoding: chunked"),
        said("POST /v1/jobs", "Expect: 100-continue"),
        said("POST /v1/jobs", "Content-Length: 3", body="{}"),
        said("POST /v1/jobs", "Content-Length: +2", body="{}"),
    ],
)
def test_what_is_unusual_is_for_the_application(stage: Stage, odd: bytes) -> None:
    assert strangers(stage).answer(odd, HERE) is None


def test_a_body_that_is_there_is_read_over(stage: Stage) -> None:
    told = strangers(stage).answer(said("POST /v1/jobs", "Content-Length: 2", body="{}"), HERE)
    assert told is not None
    asked = read_plain(said("POST /v1/jobs?x", "A-b1:  c \t"))
    assert asked is not None
    assert (asked.path, asked.headers[1]) == ("/v1/jobs", (b"a-b1", b"c"))


def test_a_good_token_is_known_by_itself_and_one_that_was_made_meanwhile_is_asked_for(
    stage: Stage,
) -> None:
    door = strangers(stage)
    good = f"Bearer {stage.tokens['vision']}".encode()
    assert door.guess([(b"authorization", good)], HERE) == "tenant vision"
    assert door.guess([(b"authorization", good + b"x")], HERE) == HERE
    assert door.answer(said("GET /v1/jobs", f"Authorization: {good.decode()}"), HERE) is None
    wrong = said("GET /v1/jobs", WRONG)
    assert door.answer(wrong, HERE) is not None
    stage.ask("POST", "/v1/tokens", body={"name": "new", "role": "viewer"})
    assert door.answer(wrong, HERE) is None
    stage.get("/v1/me")
    assert door.answer(wrong, HERE) is not None


def test_of_too_many_the_application_says_so() -> None:
    few = ApiSettings(threads=False, address_rate=0.001, address_burst=2, guess_burst=1)
    with Stage(settings=few) as stage:
        door = strangers(stage)
        first, second, third = (door.answer(said("GET /v1/jobs", WRONG), HERE) for _ in "abc")
        assert first is not None
        assert b" 401 " in first
        assert second is not None
        assert b" 429 " in second
        assert b"too many wrong tokens come from this address" in second
        assert third is None
        assert door.answer(said("GET /v1/jobs"), "10.1.2.4") is not None
