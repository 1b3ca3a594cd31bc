"""Requests: what is repeated and what is not, and the sentence of every failure."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairlead.client import (
    AnswerError,
    BusyError,
    Client,
    FailedError,
    NotAllowedError,
    RefusedError,
    UnknownNameError,
    UnreachableError,
    transport,
)
from fairlead.client.places import Place
from fairlead.client.stream import Heard, events_of
from fairlead.client.transport import NEAR
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.wire.kinds import Role
from tests.client.answering import Answer, Asked, answering

JOB = Job("a", {"cpu": 1}, tasks=1, command="true")
ROW = {"name": "a", "id": 1, "tenant": "a", "state": "pending", "tasks": {"waiting": 1}}
ROW |= {"submitted": 0}
SUBMITTED = json.dumps({"schema": "fairlead.submitted/1", "jobs": [ROW]}).encode()


OPENED: list[Client] = []


def client(url: str, timeout: float = 60.0, patience: float = 0.0) -> Client:
    OPENED.append(Client(url, "fl_ann_secret", timeout=timeout, patience=patience))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Ends the connections of all clients that a test opened."""
    yield
    while OPENED:
        OPENED.pop().close()


def refusal(kind: str, *messages: str) -> bytes:
    mistakes = [{"message": message} for message in messages]
    return json.dumps({"error": {"kind": kind, "mistakes": mistakes}}).encode()


def key_of(asked: Asked) -> str:
    return asked.headers["Idempotency-Key"]


def test_a_request_carries_the_token_and_says_who_asks() -> None:
    with answering(lambda _: Answer(body=b'{"version": "1"}')) as (url, asked):
        assert client(url).version().version == "1"
    assert asked[0].headers["Authorization"] == "Bearer fl_ann_secret"
    assert asked[0].headers["User-Agent"].startswith("fairlead/")


def test_a_submission_whose_answer_was_lost_is_made_again_with_the_same_key() -> None:
    tries: list[str] = []

    def answer(asked: Asked) -> Answer:
        tries.append(key_of(asked))
        return Answer(hang_up=True) if len(tries) < 3 else Answer(201, SUBMITTED)

    with answering(answer) as (url, _):
        assert [row.name for row in client(url, patience=60).submit(JOB).jobs] == ["a"]
    assert len(tries) == 3
    assert len(set(tries)) == 1


def test_two_submissions_have_two_keys() -> None:
    with answering(lambda _: Answer(201, SUBMITTED)) as (url, asked):
        service = client(url)
        service.submit(JOB)
        service.submit(JOB)
    assert len({key_of(each) for each in asked}) == 2


@pytest.mark.parametrize("key", ["", "schlüssel", "a\nb", " lead", "trail ", "\x7f", "x" * 256])
def test_a_key_that_no_header_holds_is_refused_before_anything_is_sent(key: str) -> None:
    with answering(lambda _: Answer(201, SUBMITTED)) as (url, asked):
        with pytest.raises(InputError, match=r"no idempotency key; write 1 to 255 printable ASCII"):
            client(url).submit(JOB, key=key)
        with pytest.raises(InputError, match="no idempotency key"):
            list(client(url).submit_all([JOB], key=key))
        client(url).submit(JOB, key="a b~" + "x" * 251)
    assert len(asked) == 1


def test_batches_go_on_with_keys_that_follow_from_one() -> None:
    jobs = [Job(f"j{i}", {"cpu": 1}, tasks=1, command="true") for i in range(5)]
    with answering(lambda _: Answer(201, SUBMITTED)) as (url, asked):
        list(client(url).submit_all(jobs, key="mine", size=2))
    assert [key_of(each) for each in asked] == ["mine-0", "mine-1", "mine-2"]
    sizes = [len(json.loads(each.body)["jobs"]) for each in asked]
    assert sizes == [2, 2, 1]


def test_a_batch_is_no_longer_than_a_service_takes() -> None:
    long = {"A": "x" * 100_000}
    jobs = [Job(f"j{i}", {"cpu": 1}, tasks=1, command="true", env=long) for i in range(130)]
    with answering(lambda _: Answer(201, SUBMITTED)) as (url, asked):
        list(client(url).submit_all(jobs))
    assert [len(json.loads(each.body)["jobs"]) for each in asked] == [59, 59, 12]
    assert max(len(each.body) for each in asked) < 6_100_000


