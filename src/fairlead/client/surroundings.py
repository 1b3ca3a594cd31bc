"""What a job's environment has only because the whole environment of a task was copied into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.model.command import DEVICE_VARIABLES, OWN_VARIABLES


def without_surrounding(env: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The job's variables without those that say which task this program is in, where all of them
    were copied: `env=dict(os.environ)`. The job's tasks find their own. Who writes one of them into
    a job means it, and is refused by the service."""
    surrounding = OWN_VARIABLES & environ.keys()
    if not surrounding or any(env.get(name) != environ[name] for name in surrounding):
        return dict(env)
    said = surrounding | DEVICE_VARIABLES
    return {
        name: value for name, value in env.items() if name not in said or environ.get(name) != value
    }
