"""JWTs that prove nothing, each refused for its own reason, and what refuses them costs nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.service.api.stage import Stage
from tests.service.signin.conftest import staged
from tests.service.signin.issuer import Issuer, by_hand, rsa, signed

Forge = Callable[[Issuer], str]


@cache
def stranger() -> RSAKey:
    """A key of somebody else under the name of the issuer's."""
    return RSAKey.generate_key(2048, {"kid": "rsa-0"})


def pem(_: Issuer) -> bytes:
    return bytes(rsa(0).as_pem(private=False))


def public_as_secret(issuer: Issuer) -> str:
    """The classic: the public key, which all know, as the secret of HMAC."""
    return by_hand({"alg": "HS256", "kid": "rsa-0"}, issuer.claimed(), pem(issuer))


def jwk_as_secret(issuer: Issuer) -> str:
    said = json.dumps(rsa(0).as_dict(private=False)).encode()
    return by_hand({"alg": "HS256", "kid": "rsa-0"}, issuer.claimed(), said)


def own_key_inside(issuer: Issuer) -> str:
    """The key that signed it, brought along."""
    public = stranger().as_dict(private=False)
    return signed(issuer.claimed(), stranger(), kid="rsa-0", jwk=public)


def changed(issuer: Issuer) -> str:
    """The claims of another JWT under a signature that was good."""
    head, _, sign = issuer.jwt(roles=["guests"]).split(".")
    return ".".join([head, issuer.jwt().split(".")[1], sign])


def minutes(issuer: Issuer, count: float) -> float:
    return issuer.now() + 60 * count


ATTACKS: dict[str, tuple[Forge, str]] = {
    "expired": (lambda i: i.jwt(iat=minutes(i, -9), exp=minutes(i, -2)), "has expired"),
    "no end": (lambda i: i.jwt(exp=None), "when it ends"),
    "an end that is text": (lambda i: i.jwt(exp="tomorrow"), "exp is no time"),
    "an end that is true": (lambda i: i.jwt(exp=True), "exp is no time"),
    "an end that never comes": (lambda i: i.jwt(exp=float("inf")), "exp is no time"),
    "an end that is no number": (lambda i: i.jwt(exp=float("nan")), "exp is no time"),
    "too long": (lambda i: i.jwt(exp=minutes(i, 2000)), "lives longer than 86400 s"),
    "too long, from when is not said": (
        lambda i: i.jwt(iat=None, exp=minutes(i, 2000)),
        "lives longer",
    ),
    "not yet": (lambda i: i.jwt(nbf=minutes(i, 2)), "not good yet"),
    "of the future": (lambda i: i.jwt(iat=minutes(i, 2)), "made in the future"),
    "another audience": (lambda i: i.jwt(aud="mail"), "not for this service"),
    "other audiences": (lambda i: i.jwt(aud=["mail", "wiki"]), "not for this service"),
    "an audience that begins so": (lambda i: i.jwt(aud="fairlead2"), "not for this service"),
    "an audience within an audience": (lambda i: i.jwt(aud=[["fairlead"]]), "not for this"),
    "no audience": (lambda i: i.jwt(aud=None), "not for this service"),
    "another issuer": (lambda i: i.jwt(iss="https://evil.example"), "of another issuer"),
    "the issuer with a slash": (lambda i: i.jwt(iss=i.url + "/"), "of another issuer"),
    "no issuer": (lambda i: i.jwt(iss=None), "of another issuer"),
    "no name": (lambda i: i.jwt(sub=None), "no name that can be used"),
    "a name that is a number": (lambda i: i.jwt(sub=7), "no name that can be used"),
    "a name with a line in it": (lambda i: i.jwt(sub="ada\nroot"), "no name that can be used"),
    "a name without an end": (lambda i: i.jwt(sub="a" * 256), "no name that can be used"),
    "none": (lambda i: by_hand({"alg": "none"}, i.claimed()), "algorithm that is allowed"),
    "None": (lambda i: by_hand({"alg": "None", "kid": "rsa-0"}, i.claimed()), "algorithm"),
    "no algorithm": (lambda i: by_hand({"kid": "rsa-0"}, i.claimed()), "cannot be read"),
    "an algorithm that is a list": (
        lambda i: by_hand({"alg": ["RS256"], "kid": "rsa-0"}, i.claimed()),
        "algorithm that is allowed",
    ),
    "no signature": (
        lambda i: by_hand({"alg": "RS256", "kid": "rsa-0"}, i.claimed()),
        "not signed",
    ),
    "the public key as a secret": (public_as_secret, "algorithm that is allowed"),
    "the key set's entry as a secret": (jwk_as_secret, "algorithm that is allowed"),
    "another's key": (lambda i: i.jwt(stranger()), "not signed by a key"),
    "another's key, brought along": (own_key_inside, "not signed by a key"),
    "an algorithm of another key": (lambda i: i.jwt(rsa(0), "PS256", sub="x")[:-8], "not signed"),
    "claims of another": (changed, "not signed by a key"),
    "something that must be understood": (
        lambda i: by_hand({"alg": "RS256", "kid": "rsa-0", "crit": ["exp"], "exp": 1}, i.claimed()),
        "(crit)",
    ),
    "nothing that must be understood": (
        lambda i: signed(i.claimed(), rsa(0), kid="rsa-0", crit=[]),
        "(crit)",
    ),
    "a logout": (
        lambda i: signed(i.claimed(), rsa(0), kid="rsa-0", typ="logout+jwt"),
        "for something else",
    ),
    "claims that are a list": (lambda _: signed([1], rsa(0), kid="rsa-0"), "has no claims"),
    "claims that are noise": (lambda _: signed(b"\xff{", rsa(0), kid="rsa-0"), "cannot be read"),
    "claims without end": (lambda _: signed(b"[" * 9000, rsa(0), kid="rsa-0"), "cannot be read"),
    "noise": (lambda _: "a.b.c", "cannot be read"),
    "five parts": (lambda i: i.jwt() + ".x.y", "cannot be read"),
    "too much": (lambda i: i.jwt(more="x" * 16_000), "longer than 16384"),
}


