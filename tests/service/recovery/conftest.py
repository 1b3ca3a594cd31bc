"""Journals of leaders and followers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.conftest import Databases


@pytest.fixture
def database(postgres: Databases) -> Iterator[str]:
    """An empty database."""
    url = postgres()
    yield url
    postgres.leave(url)
