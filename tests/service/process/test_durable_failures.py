"""The program fails at what is durable already: it says at which entry, and nothing is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fairlead.client.client import Client
from fairlead.client.errors import ServiceError
from fairlead.model.errors import InternalError
from fairlead.model.job import Job
from fairlead.service.journal.places import open_reader
from fairlead.service.loop import commit
from fairlead.service.mailbox import Mailbox
from fairlead.service.process.runner import Driven, Runner, explain_failure
from fairlead.service.recovery import recover
from fairlead.service.recovery.replay import replay
from fairlead.service.requests import Refused, Wrong
from tests.cli.live.place import CLUSTER, environment, fairlead, until
from tests.service.failing import POISON, failing_fold
from tests.service.loop.stage import Stage
from tests.service.process.test_blame import submits
from tests.service.process.test_runner import LONG, asked
from tests.zygote.forked import Forked


def test_an_entry_at_which_the_fold_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "fold", failing_fold)
    stage = Stage()
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, clock=lambda: stage.now)
    runner.start()
    asked(door, submits("before"))
    reply = asked(door, submits(POISON))
    assert isinstance(reply, Refused)
    assert (reply.wrong, reply.unknown) == (Wrong.UNAVAILABLE, True)
    assert runner.stop(LONG)
    assert runner.failure is not None
    failure = explain_failure(runner.failure)
    assert isinstance(failure, InternalError)
    (entry,) = [e for e in stage.entries("job_submitted") if e.body["job"]["name"] == POISON]
    named = f"entry {entry.seq} of the journal (job_submitted, job 'poison')"
    assert str(failure).startswith(named)
    assert "ZeroDivisionError at failing.py:" in str(failure)
    assert "secret" not in str(failure)
    assert isinstance(failure.__cause__, ZeroDivisionError)
    # And so it is at each start, until a version goes on from there, of which nothing is lost.
    monkeypatch.setattr(recover, "fold", failing_fold)
    with pytest.raises(InternalError) as found:
        stage.restart()
    assert str(found.value).startswith(named)
    monkeypatch.undo()
    stage.restart()
    stage.step()
    assert list(stage.service.records.names) == ["before", POISON]


def test_an_entry_at_which_the_core_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.step()
    stage.submit(stage_job := submits(POISON).jobs[0])
    taken = type(stage.service.core).apply  # type: ignore[union-attr]

    def apply(core: object, event: object) -> None:
        if getattr(event, "job", None) == stage_job:
            raise RecursionError
        taken(core, event)  # type: ignore[arg-type]

    entries = stage.entries()
    monkeypatch.setattr("fairlead.scheduling.core.Core.apply", apply)
    for failing in (stage.restart, lambda: replay(entries)):
        with pytest.raises(InternalError, match="job_submitted, job 'poison'"):
            failing()


def test_a_service_that_failed_at_what_is_durable_ends_and_says_so(tmp_path: Path) -> None:
    """It was never over: the sentence was looked through for what had caused itself."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = ["serve", "--cluster", "cluster.yaml", "--state", "state", "--no-auth"]
    words += ["--listen", "127.0.0.1:0"]
    address = tmp_path / "state" / "address"
    for number in range(2):
        process = Forked(
            ["tests.service.failing", *words],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            if number == 0:
                until(address.exists)
                with Client(address.read_text().strip(), patience=0) as client:
                    client.submit(Job("before", {"cpu": 1}, tasks=1, command="true"))
                    with pytest.raises(ServiceError):
                        client.submit(Job(POISON, {"cpu": 1}, tasks=1, command="true"))
            said, _ = process.communicate(timeout=LONG)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 70, said
        assert "(job_submitted, job 'poison')" in said
        assert "secret" not in said
        assert not address.exists()
    checked = fairlead(tmp_path, "journal", "check", "state")
    assert checked.returncode == 0, checked.stderr
    reader = open_reader(tmp_path / "state")
    jobs = [entry.body["job"]["name"] for entry in reader.read() if entry.kind == "job_submitted"]
    reader.close()
    assert jobs == ["before", POISON]
