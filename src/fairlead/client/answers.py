"""Answers that are no JSON: a part of an output, an event of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.wire.events import ServerEvent


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes of an output from `offset`; `size` is what there is so far, `over`: no more comes."""

    data: bytes
    offset: int
    size: int
    over: bool


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An event; or `gone`: some events are not told any more. `since` is what to go
    on from."""

    event: ServerEvent | None = None
    since: int | None = None
    gone: bool = False
