"""Which service this is, and how it is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fairlead.wire.shape import ResponseBody


class Version(ResponseBody):
    """The service's version and that of its API."""

    schema_: Literal["fairlead.version/1"] = Field(default="fairlead.version/1", alias="schema")
    version: str
    api: Literal["v1"] = "v1"


class Health(ResponseBody):
    """The process answers."""

    ok: Literal[True] = True


class Ready(ResponseBody):
    """Whether new work is accepted; if not, why."""

    ready: bool
    why: str | None = None
