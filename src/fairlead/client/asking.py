"""How a client asks: what it sends, and what comes back as a shape."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from pydantic import BaseModel, ValidationError

from fairlead.client.errors import AnswerError
from fairlead.client.places import Place, find_place
from fairlead.client.transport import Query, Transport

M = TypeVar("M", bound=BaseModel)

PAGE = 1000
"""Rows asked for at once. All pages are followed."""


class Asking:
    """A connection to a service, found by `find_place`, and the answers to what it is asked."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        ca: str | None = None,
        timeout: float = 30.0,
        patience: float = 0.0,
        place: Place | None = None,
        on_wait: Callable[[str], object] = lambda _: None,
    ) -> None:
        found = place or find_place(url, token, ca)
        self._transport = Transport(found, timeout, patience, on_wait)

    @property
    def place(self) -> Place:
        """The service that is asked; of several addresses, the one that leads."""
        return self._transport.place

    @property
    def age(self) -> float | None:
        """How old the last answer is, in seconds, where it came from a service that follows
        another one; None: it was of now."""
        return self._transport.age

    @property
    def now(self) -> float:
        """The service's time, in seconds since 1970, as far as its last answer tells: moments in
        its answers are of its clock."""
        return time.time() + self._transport.ahead

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(
        self,
        shape: type[M],
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        key: str | None = None,
        again: bool = False,
        good: tuple[int, ...] = (),
    ) -> M:
        tree = self._transport.ask(
            method, path, query=query, body=body, key=key, again=again, good=good
        )
        return self._parse(shape, tree)

    def _pages(self, shape: type[M], path: str, query: Query) -> Iterator[M]:
        cursor: str | None = None
        while True:
            page = self._ask(shape, "GET", path, query={**query, "cursor": cursor, "limit": PAGE})
            yield page
            cursor = getattr(page, "next", None)
            if cursor is None:
                return

    def _parse(self, shape: type[M], tree: object) -> M:
        try:
            return shape.model_validate(tree)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise AnswerError(
                f"{self.place.url} answers with something else than {shape.__name__}"
                f" ({where}: {first['msg']}); are the service and this client of one version?"
            ) from error
