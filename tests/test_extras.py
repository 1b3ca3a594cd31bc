"""What is not installed is named with the extra that brings it, wherever it is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fairlead.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
FIRST = ROOT / "examples" / "gpu-generations"
TABLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WITHOUT = """\
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if any((name + ".").startswith(each + ".") for each in {hidden!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
there = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name in {hidden!r} else there(name, package)
importlib.util.find_spec = find_spec
"""
"""As if only the base were installed."""

ASKED = {
    "simulate table-ii": "simulation",
    "report runs": "report",
    "report runs --table": "simulation",
    "trace info TRACE": "simulation",
    "serve --engine ray --state state": "ray",
    "serve --config oidc.yaml --state state": "oidc",
    "serve --telemetry --state state": "telemetry",
    "serve --journal postgresql://localhost/fairlead --state state": "postgres",
}

OIDC = "oidc: {issuer: 'https://login.example', audience: fairlead, roles: {staff: tenant}}\n"

FIRST_STEPS = (
    "demo",
    f"allocate {FIRST}/cluster.yaml {FIRST}/jobs.yaml",
    f"explain pretrain {FIRST}/cluster.yaml {FIRST}/jobs.yaml",
    f"compare {FIRST}/cluster.yaml {FIRST}/jobs.yaml --policies tsf,drf",
    f"allocate {FIRST}/cluster.yaml {FIRST}/jobs.yaml --policy market",
    f"allocate {FIRST}/cluster.yaml {FIRST}/jobs.yaml --policy cmmf(cpu)",
    f"audit {FIRST}/cluster.yaml {FIRST}/jobs.yaml",
    "policies",
    "serve --help",
)


def without_extras(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What the code does where no extra is installed."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(hidden=set(EXTRAS)) + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def command(line: str) -> str:
    """Code that runs `fairlead` with these words and ends as it ends."""
    return f"from fairlead.cli.main import main\nsys.exit(main({line.split()!r}))"


def test_each_extra_of_the_project_is_named_for_a_package_that_it_brings() -> None:
    extras = TABLE["optional-dependencies"]
    assert {extra for extra, _ in EXTRAS.values()} == set(extras)
    for package, (extra, _) in EXTRAS.items():
        name = package.replace(".", "-")
        assert any(each.startswith(name) for each in extras[extra])
        assert not any(each.startswith(name) for each in TABLE["dependencies"])


@pytest.mark.parametrize("line", ASKED)
def test_a_command_names_the_extra_that_it_needs(line: str, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "oidc.yaml").write_text(OIDC, encoding="utf-8")
    done = without_extras(command(line), tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"pip install 'fairlead[{ASKED[line]}]'" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("import fairlead; fairlead.simulate", "simulation"),
        ("import fairlead.ray", "ray"),
    ],
)
def test_python_names_the_extra_that_it_needs(code: str, extra: str, tmp_path: Path) -> None:
    done = without_extras(code, tmp_path)
    assert done.returncode == 1
    assert f"fairlead[{extra}]" in done.stderr


@pytest.mark.parametrize("line", FIRST_STEPS)
def test_what_the_readme_shows_first_needs_no_extra(line: str, tmp_path: Path) -> None:
    done = without_extras(command(line), tmp_path)
    assert done.returncode == 0, done.stderr
