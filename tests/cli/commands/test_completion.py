"""`fairlead completion`: scripts that shells take, and what they offer."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead.cli.main import COMMANDS, main
from tests.surroundings import without_service
from tests.zygote.forked import asking


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A shell's variables, in which `fairlead` is ours, and no service is known."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "fairlead"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(asking("fairlead"))} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return without_service() | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


def completed(environ: dict[str, str], *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    script = (
        "set -u\n"
        'eval "$(fairlead completion bash)"\n'
        f"COMP_WORDS=({' '.join(map(quoted, words))})\n"
        f"COMP_CWORD={len(words) - 1}\n"
        "_fairlead\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "-c", script], env=environ, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def quoted(word: str) -> str:
    return f"'{word}'"


def test_bash_completes_commands(environ: dict[str, str]) -> None:
    assert set(completed(environ, "fairlead", "")) == set(COMMANDS)
    assert completed(environ, "fairlead", "dra") == ["drain"]


def test_bash_completes_options_and_actions(environ: dict[str, str]) -> None:
    assert completed(environ, "fairlead", "submit", "--time-") == ["--time-limit"]
    assert completed(environ, "fairlead", "token", "cr") == ["create"]
    assert completed(environ, "fairlead", "token", "create", "--ro") == ["--role"]


def test_without_a_service_no_name_is_offered_and_nothing_is_said(
    environ: dict[str, str],
) -> None:
    assert completed(environ, "fairlead", "job", "x") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [command for command in COMMANDS if command not in script] == []
    for option in ("time-limit", "budget", "behind-proxy"):
        assert option in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_can_read_the_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here: its script is not read by it")
    assert main(["completion", shell]) == 0
    file = tmp_path / "script"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    subprocess.run([program, "-n", str(file)], check=True, capture_output=True)
