"""Tokens, as the API shows them and makes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fairlead.wire.kinds import Role
from fairlead.wire.shape import Moment, RequestBody, ResponseBody

TokenName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
"""A token's name: it is shown wherever the token acted."""


class MakeToken(RequestBody):
    """A new token. `tenant` is needed for the role tenant, and for no other."""

    name: TokenName
    role: Annotated[Role, Field(strict=False)]
    tenant: str | None = None


class TokenRow(ResponseBody):
    """A token without its secret."""

    name: str
    role: Role
    tenant: str | None = None
    made: Moment | None = None


class MadeToken(TokenRow):
    """A new token. `token` is told this once."""

    schema_: Literal["fairlead.token/1"] = Field(default="fairlead.token/1", alias="schema")
    token: str


class Tokens(ResponseBody):
    """All tokens, by name."""

    schema_: Literal["fairlead.tokens/1"] = Field(default="fairlead.tokens/1", alias="schema")
    tokens: list[TokenRow]


REQUEST_HEADER = "Fairlead-Request"
"""Of a request that is to change something in a browser's session: `1`. No other page can send
it."""


LONGEST = 4000
"""Letters of what a cookie has room for."""


class SessionToken(RequestBody):
    """The one that signs in: a token, or the JWT of the issuer."""

    token: str = Field(min_length=1, max_length=LONGEST)


class SignIn(ResponseBody):
    """Where people sign in whose JWTs this service takes; null: it takes tokens alone. `client` is
    the client id with which `fairlead login` asks there, null where nobody may."""

    schema_: Literal["fairlead.signin/1"] = Field(default="fairlead.signin/1", alias="schema")
    issuer: str | None = None
    audience: str | None = None
    client: str | None = None
    scopes: list[str] = Field(default_factory=list)


class Me(ResponseBody):
    """Whose token this is, and the tenants that it may act on (null: all)."""

    schema_: Literal["fairlead.me/1"] = Field(default="fairlead.me/1", alias="schema")
    name: str | None
    role: Role
    tenant: str | None = None
    tenants: list[str] | None = None


class Session(ResponseBody):
    """Whose token the request shows, if any."""

    schema_: Literal["fairlead.session/1"] = Field(default="fairlead.session/1", alias="schema")
    me: Me | None = None
    graphs: str | None = Field(default=None, description="where graphs of the nodes are")
    addresses: list[str] = Field(
        default_factory=list, description="where this service and its standbys answer"
    )
