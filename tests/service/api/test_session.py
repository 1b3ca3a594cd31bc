"""A browser's session: the cookie for a token, and whom it is not believed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from starlette.requests import Request

from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.session import begin
from fairlead.wire.tokens import REQUEST_HEADER
from tests.service.api.stage import Answer, Stage, job

NAME = "fairlead-7370"

OWN = {"Sec-Fetch-Site": "same-origin", REQUEST_HEADER: "1"}
"""What the dashboard's own requests have."""


def signed_in(stage: Stage, token: str = "root") -> str:
    """The cookie, as the browser sends it."""
    answer = stage.ask("POST", "/v1/session", None, {"token": stage.tokens.get(token, token)})
    assert answer.status == 200, answer.body
    return answer.headers["set-cookie"].partition(";")[0]


def with_cookie(
    stage: Stage,
    method: str,
    path: str,
    cookie: str,
    headers: Mapping[str, str] = OWN,
    body: object = None,
) -> Answer:
    """The answer to a request of a browser."""
    return stage.ask(method, path, None, body, headers={"Cookie": cookie, **headers})


def test_signing_in_gives_a_cookie_that_no_script_reads_and_no_other_site_sends(
    stage: Stage,
) -> None:
    answer = stage.ask("POST", "/v1/session", None, {"token": stage.tokens["vision"]})
    assert answer.tree["name"] == "vision"
    assert answer.headers["set-cookie"] == (
        f"{NAME}={stage.tokens['vision']}; Path=/; HttpOnly; SameSite=Strict"
    )
    assert answer.headers["cache-control"] == "no-store"
    assert stage.tokens["vision"].encode() not in answer.body


def test_behind_a_proxy_the_cookie_is_for_tls_alone_and_for_this_host_alone() -> None:
    with Stage(behind_proxy=True) as stage:
        headers = {"Host": "fair.example", "X-Forwarded-For": "192.0.2.7"}
        given = {"token": stage.tokens["root"]}
        told = stage.ask("POST", "/v1/session", None, given, headers).headers["set-cookie"]
        name, _, rest = told.partition("=")
        assert name == "__Host-fairlead"
        assert rest.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
        cookie = told.partition(";")[0]
        assert with_cookie(stage, "GET", "/v1/me", cookie, headers | OWN).status == 200
        # What a page without TLS, or of another host of the domain, could have set.
        other = f"fairlead={stage.tokens['root']}"
        assert with_cookie(stage, "GET", "/v1/me", other, headers | OWN).status == 401


@pytest.mark.parametrize("text", ["fl_root_wrong", "fl_nobody_x", "x", "a; b\r\nSet-Cookie: c=d"])
def test_a_wrong_token_signs_nobody_in(stage: Stage, text: str) -> None:
    answer = stage.ask("POST", "/v1/session", None, {"token": text})
    assert (answer.status, answer.kind) == (401, "unauthenticated")
    assert "set-cookie" not in answer.headers
    assert text.encode() not in answer.body


@pytest.mark.parametrize(
    "text", ["a; Domain=x", "a\r\nSet-Cookie: b=c", "a,b", "a b", "", "a" * 4000]
)
def test_nothing_that_is_more_than_a_cookie_becomes_one(text: str) -> None:
    scope = {"type": "http", "scheme": "http", "headers": [(b"host", b"localhost:7370")]}
    assert begin(Request(scope), "eyJ.a_b-c.d")["Set-Cookie"].startswith(f"{NAME}=eyJ.a_b-c.d; ")
    with pytest.raises(RefusalError):
        begin(Request(scope), text)


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": "a" * 4001}, {"token": 1}, []])
def test_what_is_no_token_is_refused_and_not_told_again(stage: Stage, body: object) -> None:
    answer = stage.ask("POST", "/v1/session", None, body)
    assert answer.status == 422
    assert b"aaaa" not in answer.body


def test_wrong_tokens_are_slowed_down_in_a_body_and_in_a_cookie_as_in_the_header(
    stage: Stage,
) -> None:
    tries = [stage.ask("POST", "/v1/session", None, {"token": "fl_root_x"}) for _ in range(10)]
    tries += [with_cookie(stage, "GET", "/v1/me", f"{NAME}=fl_root_x") for _ in range(10)]
    assert {each.status for each in tries} == {401}
    assert stage.ask("POST", "/v1/session", None, {"token": "fl_root_x"}).status == 429
    assert with_cookie(stage, "GET", "/v1/me", f"{NAME}=fl_root_x").status == 429
    assert stage.get("/v1/me", "fl_root_x").status == 429
    assert stage.get("/v1/session", "fl_root_x").status == 429
    assert with_cookie(stage, "GET", "/v1/me", signed_in(stage)).status == 200


