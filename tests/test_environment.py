"""Setting up a checkout: which Python is taken, and what is said where none will do."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.install import COMPILER, blocks
from tests.test_imports import tops

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = "scripts/environment.sh"
TOOLS = ("bash", "cat", "cksum", "dirname", "readlink", "tail")


def shell(commands: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What bash says after it has read the script."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f". {SCRIPT}\n{commands}"],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the files that the environment is made from."""
    for name in (
        SCRIPT,
        "scripts/install.py",
        "requirements/runtime.txt",
        "pyproject.toml",
        "src/fairlead/version.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def program(path: Path, body: str) -> Path:
    """A script that stands for an interpreter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def environment(checkout: Path, pip: str) -> None:
    """A .venv that is there, whose pip does this; what it compiles is not looked at."""
    python = program(
        checkout / ".venv" / "bin" / "python-fake",
        f'''case "$*" in
          *" install "*) {pip};;
          *compile.py) echo 1 2;;
          scripts/*) exec "{sys.executable}" "$@";;
        esac''',
    )
    (checkout / ".venv" / "bin" / "python").symlink_to(python)


def only(folder: Path) -> str:
    """A PATH with what the script needs from the system, and no Python."""
    folder.mkdir(parents=True, exist_ok=True)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (folder / tool).symlink_to(found)
    return str(folder)


def test_named_python_is_taken(checkout: Path) -> None:
    assert shell("find_python", checkout, FAIRLEAD_PYTHON=sys.executable).stdout.strip() == (
        sys.executable
    )


def test_named_python_that_is_too_old_is_refused_with_a_sentence(checkout: Path) -> None:
    old = program(checkout / "old", "exit 1")
    done = shell("need_environment runtime", checkout, FAIRLEAD_PYTHON=str(old))
    assert done.returncode == 1
    assert f"FAIRLEAD_PYTHON is '{old}', which is not a Python of 3.11 or newer" in done.stderr
    assert not (checkout / ".venv").exists()


def test_missing_python_is_said_in_a_sentence(checkout: Path) -> None:
    path = only(checkout / "bin")
    done = shell("need_environment runtime", checkout, PATH=path, FAIRLEAD_PYTHON="")
    assert done.returncode == 1
    assert done.stderr == (
        "Fairlead needs Python 3.11 or newer, and none was found (there is no python3);"
        " install one, or set FAIRLEAD_PYTHON to its path.\n"
    )


def test_old_python_is_named_in_the_sentence(checkout: Path) -> None:
    path = only(checkout / "bin")
    program(checkout / "bin" / "python3", '[ "$1" = --version ] && echo Python 3.8.18 || exit 1')
    done = shell("need_environment runtime", checkout, PATH=path, FAIRLEAD_PYTHON="")
    assert "none was found (Python 3.8.18)" in done.stderr


@pytest.mark.parametrize(
    ("goods", "taken"), [((1, 2), 1), ((1, 1), 0), ((2, 2), 0), (("", 1), 1), ((1, ""), 0)]
)
def test_a_python_that_was_built_with_optimisations_is_taken_first(
    goods: tuple[int | str, ...], taken: int, checkout: Path
) -> None:
    folders = [checkout / "a b", checkout / "c"]
    for folder, good in zip(folders, goods, strict=True):
        program(folder / "python3", f"echo {good}; exit {int(good == '')}")
    path = ":".join([*map(str, folders), only(checkout / "bin")])
    done = shell("find_python", checkout, PATH=path, FAIRLEAD_PYTHON="")
    assert done.stdout.strip() == str(folders[taken] / "python3")


@pytest.mark.parametrize(
    ("prefix", "arguments", "has_pip", "good"),
    [
        ("/usr", "--enable-shared", True, "2"),  # a distribution's
        ("/usr", "--enable-shared", False, "1"),  # Debian's without python3-venv
        ("/a/.pyenv/versions/3.12.1", "--prefix=/a/.pyenv", True, "1"),
        ("/a/.pyenv/versions/3.12.1", "'--enable-optimizations' '--with-lto'", True, "2"),
        ("/a/python", None, True, "1"),
    ],
)
def test_how_good_a_python_is(
    prefix: str, arguments: str | None, has_pip: bool, good: str, checkout: Path
) -> None:
    world = f"""
import sys, sysconfig
sys.base_prefix = {prefix!r}
sysconfig.get_config_var = {{"CONFIG_ARGS": {arguments!r}}}.get
if not {has_pip}:
    sys.modules["ensurepip"] = None
"""
    command = f'{shlex.quote(sys.executable)} -c {shlex.quote(world)}"$HOW_GOOD"'
    assert shell(command, checkout).stdout.strip() == good


def test_environment_is_installed_once_and_again_when_a_lock_changes(checkout: Path) -> None:
    calls = checkout / "calls"
    environment(checkout, f'echo "$*" >>"{calls}"')

    def installs() -> int:
        done = shell("need_environment runtime", checkout)
        assert done.returncode == 0, done.stderr
        return calls.read_text(encoding="utf-8").count("--require-hashes")

    assert installs() == 2  # what the compiler needs, and all
    assert installs() == 2
    lock = checkout / "requirements" / "runtime.txt"
    lock.write_text(lock.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert installs() == 4


@pytest.mark.parametrize(
    ("words", "compiles"),
    [
        ("", True),
        ("--for 30s", True),
        ("start", True),
        ("serve", True),
        ("demo", False),
        ("allocate x.yaml", False),
        ("--version", False),
        ("--help", False),
    ],
)
def test_only_who_needs_the_compiler_waits_for_it(
    checkout: Path, words: str, compiles: bool
) -> None:
    calls = checkout / "calls"
    environment(checkout, "true")
    fake = checkout / ".venv" / "bin" / "python-fake"
    program(fake, fake.read_text(encoding="utf-8").replace("echo 1 2", f'echo "$*" >>"{calls}"'))
    shutil.copy(ROOT / "start", checkout / "start")
    done = shell(f"./start {words}", checkout)
    assert done.returncode == 0, done.stderr
    assert calls.exists() is compiles
    assert (checkout / ".venv" / "fairlead-runtime").exists()


def test_installation_says_what_it_does_in_a_pipe(checkout: Path) -> None:
    environment(checkout, "echo Collecting numpy==1; sleep 1; echo Installing collected packages")
    done = shell("need_environment runtime", checkout)
    assert done.returncode == 0, done.stderr
    assert "Installing what requirements/runtime.txt locks into .venv, once." in done.stderr
    assert re.search(r"^ +\d+ s  ", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stderr
    assert "\r" not in done.stderr


def test_failing_installation_says_what_pip_needs(checkout: Path) -> None:
    environment(checkout, 'echo "ERROR: no route to host"; exit 1')
    done = shell("need_environment runtime", checkout)
    assert done.returncode == 1
    assert "ERROR: no route to host" in done.stderr
    assert "pip needs to reach a package index the first time" in done.stderr
    assert not (checkout / ".venv" / "fairlead-runtime").exists()


def test_what_the_compiler_needs_first_is_locked() -> None:
    """And no more is imported while the rest is not there yet."""
    lock = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    assert set(COMPILER) <= set(blocks(lock))
    probe = "import sys, fairlead.scheduling.warming\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = tops(set(done.stdout.split()))
    # Where they are there, these are imported by the others, which do without.
    found -= {"scipy", "cffi", "pycparser", "charset_normalizer"}
    found.discard("sitecustomize")  # some distributions' Pythons begin with one
    assert found <= {"fairlead", "flint", "llvmlite", "numba", "numpy", "yaml"}


def test_who_comes_while_another_makes_the_environment_waits_for_it(checkout: Path) -> None:
    """Both made it at once, and each removed what the other had begun."""
    real = program(checkout / "real", f'exec "{sys.executable}" "$@"')
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(real)
    os.mkfifo(checkout / "go")
    commands = """
make_environment() { echo making >&2; cat go; fingerprint "$1" >".venv/fairlead-$1"; }
need_environment runtime
echo goes on
"""
    words = ["bash", "-euo", "pipefail", "-c", f". {SCRIPT}\n{commands}"]

    def begin() -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(words, cwd=checkout, stdout=pipe, stderr=pipe, encoding="utf-8")

    first = begin()
    assert first.stderr is not None
    assert first.stderr.readline() == "making\n"
    second = begin()
    assert second.stderr is not None
    said = "Another process makes .venv ready; this one goes on when that is done.\n"
    assert second.stderr.readline() == said
    (checkout / "go").write_text("", encoding="utf-8")
    for each in (first, second):
        assert each.communicate(timeout=300) == ("goes on\n", "")
        assert each.returncode == 0


def test_a_process_that_goes_on_keeps_no_lock(checkout: Path) -> None:
    """`./start` becomes the service: the next one would wait for as long as that runs."""
    real = program(checkout / "real", f'exec "{sys.executable}" "$@"')
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(real)
    commands = "make_environment() { :; }\nneed_environment runtime\n"
    look = "import fcntl, os; f = os.open('.', 0); fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    done = shell(f'{commands}"{sys.executable}" -c "{look}"', checkout)
    assert (done.returncode, done.stderr) == (0, "")
