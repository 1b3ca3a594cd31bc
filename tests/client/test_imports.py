"""What a command imports that talks to the service: its start is a part of every answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.answering import Answer, answering
from tests.test_imports import command, imported, tops

HEAVY = {
    *("numba", "numpy", "scipy", "highspy", "clarabel", "matplotlib", "pyarrow", "pandas"),
    *("fastapi", "starlette", "uvicorn", "prometheus_client", "psutil", "ray", "tqdm"),
}
"""What the service needs, and no command that asks it something."""

ONLY_FOR_SCREENS = {"rich", "pygments", "click"}
"""What the command line of httpx2 needs, and the library does not."""

NO_CERTIFICATES = """\
import ssl
ssl.SSLContext.load_default_certs = ssl.SSLContext.load_verify_locations = None
"""
"""Reading certificates, which takes long and is of no use without TLS, fails from here on."""


LINES = ("jobs --all", "jobs --json", "machines", "tenants", "token list")


def test_commands_that_ask_the_service_import_no_more_than_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"jobs": [], "machines": [], "tenants": [], "tokens": []}'
    monkeypatch.setenv("FAIRLEAD_TOKEN", "t")
    with answering(lambda _: Answer(body=body)) as (url, asked):
        commands = [command(f"{line} --url {url}") for line in LINES]
        modules = imported(NO_CERTIFICATES, *commands, into=tmp_path)
    assert len(asked) == len(LINES)
    assert sorted((HEAVY | ONLY_FOR_SCREENS) & tops(modules)) == []
    assert not any(name.startswith("fairlead.service.") for name in modules)


def test_the_names_of_the_client_cost_nothing_until_they_are_used(tmp_path: Path) -> None:
    assert tops(imported("import fairlead.client", into=tmp_path)) == {"fairlead"}
    errors = "from fairlead.client import ServiceError"
    assert tops(imported(errors, into=tmp_path)) == {"fairlead"}
