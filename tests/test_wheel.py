"""The wheel works where only the wheel is installed."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution, distributions
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fairlead.cli.main import COMMANDS
from fairlead.version import __version__
from tests.once import once

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "fairlead"
PROGRAMS = "Scripts" if os.name == "nt" else "bin"

CLUSTER = """\
machines:
  - {name: "a[1-2]", capacity: {cpu: 8, memory: 16GiB}}
jobs:
  - {name: left, demand: {cpu: 1, memory: 1GiB}}
  - {name: right, demand: {cpu: 1, memory: 1GiB}}
"""

EXTRAS = (
    "fairlead.ray",
    "fairlead.engines.ray.",
    "fairlead.service.journal.postgres",
    "fairlead.service.signin.people",
    "fairlead.service.telemetry.",
)
"""What is only for an extra, and neither imported nor walked into without it."""

EVERY_MODULE = f"""\
import gc, importlib, pkgutil, fairlead
gc.disable()  # imports leave no garbage
for module in pkgutil.walk_packages(fairlead.__path__, "fairlead.", lambda name: None):
    if not module.name.startswith({EXTRAS!r}) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""

EVERY_COMMAND = """\
import sys
from fairlead.cli.main import main
for number, command in enumerate(sys.argv[1:]):
    print(end="\\0" if number else "")
    assert main([command, "--help"]) == 0, command
"""

PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"

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


def asked_for(wheel: Distribution, extras: tuple[str, ...]) -> dict[str, Distribution]:
    """What a wheel asks for, with these extras, and what that asks for: as this environment has it,
    by name. Whatever else there is here, the wheel does not name."""
    found: dict[str, Distribution] = {}
    left = [(wheel, extra) for extra in ("", *extras)]
    done: set[tuple[str, str]] = set()
    while left:
        one, extra = left.pop()
        for line in one.requires or ():
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                name = canonicalize_name(need.name)
                found[name] = distribution(name)
                assert found[name].version in need.specifier, line
                new = {(name, each) for each in ("", *need.extras)} - done
                left += [(found[name], each) for _, each in new]
                done |= new
    return found


def take_compiled(package: Path) -> None:
    """Gives each file what Python compiled of the same file of the checkout, where it did: to
    compile them all anew takes longer than to install them."""
    for file in package.rglob("*.py"):
        ours = PACKAGE / file.relative_to(package)
        known, there = (Path(cache_from_source(str(each))) for each in (ours, file))
        if known.exists() and file.read_bytes() == ours.read_bytes():
            found = ours.stat()  # by which Python knows that it is of this file
            os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
            there.parent.mkdir(exist_ok=True)
            shutil.copyfile(known, there)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel, what it asks for, and the extras for
    simulations. What it asks for is in the environment of the tests, and so is pip: they are
    linked and used, not unpacked again."""

    def install(there: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", there / "venv", cwd=there)
        python = there / "venv" / PROGRAMS / "python"
        options = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-deps")
        pip = (sys.executable, "-m", "pip", "--python", python)
        run(*pip, "install", *options, "--no-compile", wheel, cwd=there)
        packages = Path(run(python, "-c", PACKAGES, cwd=there).strip())
        (itself,) = distributions(name="fairlead", path=[str(packages)])
        for each in asked_for(itself, ("report", "simulation")).values():
            top = {file.parts[0] for file in each.files or () if file.parts[0] != ".."}
            for name in top - {"__pycache__"}:
                if not (packages / name).exists():
                    (packages / name).symlink_to(Path(str(each.locate_file(name))))
        take_compiled(packages / "fairlead")

    return once(tmp_path_factory, "installed", install) / "venv" / PROGRAMS


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        f"fairlead/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == ours
    assert any(name.endswith("licenses/LICENSE") for name in names)


def at_once(statements: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """What these statements import, but not what is for types alone."""
    for each in statements:
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield each
        elif isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING":
            yield from at_once(each.orelse)
        else:
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from at_once(getattr(each, part, ()))


DEFINED = re.compile(r"^(@|def |async def |class )", re.MULTILINE)
"""Where a module begins to define: the linter sees to it that it imports before."""


def imported_by(file: Path) -> set[str]:
    """The packages, ours apart, and ours as the modules they are."""
    names: set[str] = set()
    head = DEFINED.split(file.read_text(encoding="utf-8"), maxsplit=1)[0]
    for each in at_once(ast.parse(head).body):
        if isinstance(each, ast.Import):
            names |= {alias.name for alias in each.names}
        else:
            assert each.level == 0, file
            names.add(str(each.module))
    return {name if name.startswith("fairlead.") else name.partition(".")[0] for name in names}


def test_every_module_finds_what_it_imports_in_the_wheel_and_what_that_asks_for(
    installed: Path, tmp_path: Path
) -> None:
    packages = Path(run(installed / "python", "-c", PACKAGES, cwd=tmp_path).strip())
    there = {each.name.partition(".")[0] for each in packages.iterdir()}
    modules = 0
    for file in (packages / "fairlead").rglob("*.py"):
        name = ".".join(file.relative_to(packages).with_suffix("").parts)
        if name.startswith(EXTRAS) or name.endswith("__main__"):
            continue
        modules += 1
        for each in imported_by(file):
            if each.startswith("fairlead."):
                place = packages.joinpath(*each.split("."))
                assert place.with_suffix(".py").exists() or place.is_dir(), (name, each)
            else:
                assert each in there | sys.stdlib_module_names, (name, each)
    assert modules > 400


@pytest.mark.deep
def test_every_module_can_be_imported_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "python", "-c", EVERY_MODULE, cwd=tmp_path) == ""


def test_installed_command_says_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "fairlead", "--version", cwd=tmp_path) == f"fairlead {__version__}\n"


def test_installed_command_has_every_command(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "python", "-c", EVERY_COMMAND, *COMMANDS, cwd=tmp_path)
    said = dict(zip(COMMANDS, shown.split("\0"), strict=True))
    for command in COMMANDS:
        assert f"fairlead {command}" in said[command], command


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
