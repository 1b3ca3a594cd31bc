"""The configuration file of the service: every setting can be written, and is what was written."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli.main import Exit, main
from fairlead.cli.serving.config import OPTIONS, read_config
from fairlead.model.errors import InputError
from fairlead.model.times import read_duration
from fairlead.scheduling.options import CHOSEN, Options
from fairlead.service.api.settings import ApiSettings
from fairlead.service.settings import Limits, Retention, Settings
from fairlead.service.signin.settings import SignInSettings
from fairlead.sharing.rules.registry import POLICIES
from fairlead.wire.kinds import Role
from tests.transcripts import ROOT

NESTED = ("options", "limits", "retention", "tenants")

SETTINGS: list[tuple[str, type[Any], Field[Any]]] = [
    *(("", Settings, each) for each in fields(Settings) if each.name not in NESTED),
    *(("", Options, each) for each in fields(Options) if each.name in CHOSEN),
    *(("limits", Limits, each) for each in fields(Limits)),
    *(("retention", Retention, each) for each in fields(Retention)),
    *(("api", ApiSettings, each) for each in fields(ApiSettings)),
]

MICROSECONDS = (
    *(
        "reserve_after",
        "reserve_for",
        "preempt_after",
        "time",
        "keys",
        "quarantine",
        "quarantine_most",
    ),
    *("node_interval", "read_every", "lost_after", "given_up_for", "journal_keep", "advise_every"),
)


def written(field: Field[Any]) -> tuple[str, object]:
    """A value of the field's type as it is written, and as it is then."""
    kind = str(field.type)
    if kind == "bool":
        return "false", False
    if field.name in MICROSECONDS:
        return "1500ms", 1_500_000
    if kind == "float":
        return ("2s", 2.0) if field.name.endswith("_seconds") else ("2.5", 2.5)
    if kind == "int":
        return ("7", 7) if not field.name.endswith("_bytes") else ("7000", 7000)
    if field.name == "addresses":
        return "['https://a:7370', 'https://b:7370']", ("https://a:7370", "https://b:7370")
    if field.name == "units":
        return "{cpu: 1e-8, memory: 4KiB}", {"cpu": Fraction(1, 10**8), "memory": Fraction(4096)}
    if kind.startswith("tuple"):
        return "[a, b]", ("a", "b")
    if field.name == "graphs":
        return "'https://x/d'", "https://x/d"
    names = {"policy": "fifo", "placement": "best-fit"}
    assert kind == "str", f"{field.name} is a {kind}: how is that written?"
    return names[field.name], names[field.name]


def read(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return read_config(file)


@pytest.mark.parametrize(
    ("section", "kind", "field"), SETTINGS, ids=[f"{s}.{f.name}" for s, _, f in SETTINGS]
)
def test_every_setting_can_be_written(
    section: str, kind: type[Any], field: Field[Any], tmp_path: Path
) -> None:
    text, value = written(field)
    line = f"{field.name}: {text}\n"
    found = read(tmp_path, f"{section}:\n  {line}" if section else line)
    part = {
        Settings: found.settings,
        Options: found.settings.options,
        Limits: found.settings.limits,
        Retention: found.settings.retention,
        ApiSettings: found.api,
    }[kind]
    assert getattr(part, field.name) == value
    others = [each.name for each in fields(kind) if each.name != field.name]
    usual = [getattr(kind(), name) for name in others]
    assert [getattr(part, name) for name in others] == usual


@pytest.mark.parametrize("text", ["javascript:alert(1)", "grafana", "https://a b", "ftp://x"])
def test_graphs_and_standbys_are_at_addresses_of_pages(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no address of a page; write one"):
        read(tmp_path, f"api:\n  graphs: '{text}'\n")
    with pytest.raises(InputError, match="is no address of a page; write one"):
        read(tmp_path, f"api:\n  addresses: ['https://a:7370', '{text}']\n")


@pytest.mark.parametrize("name", ["reserve_after", "preempt_after"])
def test_what_can_be_off_is_written_off(name: str, tmp_path: Path) -> None:
    assert getattr(read(tmp_path, f"{name}: off\n").settings.options, name) is None


@pytest.mark.parametrize("text", ["{cpu: 0}", "{cpu: -1}", "{cpu: fine}", "1e-8"])
def test_a_unit_is_an_amount_of_something(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"size of a unit|not a quantity|stands where keys"):
        read(tmp_path, f"units: {text}\n")


def test_files_are_named_from_where_the_configuration_is(tmp_path: Path) -> None:
    found = read(tmp_path, "cluster: c.yaml\nstate: s\ntls_cert: /etc/x.pem\nlisten: a:1\n")
    assert found.options == {
        "cluster": str(tmp_path / "c.yaml"),
        "state": str(tmp_path / "s"),
        "tls_cert": "/etc/x.pem",
        "listen": "a:1",
    }


NUMBERS = [(s, f.name) for s, _, f in SETTINGS if f.type in ("int", "float", "int | None")]

COUNTED = ("limits", "retention")

NOUGHT = {("", "kept_output"), ("", "snapshot_every")}
"""Whole numbers that may be 0, beside limits: nothing is kept, nothing is taken or never is."""


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], section: str, line: str) -> str:
    """The sentence with which a service says that this cannot be; nothing is made."""
    file, state = tmp_path / "config.yaml", tmp_path / "state"
    file.write_text(f"{section}:\n  {line}\n" if section else f"\n{line}\n", encoding="utf-8")
    words = ["serve", "--config", str(file), "--state", str(state), "--listen", "127.0.0.1:0"]
    assert main(words) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    (sentence,) = said.err.splitlines()
    assert sentence.startswith(f"error: {file}:2:")
    assert not state.exists()
    return sentence


