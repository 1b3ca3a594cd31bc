"""The shape of a route: its address, its callers, and the bodies that go in and come out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairlead.wire.shape import RequestBody, ResponseBody


class Access(Enum):
    """A route's callers."""

    PUBLIC = "public"  # without a token
    SEE = "see"  # any token; what is not one's own is left out of the answer
    OWN = "own"  # admin, or a tenant for what is its own or of tenants below it
    ADMIN = "admin"


@dataclass(frozen=True)
class Route:
    """`at` is a method and an address, with `{…}` where names and numbers stand."""

    name: str
    at: str
    access: Access
    summary: str
    answer: type[ResponseBody] | None = None  # None: not JSON, `media` says what
    body: type[RequestBody] | None = None
    query: tuple[str, ...] = ()
    status: int = 200
    media: str = "application/json"
    owned: str | None = None  # by the owner of the `job` in the path, of the jobs in the `body`

    @property
    def method(self) -> str:
        return self.at.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.at.partition(" ")[2]


STREAM = "text/event-stream"
