"""The environment of a process that knows no service of whoever runs the tests."""

from __future__ import annotations

import os

from fairlead.compiled import VARIABLE


def without_service() -> dict[str, str]:
    """This process's variables, without Fairlead's own but for the one that says where compiled
    functions are kept: a process without it compiles all of them again."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FAIRLEAD_") or name == VARIABLE
    }
