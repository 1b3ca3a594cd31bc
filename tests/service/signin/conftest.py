"""What the tests of the sign-in share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fairlead.service.api.settings import ApiSettings
from fairlead.service.signin.settings import SignInSettings
from fairlead.wire.kinds import Role
from tests.service.api.stage import Stage
from tests.service.signin.issuer import CLIENT, Issuer, issuing

ROLES = {"admins": Role.ADMIN, "researchers": Role.TENANT, "guests": Role.VIEWER}


def settings_of(issuer: Issuer, **more: Any) -> SignInSettings:
    """The settings of a service that believes this issuer."""
    said = {"issuer": issuer.url, "audience": "fairlead", "client": CLIENT, "roles": ROLES}
    return SignInSettings(**(said | more))


@contextmanager
def staged(issuer: Issuer, api: ApiSettings | None = None, **more: Any) -> Iterator[Stage]:
    """A service that believes the issuer, whose clock is the service's."""
    with Stage(settings=api, sign_in=settings_of(issuer, **more)) as made:
        issuer.now = lambda: made.now / 1e6
        yield made


@pytest.fixture
def stage(issuer: Issuer) -> Iterator[Stage]:
    """A service that believes the issuer."""
    with staged(issuer) as made:
        yield made


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer that listens."""
    with issuing() as one:
        yield one