def test_what_must_not_be_done_twice_is_not_repeated() -> None:
    with answering(lambda _: Answer(hang_up=True)) as (url, asked):
        service = client(url, patience=60)
        with pytest.raises(UnreachableError, match=r"hung up without an answer"):
            service.make_token("x", Role.VIEWER)
    assert len(asked) == 1


def test_a_busy_service_is_asked_again_while_patience_lasts() -> None:
    answers = iter([Answer(503, refusal("unavailable", "the disk is full")), Answer()])
    with answering(lambda _: next(answers)) as (url, asked):
        client(url, patience=60).forget("a")
    assert len(asked) == 2
    body = refusal("unavailable", "the disk is full")
    with (
        answering(lambda _: Answer(503, body)) as (url, asked),
        pytest.raises(BusyError, match=r"^the disk is full$"),
    ):
        client(url).forget("a")
    assert len(asked) == 1


def test_forgetting_twice_because_an_answer_was_lost_is_no_error() -> None:
    answers = iter([Answer(hang_up=True), Answer(404, refusal("not_found", "there is no job a"))])
    with answering(lambda _: next(answers)) as (url, asked):
        client(url, patience=60).forget("a")
    assert [each.method for each in asked] == ["DELETE", "DELETE"]


def test_names_of_any_kind_lead_to_one_place() -> None:
    with answering(lambda _: Answer(204, b"")) as (url, asked):
        client(url).forget("../tenants/ä b?x#y%2e")
    assert asked[0].path == "/v1/jobs/..%2Ftenants%2F%C3%A4%20b%3Fx%23y%252e"


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_of_dots_leads_nowhere_else(name: str) -> None:
    with answering(lambda _: Answer(204, b"")) as (url, asked):
        client(url).forget(name)
    assert asked[0].path == "/v1/jobs/" + name.replace(".", "%2E")


@pytest.mark.parametrize("name", ["", "\udcff"])
def test_what_cannot_be_a_name_is_refused_before_anything_is_asked(name: str) -> None:
    with (
        answering(lambda _: Answer()) as (url, asked),
        pytest.raises(InputError, match="write "),
    ):
        client(url).job(name)
    assert asked == []


def test_all_pages_are_followed() -> None:
    def answer(asked: Asked) -> Answer:
        last = "cursor=two" in asked.path
        tree = {"jobs": [ROW | {"name": "b" if last else "a"}], "next": None if last else "two"}
        return Answer(body=json.dumps(tree).encode())

    with answering(answer) as (url, asked):
        assert [row.name for row in client(url).jobs(all=True)] == ["a", "b"]
    assert all("all=true" in each.path for each in asked)


@pytest.mark.parametrize(
    ("answer", "error", "sentence"),
    [
        (Answer(401, refusal("unauthenticated", "no")), NotAllowedError, "does not take the token"),
        (Answer(403, refusal("forbidden", "job a is of b")), NotAllowedError, "^job a is of b$"),
        (Answer(404, refusal("not_found", "no job a")), UnknownNameError, "^no job a$"),
        (Answer(422, refusal("invalid", "one", "two")), RefusedError, "^one\ntwo$"),
        (Answer(409, refusal("conflict", "it is there")), RefusedError, "it is there"),
        (Answer(429, refusal("too_many", "slower")), BusyError, "slower"),
        (
            Answer(500, refusal("internal", "oh")),
            FailedError,
            "failed \\(status 500\\): oh; its log",
        ),
        (Answer(404, b"<html>"), AnswerError, "does not answer as a Fairlead service does"),
        (Answer(501, b"<html>"), AnswerError, "as a Fairlead service does .*is the address right"),
        (Answer(200, b"<html>"), AnswerError, "is the address right\\?"),
        (Answer(302, b"", {"Location": "http://a"}), AnswerError, "status 302"),
        (Answer(200, b'{"jobs": 1}'), AnswerError, "else than JobDetail .*of one version\\?"),
        (Answer(hang_up=True), UnreachableError, "begins with https://"),
    ],
)
def test_every_failure_has_its_kind_and_its_sentence(
    answer: Answer, error: type[Exception], sentence: str
) -> None:
    with answering(lambda _: answer) as (url, asked), pytest.raises(error, match=sentence):
        client(url).job("a")
    assert len(asked) == 1


