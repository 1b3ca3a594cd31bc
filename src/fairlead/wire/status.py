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
    """Whether new work is accepted; if not, why, to who shows a token. A service that follows
    another one never accepts any."""

    ready: bool
    why: str | None = None
    leads: bool = True
    leader: str | None = Field(default=None, description="where the leader answers, if known")
    age: float | None = Field(
        default=None, description="seconds since a follower knew all that the journal held"
    )


AGE_HEADER = "Fairlead-Age"
"""Of every answer of a follower, and of a leader that cannot know whether it still leads: the
seconds since it knew all that the journal held."""

LEADER_HEADER = "Fairlead-Leader"
"""Of every answer of a follower: the address at which the leader answers, if it is known."""
