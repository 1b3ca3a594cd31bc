"""What is set up once for all tests of a folder, and goes with the last of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import pytest

T = TypeVar("T")


class Lasting(Generic[T]):
    """Something that is made where a test asks for it first, and ended when the process is done
    with the tests of that folder: a fixture for the whole run would be there, with all its
    processes, until the last test of all. Made anew where such a test comes again."""

    def __init__(self, make: Callable[[], T], end: Callable[[T], None]) -> None:
        self._make, self._end = make, end
        self._made: T | None = None

    def until_folder_is_done(self, request: pytest.FixtureRequest) -> T:
        """It, for a fixture of a test or of a module."""
        if self._made is None:
            self._made = self._make()
            node: pytest.Item | pytest.Collector = request.node
            folder = next(
                each for each in node.iter_parents() if isinstance(each, pytest.Directory)
            )
            folder.addfinalizer(self._finish)
        return self._made

    def _finish(self) -> None:
        made, self._made = self._made, None
        assert made is not None
        self._end(made)
