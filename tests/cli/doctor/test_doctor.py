"""`fairlead doctor`: each check where it holds and where it does not."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from jsonschema import Draft202012Validator

from fairlead.cli.commands import doctor
from fairlead.cli.doctor import machine
from fairlead.cli.doctor.finding import Finding, State, well
from fairlead.cli.doctor.registry import CHECKS
from fairlead.cli.main import Exit, main
from fairlead.engines.local import groups, hardware
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.places import open_store
from tests.service.signin.issuer import issuing
from tests.transcripts import ROOT

DAY = 86_400 * 10**6


class Doctor:
    """Asks for one check's finding, by the command."""

    def __init__(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.state = state
        self._capsys = capsys

    def tree(self, *words: str, code: int | None = None) -> dict[str, Any]:
        self._capsys.readouterr()
        got = main(["doctor", "--state", str(self.state), "--json", *words])
        tree = json.loads(self._capsys.readouterr().out)
        bad = any(each["state"] == "fails" for each in tree["checks"])
        assert got == (Exit.REFUTED if bad else Exit.OK)
        assert tree["ok"] is not bad
        assert code is None or got == code
        return dict(tree)

    def __call__(self, name: str, *words: str) -> Finding:
        (found,) = [each for each in self.tree(*words)["checks"] if each["name"] == name]
        finding = Finding(State(found["state"]), found["found"], found["advice"])
        assert bool(finding.advice) is (finding.state is not State.OK)
        return finding


@pytest.fixture(name="ask")
def fixture_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    for name in [name for name in os.environ if name.startswith("FAIRLEAD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    return Doctor(state, capsys)


def a_journal(state: Path, time: int) -> None:
    store = open_store(state)
    store.append([Entry(1, 1, time, "time_passed", {})])
    store.close()


def now() -> int:
    return time.time_ns() // 1000


def test_it_is_a_line_a_check_and_each_has_its_row_in_the_reference(
    ask: Doctor, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = ask.tree()
    schema = json.loads((ROOT / "src/fairlead/model/schemas/doctor-1.json").read_text())
    Draft202012Validator(schema).validate(tree)
    assert tree["schema"] == doctor.SCHEMA
    main(["doctor", "--state", str(ask.state)])
    lines = capsys.readouterr().out.splitlines()
    assert [re.match(r"(ok|warning|fails) +([a-z ]+):", line)[2] for line in lines] == [*CHECKS]  # type: ignore[index]
    reference = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    section = reference.partition("## `fairlead doctor")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z ]+)` \|", section, re.MULTILINE) == [*CHECKS]


def test_the_issuer_is_asked_for_its_keys(ask: Doctor, tmp_path: Path) -> None:
    assert ask("sign in").text == "no issuer is configured: all have tokens"
    file = tmp_path / "config.yaml"
    with issuing() as issuer:
        file.write_text(f"oidc: {{issuer: '{issuer.url}', audience: a, roles: {{x: admin}}}}\n")
        assert (
            ask("sign in", "--config", str(file)).text == f"{issuer.url} has 1 key that can be used"
        )
        issuer.keys = []
        found = ask("sign in", "--config", str(file))
        assert (found.state, "has no key that can be used" in found.text) == (State.FAILS, True)
    assert ask("sign in", "--config", str(file)).state is State.FAILS


def test_it_changes_nothing(ask: Doctor) -> None:
    a_journal(ask.state, now())

    def content() -> dict[str, bytes]:
        readers = (".db-wal", ".db-shm")  # which SQLite makes for whoever reads
        files = [path for path in ask.state.rglob("*") if path.is_file()]
        return {str(each): each.read_bytes() for each in files if not each.name.endswith(readers)}

    before = content()
    ask.tree()
    assert content() == before
    missing = ask.state / "deep" / "state"
    ask.state = missing
    ask.tree()
    assert not missing.parent.exists()


def test_options_that_cannot_be_are_refused(ask: Doctor) -> None:
    assert main(["doctor", "--state", str(ask.state), "--config", "nowhere.yaml"]) == Exit.BAD_INPUT


def test_state_folder(ask: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.cli.doctor.finding.Subject.user", 1000)
    assert ask("state folder").state is State.OK
    ask.state.chmod(0o755)
    open_ = ask("state folder")
    assert (open_.state, open_.advice) == (State.WARNING, f"chmod 700 {ask.state}")
    ask.state.rmdir()
    assert "first start makes it" in ask("state folder").text
    ask.state.write_text("")
    assert ask("state folder").state is State.FAILS


def test_state_folder_that_tasks_cannot_pass(ask: Doctor) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root's tasks run as others")
    with tempfile.TemporaryDirectory() as name:
        ask.state = Path(name, "state")
        ask.state.mkdir(mode=0o700)
        assert f"cannot pass {name}" in ask("state folder").text
        Path(name).chmod(0o711)
        assert f"cannot pass {name}" not in ask("state folder").text


def test_journal(ask: Doctor) -> None:
    assert ask("journal").state is State.OK
    a_journal(ask.state, now())
    assert "1 entry" in ask("journal").text
    (ask.state / "journal.db").chmod(0o644)
    assert "chmod 600" in ask("journal").advice
    (ask.state / "journal.db").chmod(0o600)
    (ask.state / "journal.db").write_bytes(b"")
    assert ask("journal").state is State.FAILS
    (ask.state / "journal.db").unlink()
    (ask.state / "admin-token").write_text("secret\n")
    gone = ask("journal")
    assert (gone.state, "the journal is gone" in gone.text) == (State.FAILS, True)


def test_journal_in_a_database_that_does_not_answer(ask: Doctor) -> None:
    found = ask("journal", "--journal", "postgresql://127.0.0.1:1/nobody")
    assert found.state is State.FAILS
    assert "PostgreSQL" in found.text or "cannot be used now" in found.text


def test_takeover(ask: Doctor) -> None:
    database = ("--journal", "postgresql://127.0.0.1:1/nobody")
    assert "--standby" in ask("takeover").text
    local = ask("takeover", *database)
    assert (local.state, local.advice) == (State.WARNING, "use --engine ray")
    started = ask("takeover", *database, "--engine", "ray")
    assert started.state is State.WARNING
    assert "--address" in started.advice
    config = ask.state / "serve.yaml"
    config.write_text("engine: ray\naddress: head:6379\n")
    assert ask("takeover", *database, "--config", str(config)).state is State.OK


def test_tokens(ask: Doctor) -> None:
    token = ask.state / "admin-token"
    token.write_text("secret\n")
    token.chmod(0o600)
    assert ask("tokens").state is State.OK
    token.chmod(0o640)
    found = ask("tokens")
    assert found.state is State.FAILS
    assert f"chmod 600 {token}" in found.advice


def test_engine(ask: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("engine").state is State.OK
    file = tmp_path / "cluster.yaml"
    file.write_text("machines:\n  - {name: a, capacity: {cpu: 1000000}}\n")
    assert ask("engine", "--cluster", str(file)).state is State.WARNING
    monkeypatch.setattr("fairlead.extras.find_spec", lambda _: None)
    missing = ask("engine", "--engine", "ray")
    assert missing.state is State.FAILS
    assert "fairlead[ray]" in missing.advice
    monkeypatch.setattr("fairlead.extras.find_spec", lambda _: object())
    assert ask("engine", "--engine", "ray").state is State.OK


def test_a_service_of_slurm_is_looked_at_by_the_options_that_it_has(
    ask: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked for a mode, and took none."""
    looked = []

    def look(_kind: object, mode: str, partition: str | None) -> tuple[str, list[str]]:
        looked.append((mode, partition))
        return "Slurm is well", []

    monkeypatch.setattr("fairlead.cli.doctor.state.look_at", look)
    slurm = ("--engine", "slurm", "--mode")
    assert ask("engine", *slurm, "place", "--partition", "fair").text == "Slurm is well"
    assert ask("users", *slurm, "place", "--partition", "fair").text.startswith("tasks are jobs of")
    assert ask("users", *slurm, "observe").text.startswith("no task runs here: Slurm runs the jobs")
    assert set(looked) == {("place", "fair"), ("observe", None)}


def test_users(ask: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def among(user: int, tenants: str) -> Finding:
        monkeypatch.setattr("fairlead.cli.doctor.finding.Subject.user", user)
        file = tmp_path / "cluster.yaml"
        file.write_text(f"machines:\n  - {{name: a, capacity: {{cpu: 1}}}}\ntenants: [{tenants}]\n")
        return ask("users", "--cluster", str(file))

    above = "{name: a, user: nobody}, {name: b, parent: a}"
    assert among(0, above).state is State.OK
    assert "who cannot become 'nobody'" in among(12345, above).text
    assert "no user 'xyzzy'" in among(0, "{name: a, user: xyzzy}").text
    assert among(0, "{name: a, user: nobody}, {name: c}").state is State.WARNING
    assert "all tasks run as root" in among(0, "").text
    assert among(12345, "").state is State.OK


def test_control_groups(ask: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    controllers = "cpu memory pids io"

    def found(_: str) -> groups.Groups:
        return groups.Groups(tmp_path / "none", frozenset(controllers.split()))

    monkeypatch.setattr(machine, "find", found)
    assert ask("control groups").state is State.OK
    controllers = "cpu"
    assert "limit no memory, no pids" in ask("control groups").text
    monkeypatch.setattr(machine, "find", lambda _: groups.NoGroups("none; do so and so"))
    none = ask("control groups")
    assert (none.state, none.text.startswith("none; do so")) == (State.WARNING, True)
    assert ask("control groups", "--engine", "ray").state is State.OK


@pytest.mark.parametrize(("had", "state"), [("cpu memory pids", State.OK), ("", State.WARNING)])
def test_control_groups_of_a_service_that_runs_are_its_own(
    had: str, state: State, ask: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of whoever asks say nothing of them."""
    (ask.state / "local").mkdir()
    (ask.state / "local" / "engine").write_text("0bc710215766 boot 1\n")
    monkeypatch.setattr("fairlead.cli.doctor.finding.Subject.process", os.getpid())
    monkeypatch.setattr(groups, "_mount", lambda: tmp_path)
    monkeypatch.setattr(groups, "_parents", lambda *_: iter([tmp_path]))
    group = tmp_path / "fairlead-0bc710215766"
    assert "no control groups for its tasks" in ask("control groups").text
    group.mkdir()
    (group / "cgroup.controllers").write_text(f"{had}\n")
    assert ask("control groups").state is state


@pytest.mark.parametrize(
    ("free", "limit", "state"),
    [
        (8 * 2**30, None, State.OK),
        (2**30, None, State.WARNING),
        (2**28, None, State.FAILS),
        (8 * 2**30, 2.0**28, State.FAILS),
    ],
)
def test_memory(
    free: int, limit: float | None, state: State, ask: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = psutil.virtual_memory()._replace(available=free)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(machine, "limit", lambda name: limit if name == "memory.max" else None)
    assert ask("memory").state is state


@pytest.mark.parametrize(
    ("allowed", "state"), [(None, State.OK), (4096.0, State.WARNING), (100.0, State.FAILS)]
)
def test_processes(
    allowed: float | None, state: State, ask: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "limit", lambda name: allowed if name == "pids.max" else None)
    monkeypatch.setattr(machine, "_ulimit", lambda *_: 100_000)
    assert ask("processes").state is state


@pytest.mark.parametrize(
    ("soft", "state"), [(400, State.FAILS), (1000, State.WARNING), (4096, State.OK)]
)
def test_open_files(soft: int, state: State, ask: Doctor) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        assert ask("open files").state is state
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("free", "whole", "names", "state"),
    [
        (2**40, 2**41, 1000, State.OK),
        (2**30, 2**41, 1000, State.WARNING),
        (2**20, 2**41, 1000, State.FAILS),
        (2**40, 2**41, 9, State.WARNING),
        (2**36, 2**36, 1000, State.WARNING),  # less than outputs may take
    ],
)
def test_disk(
    free: int, whole: int, names: int, state: State, ask: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=free, total=whole)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(
        os, "statvfs", lambda _: SimpleNamespace(f_files=1000, f_favail=names, f_flag=0)
    )
    assert ask("disk").state is state


@pytest.mark.parametrize(
    ("status", "state"), [(0, State.OK), (0x40 | 0x1, State.WARNING), (None, State.WARNING)]
)
def test_clock(
    status: int | None, state: State, ask: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "kernel_clock", lambda: status)
    a_journal(ask.state, now() - 3 * DAY)
    assert ask("clock").state is state


@pytest.mark.parametrize("off", [-400, 3])
def test_a_clock_that_is_far_from_the_journal(off: int, ask: Doctor) -> None:
    a_journal(ask.state, now() + off * DAY)
    found = ask("clock")
    assert found.state is State.FAILS
    assert f"{abs(off)} days" in found.text


def test_the_kernel_tells_of_its_clock() -> None:
    status = machine.kernel_clock()
    assert status is None or 0 <= status < 0x10000


def test_compiler_cache(ask: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "cache" / "compiled-1"
    monkeypatch.setattr("fairlead.compiled.folder", lambda: place)
    assert "nothing is compiled" in ask("compiler cache").text
    assert not place.exists()
    place.mkdir(parents=True)
    (place / "f.kernel").touch()
    assert ask("compiler cache") == well(f"compiled functions are kept in {place}")
    place.chmod(0o777)
    assert ask("compiler cache").text.startswith(f"others may write to {place}: what lies there is")
    place.chmod(0o755)
    for name in ("compiled-2", "compiled-3"):
        (place.parent / name / "of-numba").mkdir(parents=True)
        (place.parent / name / "of-numba" / "f.nbc").write_bytes(bytes(2**20))
        os.utime(place.parent / name, (0, now() // 10**6 - 40 * 86400))
    found = ask("compiler cache")
    assert found.state is State.OK
    assert "2 folders of other versions (2Mi, last used 40 days ago)" in found.text
    subprocess.run(["sh", "-c", found.text.split("`")[1]], check=True)
    assert [each.name for each in place.parent.iterdir()] == ["compiled-1"]
    shutil.rmtree(place.parent)
    place.parent.write_text("in the way")
    assert "every start compiles" in ask("compiler cache").text


def test_a_check_that_cannot_look_says_so_and_the_others_go_on(
    ask: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(hardware, "find", broken)
    assert "cannot be looked at" in ask("engine").text
    assert len(ask.tree(code=Exit.REFUTED)["checks"]) == len(CHECKS)
