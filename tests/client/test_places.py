"""Where a client finds the service and its token, and whom it never tells a token."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.client.errors import UnreachableError
from fairlead.client.places import STANDBY_ADDRESS, find_place, trust
from fairlead.model.errors import InputError

LOCAL = "http://127.0.0.1:4000"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user's environment without anything of Fairlead's."""
    return {"HOME": str(tmp_path)}


def serve_here(tmp_path: Path, folder: str = ".local/state/fairlead") -> Path:
    """What a service leaves in its state folder while it runs."""
    state = tmp_path / folder
    state.mkdir(parents=True)
    (state / "address").write_text(f"{LOCAL}\n", encoding="ascii")
    (state / "admin-token").write_text("fl_admin_local\n", encoding="ascii")
    return state


def configure(tmp_path: Path, text: str) -> Path:
    file = tmp_path / ".config" / "fairlead" / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_without_any_service_the_sentence_says_what_to_do(environ: dict[str, str]) -> None:
    with pytest.raises(
        InputError, match=r"no service is known: .*; start one with `fairlead serve`"
    ):
        find_place(environ=environ)


def test_a_service_that_was_here_does_not_answer_and_is_no_mistake(
    environ: dict[str, str], tmp_path: Path
) -> None:
    state = serve_here(tmp_path)
    (state / "address").unlink()  # as while it starts, or once it is stopped
    with pytest.raises(InputError, match="no service is known"):
        find_place(environ=environ)
    (state / "original").write_text("7\n")
    with pytest.raises(UnreachableError, match="no service serves now: none runs here"):
        find_place(environ=environ)


def test_the_service_of_this_user_is_found_with_its_token(
    environ: dict[str, str], tmp_path: Path
) -> None:
    serve_here(tmp_path)
    place = find_place(environ=environ)
    assert (place.url, place.token) == (LOCAL, "fl_admin_local")


def test_who_is_nearer_goes_first(environ: dict[str, str], tmp_path: Path) -> None:
    serve_here(tmp_path)
    assert find_place(environ=environ).url == LOCAL
    configure(tmp_path, "url: https://config.example\n")
    assert find_place(environ=environ).url == "https://config.example"
    state = serve_here(tmp_path, "named")
    environ["FAIRLEAD_STATE"] = str(state)
    assert find_place(environ=environ).url == LOCAL
    environ["FAIRLEAD_URL"] = "https://variable.example/"
    assert find_place(environ=environ).url == "https://variable.example"
    assert find_place("https://argument.example", environ=environ).url == "https://argument.example"


def test_a_token_of_a_file_is_told_to_no_other_address(
    environ: dict[str, str], tmp_path: Path
) -> None:
    serve_here(tmp_path)
    configure(tmp_path, "url: https://config.example\ntoken: fl_ann_secret\nca: own.pem\n")
    own = find_place(environ=environ)
    assert own.token == "fl_ann_secret"
    assert own.ca == str(tmp_path / ".config" / "fairlead" / "own.pem")
    other = find_place("https://other.example", environ=environ)
    assert (other.token, other.ca) == (None, None)
    local = find_place(LOCAL, environ=environ)
    assert local.token == "fl_admin_local"


def test_the_folders_token_is_told_to_none_that_stands_beside_its_address(
    environ: dict[str, str], tmp_path: Path
) -> None:
    state = serve_here(tmp_path)
    for urls in (f"{LOCAL},http://127.0.0.1:9191", f"http://127.0.0.1:9191,{LOCAL}"):
        assert find_place(urls, environ=environ).token is None
    (state / STANDBY_ADDRESS).write_text("http://127.0.0.1:9191\n")  # waits for the same state
    assert find_place(f"{LOCAL},http://127.0.0.1:9191", environ=environ).token == "fl_admin_local"
    assert find_place(f"{LOCAL},http://127.0.0.1:9192", environ=environ).token is None


def test_an_empty_token_or_address_is_a_mistake(environ: dict[str, str], tmp_path: Path) -> None:
    serve_here(tmp_path)
    with pytest.raises(InputError, match="the token is empty; unset FAIRLEAD_TOKEN"):
        find_place(environ={**environ, "FAIRLEAD_TOKEN": ""})
    with pytest.raises(InputError, match="the token is empty"):
        find_place(token="", environ={**environ, "FAIRLEAD_TOKEN": "fl_ann_secret"})
    with pytest.raises(InputError, match="--url is '', which is not the address"):
        find_place("", environ=environ)


