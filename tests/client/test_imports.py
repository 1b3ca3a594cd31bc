"""What a command imports that talks to the service: its start is a part of every answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.answering import Answer, answering
from tests.test_imports import imported, tops

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


@pytest.mark.parametrize("line", ["jobs --all", "jobs --json", "machines", "tenants", "token list"])
def test_a_command_that_asks_the_service_imports_no_more_than_it_needs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"jobs": [], "machines": [], "tenants": [], "tokens": []}'
    monkeypatch.setenv("FAIRLEAD_TOKEN", "t")
    with answering(lambda _: Answer(body=body)) as (url, asked):
        words = [*line.split(), "--url", url]
        code = NO_CERTIFICATES + f"from fairlead.cli.main import main\nassert main({words!r}) == 0"
        modules = imported(code, tmp_path)
    assert len(asked) == 1
    assert sorted((HEAVY | ONLY_FOR_SCREENS) & tops(modules)) == []
    assert not any(name.startswith("fairlead.service.") for name in modules)


def test_the_names_of_the_client_cost_nothing_until_they_are_used(tmp_path: Path) -> None:
    assert tops(imported("import fairlead.client", tmp_path)) == {"fairlead"}
    errors = "from fairlead.client import ServiceError"
    assert tops(imported(errors, tmp_path)) == {"fairlead"}
