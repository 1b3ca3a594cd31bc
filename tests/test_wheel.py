"""The wheel works where only the wheel is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fairlead.cli.main import COMMANDS
from fairlead.version import __version__
from tests.once import once

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = "Scripts" if os.name == "nt" else "bin"

CLUSTER = """\
machines:
  - {name: "a[1-2]", capacity: {cpu: 8, memory: 16GiB}}
jobs:
  - {name: left, demand: {cpu: 1, memory: 1GiB}}
  - {name: right, demand: {cpu: 1, memory: 1GiB}}
"""

EVERY_MODULE = """\
import importlib, pkgutil, fairlead
# What is only for an extra is neither imported nor walked into without it.
for module in pkgutil.walk_packages(fairlead.__path__, "fairlead.", lambda name: None):
    extras = ("fairlead.ray", "fairlead.engines.ray.", "fairlead.service.journal.postgres",
              "fairlead.service.signin.people", "fairlead.service.telemetry.")
    if not module.name.startswith(extras) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, in an environment that does not know the checkout."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "FAIRLEAD_DATA")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(there: Path) -> None:
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    run(sys.executable, "-m", "pip", "wheel", *options, "-w", there, ROOT, cwd=there)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the locked backend without asking an index for anything."""
    (built,) = once(tmp_path_factory, "wheel", build).glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which pip has installed the wheel, what it asks for, and
    the extras for simulations."""

    def install(there: Path) -> None:
        run(sys.executable, "-m", "venv", there / "venv", cwd=there)
        # As constraints, not requirements: the wheel itself must name what it needs. Without
        # hashes, or pip would want one for the wheel as well.
        versions = there / "versions.txt"
        lock = (ROOT / "requirements" / "development.txt").read_text(encoding="utf-8")
        versions.write_text(
            "\n".join(line.split()[0] for line in lock.splitlines() if "==" in line),
            encoding="utf-8",
        )
        # Python compiles what is imported when it is imported first: the rest, most of it, never.
        options = ["--quiet", "--no-input", "--no-compile", "--disable-pip-version-check"]
        options += ["--constraint", str(versions), f"{wheel}[report,simulation]"]
        run(there / "venv" / PROGRAMS / "python", "-m", "pip", "install", *options, cwd=there)

    return once(tmp_path_factory, "installed", install) / "venv" / PROGRAMS


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "fairlead"
    ours = {
        f"fairlead/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == ours
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_every_module_can_be_imported_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "python", "-c", EVERY_MODULE, cwd=tmp_path) == ""


def test_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "fairlead", "--version", cwd=tmp_path) == f"fairlead {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_installed_command_has_every_command(command: str, installed: Path, tmp_path: Path) -> None:
    assert f"fairlead {command}" in run(installed / "fairlead", command, "--help", cwd=tmp_path)


def test_installed_demo_shares_and_explains(installed: Path, tmp_path: Path) -> None:
    assert "share" in run(installed / "fairlead", "demo", cwd=tmp_path)


def test_installed_command_shares_a_file(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    answer = json.loads(
        run(installed / "fairlead", "allocate", "cluster.yaml", "--json", cwd=tmp_path)
    )
    assert [job["tasks"] for job in answer["jobs"]] == pytest.approx([8, 8])


@pytest.mark.parametrize("policy", ["market", "cmmf(cpu)"])
def test_installed_command_finds_its_other_solvers(
    policy: str, installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = ("allocate", "cluster.yaml", "--policy", policy, "--json")
    answer = json.loads(run(installed / "fairlead", *words, cwd=tmp_path))
    assert [job["tasks"] for job in answer["jobs"]] == pytest.approx([8, 8], rel=1e-6)
