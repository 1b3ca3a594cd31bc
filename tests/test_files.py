"""House rules that a linter does not know: sizes of files, and what no file may name."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent

LINES = {"src": 400, "benchmarks": 400, "scripts": 400, "tests": 800}

FOLDERS = ("home", "opt", "root", "tmp", "Users", "var", "work")
MACHINE_PATH = re.compile(rf"(?<![\w.~$}}/-])/(?:{'|'.join(FOLDERS)})/[\w.-]+")
"""A path that exists on somebody's machine only."""

INSTALLED = re.compile(r"/opt/fairlead|/var/(?:lib|cache)/fairlead")
"""Where the package for systemd and the container put Fairlead, on whosoever's machine."""


def tracked() -> list[Path]:
    """The project's files of text: those that git knows, and new ones that it would take."""
    done = subprocess.run(
        # CI may run as another user than the one who owns the checkout.
        [
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    paths = (ROOT / name for name in done.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file() and path.suffix != ".png")


FILES = tracked()


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", LINES)
def test_no_file_is_longer_than_one_thing(folder: str) -> None:
    longest = LINES[folder]
    inside = [path for path in FILES if path.is_relative_to(ROOT / folder) and path.suffix == ".py"]
    long = [str(path.relative_to(ROOT)) for path in inside if text(path).count("\n") > longest]
    assert long == []


def test_no_file_names_a_machines_paths() -> None:
    found = {
        str(path.relative_to(ROOT)): MACHINE_PATH.findall(INSTALLED.sub("", text(path)))
        for path in FILES
        if path != Path(__file__)
    }
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_how_to_cite_agrees_with_the_package() -> None:
    said = yaml.safe_load(text(ROOT / "CITATION.cff"))
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    assert said["title"].casefold() == f"fairlead: {project['description']}".casefold()
    assert said["license"] == project["license"]
    assert said["keywords"] == project["keywords"]
    assert said["authors"] == project["authors"]
    assert "version" not in said  # that is in one place alone


def test_locks_name_no_index() -> None:
    locks = [path for path in FILES if path.parent.name == "requirements"]
    assert locks
    assert [
        path.name for path in locks if re.search(r"https?:|file://|--\w*index", text(path))
    ] == []


def test_locks_agree_with_each_other() -> None:
    versions: dict[str, set[str]] = {}
    for path in FILES:
        if path.parent.name == "requirements":
            for name, version in re.findall(r"^([\w.-]+)==(\S+)", text(path), re.MULTILINE):
                versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_programs_of_the_checkout_can_be_run() -> None:
    for name in ("start", "check", ".ci/run", "scripts/lock"):
        assert (ROOT / name).stat().st_mode & 0o111, name
        assert text(ROOT / name).startswith("#!"), name
