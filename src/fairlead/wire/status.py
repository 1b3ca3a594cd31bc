"""Which service this is, and how it is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fairlead.wire.shape import Told


class Version(Told):
    """The service's version and that of its API."""

    schema_: Literal["fairlead.version/1"] = Field(default="fairlead.version/1", alias="schema")
    version: str
    api: Literal["v1"] = "v1"


class Health(Told):
    """The process answers."""

    ok: Literal[True] = True


class Ready(Told):
    """Whether new work is accepted; if not, why."""

    ready: bool
    why: str | None = None
