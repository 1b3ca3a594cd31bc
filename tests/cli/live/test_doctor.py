"""`fairlead doctor` beside a service that runs, and one that does not answer."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.client import Client
from fairlead.wire.status import Ready
from tests.cli.live.place import PATIENCE, serving

ASKED = "fairlead.cli.doctor.service.PATIENCE"


def test_a_service_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ASKED, PATIENCE)

    def told(state: Path) -> tuple[str, str]:
        capsys.readouterr()
        main(["doctor", "--state", str(state), "--json"])
        tree = json.loads(capsys.readouterr().out)
        (found,) = [each for each in tree["checks"] if each["name"] == "service"]
        return found["state"], found["found"]

    with serving(tmp_path) as served:
        state, text = told(served.state)
        assert state == "ok"
        assert served.url in text
        os.kill(served.process.pid, signal.SIGSTOP)
        try:
            with monkeypatch.context() as patched:
                patched.setattr(ASKED, 0.2)  # it does not answer, however long one waits
                assert told(served.state)[0] == "fails"
        finally:
            os.kill(served.process.pid, signal.SIGCONT)
        with monkeypatch.context() as patched:
            away = Ready(ready=False, why="the engine is away")
            patched.setattr(Client, "ready", lambda _: away)
            assert told(served.state) == (
                "fails",
                f"process {served.process.pid} takes no work now: the engine is away",
            )
        served.stop(signal.SIGINT)
        state, text = told(served.state)
        assert state == "warning"
        assert "no service runs here" in text
