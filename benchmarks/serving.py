"""A service in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(state: Path, *words: str) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """The service that `fairlead serve` with these words is, once it serves: its address, the
    administrator's token and its process. It is ended in the end."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "fairlead", "serve", *words, "--state", str(state)),
            *("--listen", "127.0.0.1:0", "--log", "off"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None  # it was asked for
        said = server.stdout.readline()
        if not said.startswith("serving"):
            raise RuntimeError(f"the service said {said!r}")
        threading.Thread(target=server.stdout.read, daemon=True).start()
        yield said.split()[-1], (state / "admin-token").read_text().strip(), server
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