@pytest.mark.parametrize(("apart", "counts"), [(7200, True), (-7200, True), (2, False)])
def test_moments_are_of_the_services_clock(
    apart: float, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(lambda _: Answer(404, refusal("not_found", "no"))) as (url, _):
        asker = client(url)
        now = time.time() - apart
        monkeypatch.setattr(
            transport, "time", SimpleNamespace(**vars(time) | {"time": lambda: now})
        )
        with pytest.raises(UnknownNameError):
            asker.job("a")
        assert abs(asker.now - time.time() - apart * counts) < NEAR


def test_what_is_no_text_is_refused_before_anything_is_sent() -> None:
    with (
        answering(lambda _: Answer()) as (url, asked),
        pytest.raises(InputError, match="7 is no name; write the name as text"),
    ):
        client(url).job(7)  # type: ignore[arg-type]  # as whoever looks at no types does
    assert asked == []


def test_nothing_that_listens_is_said_at_once_whatever_the_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waited"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(
            UnreachableError, match=r"nothing listens at .*from --url.*serve` starts"
        ):
            client(url, patience=60).version()


def test_one_that_was_killed_is_asked_until_it_is_back_wherever_that_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "address"
    with answering(lambda _: Answer(201, SUBMITTED)) as (url, asked), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
        file.write_text(f"{gone}\n")
        monkeypatch.setattr("time.sleep", lambda _: file.write_text(f"{url}\n"))
        place, said = Place(gone, None, None, f"{file}", kept=file), list[str]()
        with Client(place=place, patience=60, on_wait=said.append) as client:
            client.submit(JOB)
    assert (len(asked), said) == (1, [])


def test_whoever_waits_for_longer_than_a_moment_is_told_once_and_until_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    passed = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: passed[0])
    monkeypatch.setattr("time.sleep", lambda seconds: passed.append(passed.pop() + seconds))
    file = tmp_path / "address"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}"
        file.write_text(f"{gone}\n")
        said = list[tuple[float, str]]()
        with (
            Client(
                place=Place(gone, None, None, f"{file}", kept=file),
                patience=10,
                on_wait=lambda sentence: said.append((passed[0], sentence)),
            ) as client,
            pytest.raises(UnreachableError, match="nothing listens at"),
        ):
            client.version()
    ((moment, sentence),) = said
    assert 0.1 < moment < 1
    assert sentence == f"nobody answers at {gone} (from {file}); asking again for 9 s"
    assert 9.8 <= passed[0] <= 10


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        ("FAIRLEAD_TOKEN", "it is from FAIRLEAD_TOKEN: check it, or ask for a new one"),
        ("state/admin-token", "from state/admin-token: where it was revoked, take"),
    ],
)
def test_a_token_that_is_refused_is_named_by_where_it_comes_from(by: str, sentence: str) -> None:
    with answering(lambda _: Answer(401, refusal("unauthorized"))) as (url, _):
        place = Place(url, "fl_admin_old", None, "--url", token_by=by)
        with Client(place=place) as client, pytest.raises(NotAllowedError, match=sentence):
            client.version()


def test_of_an_admins_file_that_is_empty_is_said_how_another_one_is_made(tmp_path: Path) -> None:
    file = tmp_path / "admin-token"
    with answering(lambda _: Answer(401, refusal("unauthorized"))) as (url, _):
        place = Place(url, None, None, "--url", token_by=str(file))
        with Client(place=place) as client:
            with pytest.raises(NotAllowedError, match=r"none is given: set FAIRLEAD_TOKEN$"):
                client.version()
            file.touch()  # as after a loss of power
            with pytest.raises(NotAllowedError, match="is empty: take that file away and start"):
                client.version()


def test_a_proxy_is_not_asked_for_what_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with answering(lambda _: Answer(body=b'{"version": "1"}')) as (url, _):
        assert client(url).version().version == "1"


