"""What packaging/ holds agrees with the commands that it starts."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, parser_of
from fairlead.cli.serving.plan import plan_of
from tests.transcripts import ROOT

UNIT = ROOT / "packaging" / "fairlead.service"
CONTAINER = ROOT / "packaging" / "Containerfile"


def unit() -> RawConfigParser:
    found = RawConfigParser(strict=True)
    found.optionxform = str  # type: ignore[assignment,method-assign]  # systemd tells cases apart
    found.read_string(UNIT.read_text(encoding="utf-8"))
    return found


def test_the_unit_starts_a_service_that_there_is(tmp_path: Path) -> None:
    program, command, *words = shlex.split(unit()["Service"]["ExecStart"])
    assert (Path(program).name, command) == ("fairlead", "serve")
    (tmp_path / "config.yaml").write_text("listen: 127.0.0.1:7370\n", encoding="utf-8")
    args = parser_of("serve")[0].parse_args(words)
    args.config = str(tmp_path / "config.yaml")
    plan = plan_of(args)
    assert plan.state == Path("/", "var", "lib") / unit()["Service"]["StateDirectory"]


def test_a_restart_of_the_unit_leaves_tasks_alone_and_does_not_repeat_mistakes() -> None:
    service = unit()["Service"]
    assert service["KillMode"] == "process"
    assert int(service["RestartPreventExitStatus"]) == Exit.BAD_INPUT


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed here")
    # It wants the program to be there, which is not installed where the unit says.
    text = UNIT.read_text(encoding="utf-8").replace("/opt/fairlead/bin/fairlead", "/bin/true")
    file = tmp_path / UNIT.name
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_image_starts_a_service_that_there_is() -> None:
    text = CONTAINER.read_text(encoding="utf-8")
    found = re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert found is not None
    command, *words = json.loads(found[1])
    assert command == "serve"
    plan = plan_of(parser_of("serve")[0].parse_args(words))
    assert (plan.host, plan.port, plan.behind_proxy) == ("0.0.0.0", 7370, True)


def test_what_the_image_copies_is_there() -> None:
    text = CONTAINER.read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        *sources, _ = line.split()
        assert [source for source in sources if not (ROOT / source).exists()] == []
