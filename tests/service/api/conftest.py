"""What the tests of the API share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.api.stage import Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A service on two machines, whose tasks run until they are stopped."""
    with Stage() as made:
        yield made
