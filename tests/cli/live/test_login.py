"""`fairlead login` and `logout` against a real service and a real issuer."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.client import Client
from fairlead.client.login import EARLY
from tests.cli.live.place import Served, Terminal, administrator, serving
from tests.service.signin.issuer import CLIENT, Issuer, issuing

CONFIG = """\
log: all
oidc:
  issuer: {issuer}
  audience: fairlead
  client: fairlead-cli
  roles: {{admins: admin, researchers: tenant}}
"""

CLUSTER = """\
machines:
  - {name: a1, capacity: {cpu: 2, memory: 2GiB}}
tenants:
  - {name: vision}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Issuer, Served]]:
    """A service and the issuer that it believes."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with issuing() as issuer:
        (folder / "config.yaml").write_text(CONFIG.format(issuer=issuer.url), encoding="utf-8")
        with serving(folder, "--cluster", "cluster.yaml", "--config", "config.yaml") as served:
            yield issuer, served


@pytest.fixture
def issuer(place: tuple[Issuer, Served]) -> Issuer:
    """As it is at first."""
    found = place[0]
    found.__init__(url=found.url)  # type: ignore[misc]  # all that a test changed is as before
    return found


@pytest.fixture
def shell(
    place: tuple[Issuer, Served],
    issuer: Issuer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Terminal:
    """A user who is not the administrator, on another machine."""
    assert issuer.url
    terminal = administrator(place[1], tmp_path, monkeypatch, capsys)
    monkeypatch.delenv("FAIRLEAD_STATE")
    monkeypatch.setenv("FAIRLEAD_URL", place[1].url)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    return terminal


def kept() -> Path:
    return Path(os.environ["XDG_STATE_HOME"], "fairlead", "logins.json")


def change(**more: Any) -> None:
    """Changes the sign-in that is kept."""
    tree = json.loads(kept().read_text())
    tree["logins"][0] |= more
    kept().write_text(json.dumps(tree))


def test_a_person_signs_in_by_a_code_and_out_again(issuer: Issuer, shell: Terminal) -> None:
    assert "the token" in shell.refused("jobs", code=77)
    issuer.answers = [{"error": "authorization_pending"}, {"error": "authorization_pending"}]
    issuer.typed = True
    issuer.claims = {"roles": ["researchers"], "tenant": "vision"}
    code, out, err = shell("login")
    assert (code, out.startswith("signed in as person:ada (tenant for vision), until ")) == (
        0,
        True,
    )
    assert f"Sign in at {issuer.url}/activate with the code WDJB-MJHT" in err
    assert stat.S_IMODE(kept().stat().st_mode) == 0o600
    assert stat.S_IMODE(kept().parent.stat().st_mode) == 0o700
    assert issuer.asked["/token"] == 3
    shell.good("submit", "--name", "mine", "--cpu", "1", "--", "true")
    assert shell.json("job", "mine")["tenant"] == "vision"
    with Client() as client:
        assert client.me().name == "person:ada"
    assert shell.good("logout").startswith("signed out at ")
    assert "the token" in shell.refused("jobs", code=77)
    assert "not signed in" in shell.refused("logout")


def test_a_sign_in_is_renewed_before_it_ends_and_each_refresh_token_used_once(
    issuer: Issuer, shell: Terminal
) -> None:
    issuer.typed = True
    shell.good("login")
    first = json.loads(kept().read_text())["logins"][0]
    change(until=time.time() + EARLY - 1)
    with Client() as one, Client() as other:
        assert one.me().name == other.me().name == "person:ada"
    assert issuer.refreshes == ["refresh-1"]
    second = json.loads(kept().read_text())["logins"][0]
    assert (first["refresh"], second["refresh"]) == ("refresh-1", "refresh-2")
    assert second["until"] > time.time() + EARLY
    change(until=time.time())
    shell.good("jobs")
    assert issuer.refreshes == ["refresh-1", "refresh-2"]
    assert stat.S_IMODE(kept().stat().st_mode) == 0o600


def test_a_sign_in_that_the_issuer_has_ended_says_how_to_go_on(
    issuer: Issuer, shell: Terminal
) -> None:
    issuer.typed = True
    shell.good("login")
    change(until=0, refresh="stolen")
    said = shell.refused("jobs", code=77)
    assert "invalid_grant: used before" in said
    assert "`fairlead login` signs in again" in said
    assert "stolen" not in said
    shell.good("login")
    shell.good("jobs")
    change(until=0, refresh=None)
    assert "the sign-in has ended" in shell.refused("jobs", code=77)


def test_a_jwt_of_ones_own_goes_where_a_token_goes(
    issuer: Issuer, shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_TOKEN", issuer.jwt())
    shell.good("jobs")
    assert "FAIRLEAD_TOKEN is set" in shell.refused("login")


def test_a_jwt_of_ones_own_that_has_expired_is_said_to_have(
    issuer: Issuer, shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = int(time.time()) - 3600
    expired = issuer.jwt(exp=old, iat=old - 60)
    monkeypatch.setenv("FAIRLEAD_TOKEN", expired)
    said = shell.refused("jobs", code=77)
    assert "does not take the JWT, which is from FAIRLEAD_TOKEN: the JWT has expired; sign" in said
    assert "`fairlead login`, once that one is away, or put a new one there" in said
    url = os.environ["FAIRLEAD_URL"]
    assert f"`fairlead login --url {url}`, once" in shell.refused("jobs", "--url", url, code=77)
    monkeypatch.delenv("FAIRLEAD_TOKEN")
    said = shell.refused("jobs", code=77)
    assert said.endswith("none is given: set FAIRLEAD_TOKEN, or sign in: `fairlead login`\n")
    issuer.typed = True
    shell.good("login")
    change(token=expired)  # as where the clock here is behind
    said = shell.refused("jobs", code=77)
    assert said.endswith("the JWT has expired; sign in again: `fairlead login`\n")


def test_an_issuer_without_codes_says_how_a_jwt_is_passed(issuer: Issuer, shell: Terminal) -> None:
    issuer.offers_device = False
    said = shell.refused("login")
    assert "offers no sign-in by a code" in said
    assert "set FAIRLEAD_TOKEN to it" in said


def test_a_service_that_takes_tokens_alone_says_so(
    issuer: Issuer, shell: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert issuer.url
    folder = tmp_path / "plain"
    folder.mkdir()
    with serving(folder) as plain:
        monkeypatch.setenv("FAIRLEAD_URL", plain.url)
        assert "takes tokens alone" in shell.refused("login")


@pytest.mark.parametrize(
    ("answers", "code", "why"),
    [
        ([{"error": "access_denied"}], 77, "was turned down"),
        ([{"error": "slow_down"}, {"error": "expired_token"}], 77, "nobody typed the code in time"),
        ([{"error": "server_error", "error_description": "on fire"}], 2, "server_error: on fire"),
        ([{"access_token": "opaque"}], 77, "answers without a JWT"),
        ([{}], 77, "answers without a JWT"),
    ],
    ids=str,
)
def test_a_sign_in_that_fails_keeps_nothing(
    answers: list[dict[str, Any]],
    code: int,
    why: str,
    issuer: Issuer,
    shell: Terminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.client.issuer.MORE", 0.01)
    issuer.answers = answers
    got, out, err = shell("login")
    assert (got, out, why in err) == (code, "", True), err
    assert not kept().exists()


def test_who_has_no_rights_is_not_signed_in(issuer: Issuer, shell: Terminal) -> None:
    issuer.typed = True
    issuer.claims = {"roles": ["cooks"]}
    got, _, err = shell("login")
    assert (got, "nothing in your claim 'roles' gives you a role" in err) == (77, True)
    assert not kept().exists()


def test_a_sign_in_is_told_to_the_services_that_it_is_for_and_no_other(
    issuer: Issuer, shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.typed = True
    shell.good("login")
    from fairlead.client.places import find_place

    assert find_place().login is not None
    assert "secret" not in repr(find_place())
    assert find_place("http://127.0.0.1:1").login is None
    monkeypatch.setenv("FAIRLEAD_URL", os.environ["FAIRLEAD_URL"] + ",http://127.0.0.1:1")
    assert find_place().login is None


def test_a_file_that_is_damaged_is_said_to_be(shell: Terminal) -> None:
    kept().parent.mkdir(parents=True)
    for text in ("{", "[]", '{"schema": "fairlead.logins/1", "logins": [{"urls": 3}]}'):
        kept().write_text(text)
        assert "sign in again" in shell.refused("jobs")


def test_the_log_of_the_service_holds_no_jwt(place: tuple[Issuer, Served], shell: Terminal) -> None:
    issuer, served = place
    issuer.typed = True
    shell.good("login")
    jwt = json.loads(kept().read_text())["logins"][0]["token"]
    shell.good("submit", "--name", "logged", "--cpu", "1", "--wait", "--", "true")
    shell.good("logout")
    code, said = served.stop()
    assert code == 0
    assert '"by":"person:ada"' in said
    journal = b"".join(each.read_bytes() for each in served.state.glob("journal*"))
    for part in jwt.split("."):
        assert part not in said
        assert part.encode() not in journal
    assert CLIENT not in said
