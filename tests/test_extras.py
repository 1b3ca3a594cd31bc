"""What is not installed is named with the extra that brings it, wherever it is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

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
    f"audit {FIRST}/cluster.yaml {FIRST}/jobs.yaml --property envy-freeness,resource-monotonicity",
    "policies",
    "serve --help",
)


IMPORTS = """
import importlib, fairlead
for ask in (lambda: fairlead.simulate, lambda: importlib.import_module("fairlead.ray")):
    try:
        ask()
    except Exception as error:
        print(error)
"""
COMMANDS = """
import io, json
from contextlib import redirect_stderr, redirect_stdout
from fairlead.cli.main import main
for line in {lines!r}:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(line.split())
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
"""Runs commands one after another. What is hidden is hidden from each: none leaves to the next
what it could not import."""


def said(lines: Iterable[str], folder: Path) -> tuple[list[str], list[tuple[int, str, str]]]:
    """What Python says that imports, and then of each command how it ends, and what it prints on
    stdout and stderr: where no extra is installed, in one process, as most of it is its start."""
    code = WITHOUT.format(hidden=set(EXTRAS)) + IMPORTS + COMMANDS.format(lines=list(lines))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    simulation, ray, *commands = done.stdout.splitlines()
    return [simulation, ray], [tuple(json.loads(line)) for line in commands]


def test_each_extra_of_the_project_is_named_for_a_package_that_it_brings() -> None:
    extras = TABLE["optional-dependencies"]
    assert {extra for extra, _ in EXTRAS.values()} == set(extras)
    for package, (extra, _) in EXTRAS.items():
        name = package.replace(".", "-")
        assert any(each.startswith(name) for each in extras[extra])
        assert not any(each.startswith(name) for each in TABLE["dependencies"])


def test_python_and_commands_name_the_extra_and_what_the_readme_shows_first_needs_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "oidc.yaml").write_text(OIDC, encoding="utf-8")
    lines = (*FIRST_STEPS, *ASKED)
    (simulation, ray), commands = said(lines, tmp_path)
    assert "fairlead[simulation]" in simulation
    assert "fairlead[ray]" in ray
    for line, (code, out, err) in zip(lines, commands, strict=True):
        if line in FIRST_STEPS:
            assert code == 0, f"{line}: {err}"
            continue
        assert code == 2, f"{line}: {err}"
        assert f"pip install 'fairlead[{ASKED[line]}]'" in err, line
        assert out == "", line