def test_a_cookie_acts_as_its_token_does(stage: Stage) -> None:
    cookie = signed_in(stage, "vision")
    assert with_cookie(stage, "GET", "/v1/me", cookie).tree["tenants"] == ["vision"]
    mine, theirs = ({"jobs": [job("a", tenant)]} for tenant in ("vision", "sales"))
    assert with_cookie(stage, "POST", "/v1/jobs", cookie, body=mine).status == 201
    assert with_cookie(stage, "POST", "/v1/jobs", cookie, body=theirs).status == 403
    assert with_cookie(stage, "GET", "/v1/tokens", cookie).status == 403


FORGED = {
    "of another site": {"Sec-Fetch-Site": "cross-site", REQUEST_HEADER: "1"},
    "of another port of this host": {"Sec-Fetch-Site": "same-site", REQUEST_HEADER: "1"},
    "typed": {"Sec-Fetch-Site": "none", REQUEST_HEADER: "1"},
    "of another origin": {"Origin": "http://evil.example", REQUEST_HEADER: "1"},
    "of another port": {"Origin": "http://localhost:8000", REQUEST_HEADER: "1"},
    "of a file": {"Origin": "null", REQUEST_HEADER: "1"},
    "of noise": {"Origin": "http://[", REQUEST_HEADER: "1"},
    "of nobody": {REQUEST_HEADER: "1"},
    "of a form": {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:7370"},
    "of a form that lies": {"Sec-Fetch-Site": "same-origin", REQUEST_HEADER: "0"},
    "of both": {
        "Sec-Fetch-Site": "cross-site",
        "Origin": "http://localhost:7370",
        REQUEST_HEADER: "1",
    },
}
"""Requests that the browser sends with the cookie, and that our page did not ask for."""


@pytest.mark.parametrize("headers", FORGED.values(), ids=list(FORGED))
def test_a_forged_request_changes_nothing(stage: Stage, headers: dict[str, str]) -> None:
    cookie = signed_in(stage)
    before = stage.service.records.seq
    for method, path, body in (
        ("POST", "/v1/jobs", {"jobs": [job("forged")]}),
        ("POST", "/v1/tokens", {"name": "forged", "role": "admin"}),
        ("POST", "/v1/whatif", {"remove": ["m1"]}),
        ("PUT", "/v1/tenants/sales", {"weight": 100}),
        ("DELETE", "/v1/tokens/vision", None),
    ):
        answer = with_cookie(stage, method, path, cookie, headers, body)
        assert (answer.status, answer.kind) == (403, "forbidden"), path
    assert stage.service.records.seq == before


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [each for name, each in FORGED.items() if "form" not in name],
    ids=[name for name in FORGED if "form" not in name],
)
def test_no_other_page_signs_in_or_out(stage: Stage, method: str, headers: dict[str, str]) -> None:
    cookie = signed_in(stage)
    body = {"token": stage.tokens["vision"]} if method == "POST" else None
    answer = with_cookie(stage, method, "/v1/session", cookie, headers, body)
    assert (answer.status, answer.kind) == (403, "forbidden")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://x.y"}],
)
def test_what_another_page_reads_with_the_cookie_is_not_answered(
    stage: Stage, headers: dict[str, str]
) -> None:
    cookie = signed_in(stage)
    assert with_cookie(stage, "GET", "/v1/jobs", cookie, headers).status == 403
    assert with_cookie(stage, "GET", "/v1/jobs", cookie, {}).status == 200
    assert with_cookie(stage, "GET", "/v1/jobs", cookie, {"Sec-Fetch-Site": "none"}).status == 200


def test_a_page_of_this_origin_may_where_the_browser_says_no_more_than_that(stage: Stage) -> None:
    headers = {"Origin": "http://localhost:7370", REQUEST_HEADER: "1"}
    answer = with_cookie(stage, "POST", "/v1/jobs", signed_in(stage), headers, {"jobs": [job("a")]})
    assert answer.status == 201


