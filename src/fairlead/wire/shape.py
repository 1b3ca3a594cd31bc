"""Bases and amounts of all requests and answers of the service's API."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MOST = 2**53 - 1
"""No number in JSON is larger: beyond it, programs that read doubles lose digits."""

Count = Annotated[int, Field(ge=0, le=MOST)]
"""A number of things."""

Moment = Annotated[int, Field(ge=0, le=MOST, description="microseconds since 1970, UTC")]
"""When something was."""

Amounts = dict[str, str]
"""Resources with their amounts, each an exact decimal as text: `{"cpu": "0.5"}`."""


class RequestBody(BaseModel):
    """A client's request. A field that is not known is a mistake, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ResponseBody(BaseModel):
    """The service's answer. Within a version of a schema, fields may be added: a client leaves
    alone what it does not know."""

    model_config = ConfigDict(extra="ignore", frozen=True, serialize_by_alias=True)
