"""`./check` installs the programs that tests start where it may, and goes on where it may not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROGRAMS = ("postgres", "chromium", "slurm")

MISSING = "; ".join(f"has_{each}() {{ return 1; }}" for each in PROGRAMS)
"""As on a machine without the programs."""

THERE = "; ".join(f"has_{each}() {{ return 0; }}" for each in PROGRAMS)


def need(before: str, tmp_path: Path, apt: str) -> tuple[list[str], str]:
    """What `need_programs` says, and what it asked of apt-get."""
    asked = tmp_path / "asked"
    asked.touch()
    stub = tmp_path / "apt-get"
    stub.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n{apt}\n')
    stub.chmod(0o755)
    # Its configuration is not this machine's.
    script = (ROOT / "scripts/programs.sh").read_text().replace("/etc/", f"{tmp_path}/etc/")
    program = f". scripts/environment.sh\n{script}\n{before}\nneed_programs\necho goes on"
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path),
             "BASH_ENV": "", "SHELLOPTS": "errexit:nounset:pipefail"},
    )  # fmt: skip
    assert done.stdout == "goes on\n", done.stderr
    return done.stderr.splitlines(), asked.read_text()


def test_nothing_is_said_where_it_is_there(tmp_path: Path) -> None:
    assert need(THERE, tmp_path, "exit 1") == ([], "")


def test_who_is_not_root_is_told_what_to_install(tmp_path: Path) -> None:
    said, asked = need(f"{MISSING}; id() {{ echo 1000; }}", tmp_path, "exit 1")
    packages = "postgresql chromium-headless-shell slurmctld slurmd slurm-client munge"
    assert f"apt-get install {packages}" in said[0]
    assert asked == ""


@pytest.mark.parametrize(("apt", "lines"), [("exit 0", 1), ("echo no network; exit 100", 3)])
def test_root_installs_it_and_goes_on_where_that_fails(
    tmp_path: Path, apt: str, lines: int
) -> None:
    said, asked = need(f"{MISSING}; id() {{ echo 0; }}", tmp_path, apt)
    assert said[0].startswith("Installing PostgreSQL Chromium Slurm")
    assert len(said) == lines
    assert asked.startswith("update\n")
    assert ("install --yes" in asked) is (apt == "exit 0")
    conf = tmp_path / "etc/postgresql-common/createcluster.conf"
    assert conf.read_text() == "create_main_cluster = false\n"


def test_what_is_there_is_not_installed_again(tmp_path: Path) -> None:
    said, asked = need(f"{THERE}; has_chromium() {{ return 1; }}; id() {{ echo 0; }}", tmp_path, "")
    assert said == ["Installing Chromium, which tests start (once; a minute)."]
    assert asked.splitlines()[1].endswith("confold chromium-headless-shell")
