"""Processes of the tests: without a service of whoever runs them, or with another hash seed."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from fairlead.compiled import VARIABLE
from tests.zygote.forked import finished

ROOT = Path(__file__).resolve().parent.parent

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Whose certificates are believed where there is no TLS: to load what a system believes takes 20 ms
of the processor, for each request that has no client of its own."""


def without_service() -> dict[str, str]:
    """This process's variables, without Fairlead's own but for the one that says where compiled
    functions are kept: a process without it compiles all of them again."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FAIRLEAD_") or name == VARIABLE
    }


def said_under_another_hash_seed(*words: str) -> str:
    """What a program of ours says to these words (`Forked`) where sets are in another order than in
    this process, as in all that the zygote forks."""
    done = finished(words, ROOT, os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout
