"""Serving: what is closed where it cannot begin."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from fairlead.service.process.listening import UnboundError
from fairlead.service.process.server import Serving, serve
from tests.service.loop.stage import Stage


def test_the_service_is_closed_where_its_address_was_taken_meanwhile(tmp_path: Path) -> None:
    stage = Stage()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UnboundError):
            serve(Serving(service=stage.service, state=tmp_path, port=port))
    assert stage.place.writer is None