def test_a_token_of_the_environment_is_for_whatever_is_asked(environ: dict[str, str]) -> None:
    environ["FAIRLEAD_TOKEN"] = "fl_ann_secret"
    assert find_place("https://other.example", environ=environ).token == "fl_ann_secret"


@pytest.mark.parametrize("token", ["fl_ann_\nsecret", "fl ann", "fl_änn", "fl_\x00"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(
    token: str, environ: dict[str, str]
) -> None:
    environ["FAIRLEAD_TOKEN"] = token
    with pytest.raises(InputError, match="that no token has; copy it once more") as refused:
        find_place("http://a", environ=environ)
    assert token not in str(refused.value)


def test_of_an_admins_file_that_is_damaged_is_said_how_another_one_is_made(
    environ: dict[str, str], tmp_path: Path
) -> None:
    state = serve_here(tmp_path)
    (state / "admin-token").write_bytes(bytes(53))  # as after a loss of power
    with pytest.raises(InputError, match=r"admin-token\) holds signs .* take that file away"):
        find_place(environ=environ)


def test_a_place_never_shows_its_token(environ: dict[str, str], tmp_path: Path) -> None:
    serve_here(tmp_path)
    assert "local" not in repr(find_place(environ=environ)).partition("said_by")[0]
    assert "fl_admin" not in repr(find_place(environ=environ))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:4000", "is 'localhost:4000', which is not the address of a service"),
        ("http://a..b:1", "is 'http://a..b:1', which is not the address of a service"),
        (f"http://{'a' * 64}", "which is not the address of a service"),
        ("ftp://a", "not the address of a service; write it as in http://"),
        ("http://", "not the address of a service"),
        ("http://a:b", "not the address of a service"),
        ("http://a?x=1", "not the address of a service"),
        ("http://a\n:1", "not the address of a service"),
        ("http://ann:secret@a", "holds a name or a password; give the token in FAIRLEAD_TOKEN"),
    ],
)
def test_an_address_that_is_none_is_refused(
    url: str, sentence: str, environ: dict[str, str]
) -> None:
    with pytest.raises(InputError) as refused:
        find_place(url, environ=environ)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith("--url")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("adress: x\n", 'config.yaml:1:1: unknown key "adress"'),
        ("url: [a]\n", "config.yaml:1:6: url"),
        ("token: x\nurl: 5\n", "config.yaml:2:6: url: it is '5', which is not the address of a"),
        ("url: http://a:1,foo\n", "config.yaml:1:6: url: it is 'foo', which is not the address"),
        ("url: 'x\n", "this is not YAML"),
    ],
)
def test_mistakes_in_the_file_have_their_places(
    text: str, sentence: str, environ: dict[str, str], tmp_path: Path
) -> None:
    configure(tmp_path, text)
    with pytest.raises(InputError) as refused:
        find_place("http://a", environ=environ)
    assert sentence in str(refused.value)


def test_a_file_that_is_named_has_to_be_there(environ: dict[str, str], tmp_path: Path) -> None:
    environ["FAIRLEAD_CONFIG"] = str(tmp_path)
    with pytest.raises(InputError, match=r"FAIRLEAD_CONFIG is .*, which is a folder; name a file"):
        find_place("http://a", environ=environ)
    environ["FAIRLEAD_CONFIG"] = str(tmp_path / "nope.yaml")
    with pytest.raises(InputError, match=r"FAIRLEAD_CONFIG is .*nope.yaml, and there is no such"):
        find_place("http://a", environ=environ)


def test_an_empty_file_says_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    configure(tmp_path, "# nothing yet\n")
    serve_here(tmp_path)
    assert find_place(environ=environ).url == LOCAL


def test_a_file_of_the_client_that_is_no_text_is_said_to_be_none(
    environ: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "client.yaml"
    path.write_bytes(b"url: \xff")
    with pytest.raises(InputError, match=r"client\.yaml is not UTF-8: byte 6 .* save it as UTF-8"):
        find_place(environ=environ | {"FAIRLEAD_CONFIG": str(path)})


def test_a_file_of_certificates_without_any_is_said_to_have_none(
    environ: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("garbage\n", encoding="ascii")
    place = find_place(
        environ=environ | {"FAIRLEAD_URL": "https://example.org", "FAIRLEAD_CA": str(path)}
    )
    with pytest.raises(InputError, match="it has none in PEM; name a file of certificates in PEM"):
        trust(place)