def test_a_name_that_nobody_knows_is_said() -> None:
    with pytest.raises(
        UnreachableError, match=r"the name in http://nowhere.invalid .* is not known"
    ):
        client("http://nowhere.invalid").version()


def test_a_service_that_hangs_is_given_up() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=r"has not answered for 0.2 seconds"):
            client(url, timeout=0.2).version()


def test_tls_where_there_is_none_is_said() -> None:
    with answering(lambda _: Answer()) as (url, _):
        secure = url.replace("http:", "https:")
        with pytest.raises(UnreachableError, match=r"TLS with .* failed.*begins with http://"):
            client(secure).version()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that nobody signed, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]
    words += ["-pkeyopt", "ec_paramgen_curve:prime256v1"]  # there at once, as no RSA key is
    words += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*words, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    return cert, key


@pytest.fixture
def secured(certificate: tuple[Path, Path]) -> Iterator[str]:
    """The address of a server with TLS."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with answering(lambda _: Answer(body=b'{"version": "1"}'), context) as (url, _):
        yield url


def test_a_certificate_that_is_not_believed_is_said(secured: str) -> None:
    with pytest.raises(UnreachableError, match=r"is not believed: .*FAIRLEAD_CA"):
        client(secured).version()


def test_a_certificate_of_a_service_on_this_machine_is_not_asked_for_again(
    secured: str, tmp_path: Path
) -> None:
    """It is believed to come back where it does not answer."""
    said = list[str]()
    place = Place(secured, None, None, "address", kept=tmp_path / "address")
    with (
        Client(place=place, patience=60.0, on_wait=said.append) as service,
        pytest.raises(UnreachableError, match="is not believed"),
    ):
        service.version()
    assert said == []


def test_a_certificate_of_ones_own_is_believed_where_it_is_named(
    secured: str, certificate: tuple[Path, Path]
) -> None:
    with Client(secured, "t", ca=str(certificate[0])) as service:
        assert service.version().version == "1"


def test_a_file_that_holds_no_certificate_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing", encoding="ascii")
    with pytest.raises(InputError, match=r"ca.pem cannot be used to check certificates"):
        Client("https://127.0.0.1:1", ca=str(file))


def test_events_are_read_as_the_standard_says() -> None:
    whole = [": comment", "id: 1", "event: launch", 'data: {"a":', "data: 1}", "", "", "data:{}"]
    lines = iter([*whole, "", ": only a place", "id: 7", "", "event: cut", "data: {}"])
    assert list(events_of(lines)) == [
        Heard("launch", {"a": 1}, "1"),
        Heard("message", {}, ""),
        Heard("message", None, "7"),
    ]


def test_an_event_that_is_no_json_is_an_error() -> None:
    with pytest.raises(AnswerError, match="is no JSON: 'x'"):
        list(events_of(iter(["data: x", ""])))


def test_events_say_what_to_go_on_from() -> None:
    event = {"seq": 7, "time": 1, "kind": "launch", "job": "a", "unknown": 1}
    body = f"id: 7\nevent: launch\ndata: {json.dumps(event)}\n\n: \n\n"
    body += 'event: gone\ndata: {"since": 9}\n\nevent: never\ndata: {}\n\n'
    with answering(lambda _: Answer(body=body.encode())) as (url, asked):
        first, second = list(client(url).events(since=6))
    assert asked[0].headers["Last-Event-ID"] == "6"
    assert first.event is not None
    assert (first.event.job, first.since, first.gone) == ("a", 7, False)
    assert (second.event, second.since, second.gone) == (None, 9, True)


def test_an_output_comes_with_where_it_is() -> None:
    headers = {"Fairlead-Offset": "3", "Fairlead-Size": "5", "Fairlead-Over": "true"}
    with answering(lambda _: Answer(body=b"\xff\n", headers=headers)) as (url, asked):
        found = client(url).output("a", 2, stream="stderr", offset=-2)
    assert (found.data, found.offset, found.size, found.over) == (b"\xff\n", 3, 5, True)
    assert asked[0].path.startswith("/v1/jobs/a/tasks/2/output?stream=stderr&offset=-2")