@pytest.fixture(scope="module")
def believed() -> Any:
    from tests.service.signin.issuer import issuing

    with issuing() as issuer, staged(issuer) as stage:
        yield issuer, stage


@pytest.mark.parametrize("name", ATTACKS)
def test_a_jwt_that_proves_nothing_is_refused(name: str, believed: tuple[Issuer, Stage]) -> None:
    issuer, stage = believed
    forge, why = ATTACKS[name]
    stage.time += 60  # so that nothing is refused for coming too often
    assert stage.get("/v1/me", issuer.jwt()).status == 200
    text = forge(issuer)
    answer = stage.get("/v1/me", text)
    assert (answer.status, answer.kind) == (401, "unauthenticated"), answer.body
    assert why in answer.messages[0]
    assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert text not in answer.body.decode()


def test_a_name_of_a_key_that_is_no_text_is_refused(issuer: Issuer, stage: Stage) -> None:
    answer = stage.get("/v1/me", by_hand({"alg": "RS256", "kid": ["rsa-0"]}, issuer.claimed()))
    assert (answer.status, answer.messages[0].partition(";")[0]) == (
        401,
        "the JWT cannot be read",
    )


def test_a_key_that_is_a_secret_in_the_key_set_signs_nothing(issuer: Issuer, stage: Stage) -> None:
    issuer.more = [{"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"}]
    forged = by_hand(
        {"alg": "HS256", "kid": "shared"}, issuer.claimed(), b"secret-secret-secret-secret"
    )
    assert stage.get("/v1/me", forged).status == 401
    assert stage.get("/v1/me", issuer.jwt()).status == 200


def test_keys_that_are_weak_or_for_something_else_sign_nothing() -> None:
    from fairlead.service.signin.fetching import keys_of

    short = RSAKey.generate_key(2048, {"kid": "short"}).as_dict(private=False)
    small = short | {"n": short["n"][:160]}
    good = rsa(0).as_dict(private=False)
    sets = [small, good | {"use": "enc"}, good | {"kid": 7}, {"kty": "RSA"}, "x", {"kty": "oct"}]
    assert keys_of({"keys": sets}) == ()
    assert keys_of({"keys": "x"}) == ()
    assert len(keys_of({"keys": [*sets, good]})) == 1


@pytest.mark.parametrize(
    ("made", "algorithm"),
    [
        (lambda: rsa(1), "PS256"),
        (lambda: ECKey.generate_key("P-256", {"kid": "ec"}), "ES256"),
        (lambda: OKPKey.generate_key("Ed25519", {"kid": "ed"}), "Ed25519"),
    ],
    ids=["PS256", "ES256", "Ed25519"],
)
def test_each_kind_of_key_that_is_allowed_signs(
    made: Callable[[], Any], algorithm: str, issuer: Issuer
) -> None:
    issuer.keys = [made()]
    with staged(issuer) as stage:
        assert stage.get("/v1/me", issuer.jwt(algorithm=algorithm)).status == 200
    with staged(issuer, algorithms=("RS256",)) as stage:
        assert stage.get("/v1/me", issuer.jwt(algorithm=algorithm)).status == 401


def test_a_storm_of_unknown_keys_asks_the_issuer_once(issuer: Issuer, stage: Stage) -> None:
    assert stage.get("/v1/me", issuer.jwt()).status == 200
    stage.time += 60
    before = issuer.asked["/keys"]
    for number in range(50):
        stage.time += 0.1
        forged = signed(issuer.claimed(), stranger(), kid=f"never-{number}")
        assert stage.get("/v1/me", forged).status in (401, 429)
    assert issuer.asked["/keys"] == before + 1
    assert stage.get("/v1/me", issuer.jwt()).status == 200


def test_who_comes_while_keys_are_fetched_waits_for_that_one(issuer: Issuer, stage: Stage) -> None:
    from tests.service.api.stage import call

    assert stage.get("/v1/me", issuer.jwt()).status == 200
    stage.time += 60
    before = issuer.asked["/keys"]
    issuer.keys = [rsa(1)]
    headers = {"Authorization": f"Bearer {issuer.jwt()}"}

    async def together() -> list[int]:
        calls = (call(stage.app, "GET", "/v1/me", headers, []) for _ in range(20))
        return [answer.status for answer in await asyncio.gather(*calls)]

    assert stage.run(together()) == [200] * 20
    assert issuer.asked["/keys"] == before + 1


def test_without_a_name_the_only_key_for_the_algorithm_counts(issuer: Issuer) -> None:
    with staged(issuer) as stage:
        assert stage.get("/v1/me", signed(issuer.claimed(), rsa(0))).status == 200
    issuer.keys = [rsa(0), rsa(1)]
    with staged(issuer) as stage:
        assert stage.get("/v1/me", issuer.jwt()).status == 200
        assert stage.get("/v1/me", signed(issuer.claimed(), rsa(0))).status == 401


def test_without_an_issuer_a_jwt_is_a_wrong_token(issuer: Issuer) -> None:
    with Stage() as stage:
        answer = stage.get("/v1/me", issuer.jwt())
        assert (answer.status, answer.messages[0].partition(";")[0]) == (
            401,
            "the token is not valid",
        )
