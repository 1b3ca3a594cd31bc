"""A journal that goes on where the tasks' engine is not: what must run once runs once."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.cli.serving.copies import check_original
from fairlead.client.client import Client
from fairlead.client.waiting import wait_for
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from tests.cli.live.place import CLUSTER, PATIENCE, Served, fairlead, serving, until


def submit_once(served: Served, folder: Path) -> int:
    """A task that must run once and runs; its process."""
    command = f"echo begin >>{folder}/ran; echo $$ >{folder}/new; mv {folder}/new {folder}/pid"
    with Client(served.url, (served.state / "admin-token").read_text().strip()) as client:
        client.submit(
            Job(
                "once", {"cpu": 1}, tasks=1, rerunnable=False, command=f"{command}; exec sleep 1000"
            )
        )
        until(lambda: (folder / "pid").exists() and client.job("once").tasks.running == 1)
    return int((folder / "pid").read_text())


@pytest.mark.parametrize("lost", ["another state folder", "local is removed"])
def test_what_must_run_once_does_so_whatever_folder_the_service_finds(
    lost: str, tmp_path: Path
) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with serving(tmp_path, "--cluster", "cluster.yaml") as served:
        pid = submit_once(served, tmp_path)
        served.process.kill()
        served.process.wait()
    try:
        words = ["--cluster", "cluster.yaml"]
        if lost == "local is removed":
            shutil.rmtree(served.state / "local")
            folder = tmp_path
        else:
            words += ["--journal", str(served.state / "journal.db")]
            folder = other
        with serving(folder, *words) as again:
            token = (again.state / "admin-token").read_text().strip()
            with Client(again.url, token) as client:
                *_, last = wait_for(client, ["once"], timeout=PATIENCE)
                assert last["once"].tasks.failed == 1
                (task,) = client.tasks("once")
                (attempt,) = task.attempts
                assert "perhaps it was started" in attempt.message
        assert (tmp_path / "ran").read_text() == "begin\n"
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_copy_of_a_state_folder_is_refused_until_an_operator_says_that_it_is_moved(
    tmp_path: Path,
) -> None:
    """It would stop the tasks that the original began since, and begin what waits in both twice."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = ["--cluster", "cluster.yaml"]
    copy = tmp_path / "copy"
    with serving(tmp_path, *words) as served:
        shutil.copytree(served.state, copy)
        pid = submit_once(served, tmp_path)
        before = sorted(path.name for path in copy.rglob("*"))
        refused = fairlead(
            tmp_path, "serve", *words, "--state", str(copy), "--listen", "127.0.0.1:0"
        )
        assert refused.returncode == 2
        assert f"{copy} is a copy, or was restored" in refused.stderr
        assert "say so once with --state-is-moved" in refused.stderr
        assert sorted(path.name for path in copy.rglob("*")) == before
        (copy / "original").write_bytes(bytes(8))  # as after a loss of power
        with pytest.raises(InputError, match="may be a copy, since `original` in it is damaged"):
            check_original(copy, is_moved=False)
        with Client(served.url, (served.state / "admin-token").read_text().strip()) as client:
            assert client.job("once").tasks.running == 1
        served.stop(signal.SIGKILL)
    try:
        shutil.rmtree(copy)
        shutil.copytree(tmp_path / "state", copy)
        shutil.rmtree(tmp_path / "state")
        copy.rename(tmp_path / "state")
        for more in (["--state-is-moved"], []):  # it is said once
            with serving(tmp_path, *words, *more) as served:
                token = (served.state / "admin-token").read_text().strip()
                with Client(served.url, token) as client:
                    assert client.job("once").tasks.running == 1
        assert (tmp_path / "ran").read_text() == "begin\n"
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
