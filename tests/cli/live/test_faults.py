"""What lies among the engine's records and is none: one attempt pays, and the log says so."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from fairlead.client import Client
from fairlead.model.job import Job
from tests.cli.live.place import Served, serving, until


def client_of(served: Served) -> Client:
    return Client(served.url, (served.state / "admin-token").read_text().strip())


@pytest.mark.parametrize("kind", ["folder", "text"])
def test_a_record_that_cannot_be_understood_loses_one_attempt_and_is_told(
    kind: str, tmp_path: Path
) -> None:
    with serving(tmp_path) as served:
        with client_of(served) as client:
            for name in ("pays", "goes-on"):
                job = Job(
                    name,
                    {"cpu": "0.1"},
                    tasks=1,
                    command=f"touch {tmp_path}/{name}; exec sleep 1000",
                    retries=0,
                )
                client.submit(job)
                until((tmp_path / name).exists)
        served.stop(signal.SIGINT)
    claim = served.state / "local" / "live" / "1.0.1.claim"
    claim.unlink()
    if kind == "folder":
        claim.mkdir()
    else:
        claim.write_text("none of ours\n")
    with serving(tmp_path, "--log", "few") as served:
        with client_of(served) as client:
            until(lambda: client.job("pays").tasks.failed == 1)
            assert client.job("goes-on").tasks.running == 1
            (task,) = client.tasks("pays")
            assert "its record was overwritten" in (task.attempts[-1].message or "")
            client.cancel_jobs("goes-on")
            until(lambda: client.job("goes-on").tasks.dropped == 1)
        _, rest = served.stop(signal.SIGINT)
    lines = [json.loads(line) for line in (*served.said, *rest.splitlines()) if line[:1] == "{"]
    told = [line["what"] for line in lines if line["event"] == "engine_fault"]
    assert len([each for each in told if str(claim) in each]) == 1