@pytest.mark.parametrize(("section", "name"), NUMBERS, ids=[f"{s}.{n}" for s, n in NUMBERS])
def test_a_number_that_cannot_be_is_refused_with_its_line_and_nothing_is_made(
    section: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = "s" if name in MICROSECONDS or name.endswith("_seconds") else ""
    for text in (
        "-1",
        "nonsense",
        "''",
        "[1]",
        f"-1{unit}",
        f"0{unit}" if unit else "-0",
        f"{'9' * 40}{unit}",
        "1e400",
        ".inf",
    ):
        refused(tmp_path, capsys, section, f"{name}: {text}")
    if not unit and section not in COUNTED and (section, name) not in NOUGHT:
        refused(tmp_path, capsys, section, f"{name}: 0")


@pytest.mark.parametrize(
    "line",
    [
        *("node_interval: 0s", "read_every: 0s", "advise_every: 0s", "reserve_after: 0s"),
        *("preempt_after: 0s", "log: loud", "engine: nosuch", "mode: nosuch", "listen: here"),
        *("listen: 'a:99999'", "advertise: nowhere", "journal: 'mysql://x'", "state: ''"),
        *("cluster: ''", "placement: nosuch", "placement: elsewhere", "placement: ./nosuch.py:x"),
        *("policy: market", "policy: per-machine-drf", "policy: 'kdf(k=x)'", "policy: slots"),
        *("policy: ./nosuch.py:x", "units: {gpu: 0.1}", "units: {cpu: 0}", "whole: maybe"),
        *("no_auth: 1", "telemetry: -1", "resources: cpu", "devices: 7"),
    ],
)
def test_a_word_that_cannot_be_is_refused_with_its_line_and_nothing_is_made(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(tmp_path, capsys, "", line)


@pytest.mark.parametrize("name", [each.name for each in fields(ApiSettings)])
def test_what_a_page_or_a_moment_of_the_api_cannot_be(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "0s" if name.endswith("_seconds") else "7"
    if name in ("graphs", "addresses", "threads", "head_seconds", "poll_seconds"):
        refused(tmp_path, capsys, "api", f"{name}: {text}")


def test_the_policies_that_are_told_are_those_that_can_lead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refused(tmp_path, capsys, "", "policy: nosuch")
    lead = {*POLICIES, "fifo", "slots"} - {"per-machine-drf"}
    assert sentence.endswith(f"no policy `nosuch`; there are {', '.join(sorted(lead))}")


def test_no_key_means_two_things() -> None:
    names = [field.name for section, _, field in SETTINGS if not section]
    assert sorted(set(names) & set(OPTIONS)) == []
    assert len(names) == len(set(names))


ISSUER = "issuer: https://login.example\n  audience: fairlead\n  roles: {staff: tenant}\n"


def test_what_is_said_of_the_issuer(tmp_path: Path) -> None:
    more = "  client: cli\n  scopes: [openid]\n  algorithms: [ES256]\n  leeway_seconds: 5s\n"
    names = "  role: groups\n  tenant: team\n  name: email\n  ca: ca.pem\n"
    found = read(tmp_path, f"oidc:\n  {ISSUER}{more}{names}").sign_in
    assert found == SignInSettings(
        issuer="https://login.example",
        audience="fairlead",
        roles={"staff": Role.TENANT},
        client="cli",
        scopes=("openid",),
        algorithms=("ES256",),
        leeway_seconds=5.0,
        role="groups",
        tenant="team",
        name="email",
        ca=str(tmp_path / "ca.pem"),
    )
    assert read(tmp_path, "").sign_in is None


@pytest.mark.parametrize(
    "name", [each.name for each in fields(SignInSettings) if each.name.endswith("_seconds")]
)
def test_every_time_of_the_issuer_can_be_written(name: str, tmp_path: Path) -> None:
    found = read(tmp_path, f"oidc:\n  {ISSUER}  {name}: 2m\n").sign_in
    assert getattr(found, name) == 120.0


def test_all_that_is_said_of_an_issuer_is_in_the_reference_with_its_default() -> None:
    page = (ROOT / "docs/reference/service.md").read_text(encoding="utf-8")
    section = page.partition("## People who sign in")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*?)\|", section, re.MULTILINE))
    assert sorted(rows) == sorted(each.name for each in fields(SignInSettings))
    usual = SignInSettings("", "")
    for name, said in rows.items():
        value, written = getattr(usual, name), said.strip(" `")
        if isinstance(value, float):
            assert float(read_duration(written)) == value
        elif isinstance(value, tuple):
            assert written == f"[{', '.join(value)}]"
        else:
            assert written == (value if isinstance(value, str) else "")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("audience: a\n  roles: {x: admin}\n", 2, "'issuer' is missing"),
        ("issuer: https://x\n  roles: {x: admin}\n", 2, "'audience' is missing"),
        ("issuer: https://x\n  audience: a\n", 2, "'roles' is missing"),
        ("issuer: http://login.example\n  audience: a\n  roles: {x: admin}\n", 2, "on the way"),
        (f"{ISSUER}  algorithms: [RS256, HS256]\n", 5, "'HS256' is not an algorithm"),
        (f"{ISSUER}  algorithms: [none]\n", 5, "'none' is not an algorithm"),
        (f"{ISSUER}  algorithms: []\n", 5, "none is allowed"),
        (f"{ISSUER}  leeway_seconds: soon\n", 5, "soon"),
        (f"{ISSUER}  leway_seconds: 1s\n", 5, 'unknown key "leway_seconds"'),
        ("issuer: https://x\n  audience: a\n  roles: {x: boss}\n", 4, "'boss' is no role"),
        ("issuer: https://x\n  audience: a\n  roles: {}\n", 4, "nobody has a role"),
        ("[a]\n", 2, "stands where keys with values should"),
    ],
)
def test_a_mistake_about_the_issuer_has_its_line(
    text: str, line: int, what: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, f"oidc:\n  {text}")
    found = [(each.place.line, str(each)) for each in refused.value.mistakes if each.place]
    assert any(at == line and what in said for at, said in found), found


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, "# nothing\n")
    assert (found.options, found.settings, found.api) == ({}, Settings(), ApiSettings())


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, "limits: {jobs: x}\napi: {pag: 3}\nno_auth: 1\nlost_after: soon\n")
    lines = [mistake.place.line for mistake in refused.value.mistakes if mistake.place]
    assert lines == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lost_after: 1e30d", '"1e30d" cannot be; write from 1us to 36500d'),
        ("retention: 5", "write keys, as in retention: {time: …}; there are time, jobs"),
        ("placement: [a]", "a list stands where a text or number should; write one value"),
        ("devices: gpu", '"gpu" stands where a list should; write a list'),
    ],
)
def test_a_value_of_the_wrong_shape_or_size_is_told_what_would_be_right(
    text: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert sentence in str(caught.value)


def test_a_partition_without_a_name_is_not_all_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["serve", "--listen", "127.0.0.1:0", "--engine", "slurm", "--mode", "order"]
    assert main([*words, "--partition", ""]) == Exit.BAD_INPUT
    assert capsys.readouterr().err == (
        "error: --partition is empty; name a partition, or leave it out\n"
    )
