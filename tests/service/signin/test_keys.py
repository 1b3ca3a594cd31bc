"""The issuer's keys: rotated, taken back, late, and not there at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from joserfc.jwk import RSAKey

from tests.service.api.stage import Stage
from tests.service.signin.conftest import settings_of, staged
from tests.service.signin.issuer import Issuer, rsa


async def until(true: Callable[[], bool]) -> None:
    """Waits for it."""
    while not true():
        await asyncio.sleep(0.005)


def test_a_new_key_is_good_at_once_and_the_old_one_while_the_issuer_has_it(
    issuer: Issuer, stage: Stage
) -> None:
    old = issuer.jwt()
    assert stage.get("/v1/me", old).status == 200
    issuer.keys = [rsa(1), rsa(0)]
    stage.time += 60
    assert stage.get("/v1/me", issuer.jwt()).status == 200
    assert stage.get("/v1/me", old).status == 200


def test_a_key_that_was_taken_back_is_good_for_no_longer_than_the_interval(issuer: Issuer) -> None:
    with staged(issuer, refresh_seconds=0.01) as stage:
        old = issuer.jwt()
        assert stage.get("/v1/me", old).status == 200
        issuer.keys = [rsa(1)]
        seen = issuer.asked["/keys"]
        stage.run(until(lambda: issuer.asked["/keys"] > seen + 1))  # one whole fetch since
        assert stage.get("/v1/me", old).status == 401
        assert stage.get("/v1/me", issuer.jwt()).status == 200


def test_another_key_under_the_same_name_is_found(issuer: Issuer, stage: Stage) -> None:
    assert stage.get("/v1/me", issuer.jwt()).status == 200
    issuer.keys = [RSAKey.import_key(rsa(1).as_dict(private=True) | {"kid": "rsa-0"})]
    stage.time += 60
    assert stage.get("/v1/me", issuer.jwt()).status == 200


def test_an_issuer_that_is_down_at_the_start_keeps_nobody_with_a_token_out(issuer: Issuer) -> None:
    issuer.down = True
    with staged(issuer, unknown_seconds=0.01) as stage:
        answer = stage.get("/v1/me", issuer.jwt())
        assert (answer.status, answer.kind) == (503, "unavailable")
        assert "status 503" in answer.messages[0]
        assert stage.get("/v1/me", "root").status == 200
        issuer.down = False
        stage.time += 60
        assert stage.get("/v1/me", issuer.jwt()).status == 200


def test_the_last_keys_are_good_while_the_issuer_is_away_for_the_stated_time(
    issuer: Issuer,
) -> None:
    with staged(issuer, stale_seconds=3600.0) as stage:
        assert stage.get("/v1/me", issuer.jwt()).status == 200
        issuer.down = True
        stage.time += 3599
        assert stage.get("/v1/me", issuer.jwt()).status == 200
        stage.time += 2
        answer = stage.get("/v1/me", issuer.jwt())
        assert (answer.status, "older than 3600 s" in answer.messages[0]) == (503, True)
        issuer.down = False
        stage.time += 60
        assert stage.get("/v1/me", issuer.jwt()).status == 200


def test_that_the_issuer_is_away_is_said_once_and_that_it_is_back(issuer: Issuer) -> None:
    said: list[str | None] = []
    issuer.down = True
    settings = settings_of(issuer, unknown_seconds=0.01, refresh_seconds=0.01)
    with Stage(sign_in=settings, say_issuer=lambda why, _: said.append(why)) as stage:
        stage.run(until(lambda: issuer.asked["/.well-known/openid-configuration"] > 2))
        assert len(said) == 1
        assert "status 503" in (said[0] or "")
        issuer.down = False
        stage.run(until(lambda: len(said) > 1))
        assert said[1:] == [None]


def test_a_slow_issuer_holds_up_nobody_whose_key_is_known(issuer: Issuer) -> None:
    with staged(issuer) as stage:
        assert stage.get("/v1/me", issuer.jwt()).status == 200
        issuer.slow = threading.Event()
        stage.time += 60
        unknown = {"Authorization": f"Bearer {issuer.jwt(rsa(1))}"}

        async def beside() -> tuple[list[int], int]:
            from tests.service.api.stage import call

            waits = asyncio.ensure_future(call(stage.app, "GET", "/v1/me", unknown, []))
            await until(issuer.waiting.is_set)
            known = []
            for text in (issuer.jwt(), stage.tokens["root"]):
                headers = {"Authorization": f"Bearer {text}"}
                known.append((await call(stage.app, "GET", "/v1/me", headers, [])).status)
            assert not waits.done()
            assert issuer.slow is not None
            issuer.keys = [rsa(0), rsa(1)]
            issuer.slow.set()
            return known, (await waits).status

        assert stage.run(beside()) == ([200, 200], 200)


def test_an_issuer_that_never_answers_is_given_up(issuer: Issuer) -> None:
    issuer.slow = threading.Event()
    with staged(issuer, timeout_seconds=0.2) as stage:
        answer = stage.get("/v1/me", issuer.jwt())
        assert answer.status == 503
        stage.run(until(lambda: stage.app.api.people.keys.trouble != "they were not fetched yet"))  # type: ignore[union-attr]  # there are people
        assert "within 0.2 s" in stage.app.api.people.keys.trouble  # type: ignore[union-attr]  # as above


def test_an_issuer_under_another_name_is_not_believed(issuer: Issuer) -> None:
    issuer.calls_itself = "https://evil.example"
    with staged(issuer) as stage:
        answer = stage.get("/v1/me", issuer.jwt())
        assert (answer.status, "calls itself 'https://evil.example'" in answer.messages[0]) == (
            503,
            True,
        )