def test_a_program_with_a_token_needs_none_of_this(stage: Stage) -> None:
    for headers in FORGED.values():
        before = len(stage.service.records.jobs)
        given = {"jobs": [job(f"j{before}")]}
        assert stage.ask("POST", "/v1/jobs", "root", given, headers).status == 201


def test_a_revoked_token_s_cookie_is_worth_nothing(stage: Stage) -> None:
    cookie = signed_in(stage, "watcher")
    assert with_cookie(stage, "GET", "/v1/jobs", cookie).status == 200
    assert stage.ask("DELETE", "/v1/tokens/watcher").status == 204
    assert with_cookie(stage, "GET", "/v1/jobs", cookie).status == 401
    # And not when another one has its name.
    made = stage.ask("POST", "/v1/tokens", body={"name": "watcher", "role": "admin"})
    assert made.status == 201
    assert with_cookie(stage, "GET", "/v1/jobs", cookie).status == 401


def junk(stage: Stage) -> Iterator[str]:
    """Cookies that sign nobody in."""
    good = stage.tokens["root"]
    yield from (NAME, f"{NAME}=", f"{NAME}", "=", ";;;", f"{NAME}={'x' * 8000}", f"{NAME}=\xff")
    yield f"{NAME}=Bearer {good}"
    yield f'{NAME}="{good}"'
    yield f"x{NAME}={good}"
    yield f"FAIRLEAD-7370={good}"
    yield f"fairlead-7371={good}"  # of another service of this machine
    yield f"fairlead={good}"
    yield f"{NAME}={good}, other={good}"
    yield f"{NAME}={good}; {NAME}={good}"
    yield f"{NAME}=fl_sales_x; {NAME}={good}"
    yield f"{NAME}={good}; other=x; {NAME}="


def test_a_cookie_of_junk_and_two_cookies_sign_nobody_in(stage: Stage) -> None:
    for cookie in junk(stage):
        answer = with_cookie(stage, "GET", "/v1/me", cookie)
        assert (answer.status, answer.kind) == (401, "unauthenticated"), cookie[:80]
        stage.time += 10  # nobody is slowed down
    other = f"theme=dark; {signed_in(stage)}; a=b=c"
    assert with_cookie(stage, "GET", "/v1/me", other).tree["name"] == "root"


def test_the_header_wins_over_the_cookie(stage: Stage) -> None:
    cookie = signed_in(stage, "root")
    for text, status in ((stage.tokens["watcher"], 403), ("fl_root_wrong", 401), ("", 401)):
        headers = OWN | {"Authorization": f"Bearer {text}"}
        assert with_cookie(stage, "GET", "/v1/tokens", cookie, headers).status == status


def test_signing_out_takes_the_cookie_and_leaves_the_token(stage: Stage) -> None:
    cookie = signed_in(stage)
    answer = with_cookie(stage, "DELETE", "/v1/session", cookie)
    assert answer.status == 204
    assert answer.headers["set-cookie"] == (
        f"{NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    )
    assert stage.get("/v1/me").status == 200


def test_a_page_asks_who_is_signed_in_without_being_refused(stage: Stage) -> None:
    assert stage.get("/v1/session", None).tree["me"] is None
    assert stage.get("/v1/session", "fl_root_x").tree["me"] is None
    assert stage.get("/v1/session", "vision").tree["me"]["tenants"] == ["vision"]
    cookie = signed_in(stage, "watcher")
    assert with_cookie(stage, "GET", "/v1/session", cookie).tree["me"]["name"] == "watcher"
    other = {"Sec-Fetch-Site": "same-site"}
    assert with_cookie(stage, "GET", "/v1/session", cookie, other).status == 403
    assert stage.ask("DELETE", "/v1/tokens/watcher").status == 204
    assert with_cookie(stage, "GET", "/v1/session", cookie).tree["me"] is None


def test_where_no_token_is_asked_for_nobody_signs_in() -> None:
    with Stage(no_auth=True) as stage:
        told = stage.get("/v1/session", None).tree["me"]
        assert (told["name"], told["role"]) == (None, "admin")
        for name in ("Host", "Origin"):  # and noise in a header is refused, not failed at
            assert stage.get("/v1/me", None, headers={name: "http://["}).status == 403
