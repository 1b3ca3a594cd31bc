"""What a service leaves in its state folder while others wait for that."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from fairlead.cli.main import parser_of
from fairlead.cli.serving.plan import plan_of
from fairlead.cli.serving.run import serve_now
from fairlead.service.journal.sql import SqlStore
from tests.cli.live.place import CLUSTER

FILES = {"address", "process"}
"""What says where a service serves, and which process it is."""


def test_who_serves_is_forgotten_before_another_one_can_lead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever leads next writes down the same of himself, which nobody else may take away."""
    state, cluster = tmp_path / "state", tmp_path / "cluster.yaml"
    cluster.write_text(CLUSTER, encoding="utf-8")
    seen: list[set[str]] = []

    def see() -> None:
        seen.append({name for name in FILES if (state / name).exists()})

    close = SqlStore.close

    def let_go(store: SqlStore) -> None:
        see()
        close(store)

    monkeypatch.setattr(SqlStore, "close", let_go)

    def stop() -> None:
        see()
        os.kill(os.getpid(), signal.SIGTERM)

    parser, _ = parser_of("serve")
    words = ("--state", str(state), "--cluster", str(cluster), "--listen", "127.0.0.1:0")
    switching = sys.getswitchinterval()
    try:
        assert serve_now(plan_of(parser.parse_args(words)), stop) == 0
    finally:
        sys.setswitchinterval(switching)
    assert seen == [FILES, set()]
