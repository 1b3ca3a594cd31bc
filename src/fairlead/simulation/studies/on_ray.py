"""A function over parts on a Ray cluster: the one that RAY_ADDRESS names, or one begun here."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from fairlead.extras import missing
from fairlead.model.errors import InputError, InternalError

_Part = TypeVar("_Part")
_Done = TypeVar("_Done")


@contextmanager
def joined(most: int | None = None) -> Iterator[Cluster]:
    """Connects to the cluster; without RAY_ADDRESS one of this machine, of `most` cores at most, is
    begun for as long as this takes. Raises InputError where it cannot be reached."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise missing(error) or error from error
    begun = not ray.is_initialized()
    if begun:
        _join(ray, most)
    try:
        yield Cluster(ray)
    finally:
        if begun:
            ray.shutdown()


class Cluster:
    """Applies a function to parts on the cluster, and yields the place of each with what came out,
    as soon as it is there. The function stands at the top of a module. `cores`: of all of it."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.cores = int(ray.cluster_resources().get("CPU", 1))

    def __call__(
        self, function: Callable[[_Part], _Done], parts: Sequence[_Part], /
    ) -> Iterator[tuple[int, _Done]]:
        ray = self._ray
        # A node that is lost is no fault of the part's, which is done again. What fails in a part
        # would fail the same way.
        remote = ray.remote(max_retries=3, retry_exceptions=False)(function)
        waiting = {remote.remote(part): place for place, part in enumerate(parts)}
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            place = waiting.pop(ready[0])
            try:
                done = ray.get(ready[0])
            except ray.exceptions.RayTaskError as error:
                cause: BaseException = error.cause  # a user's mistake must be shown as one
                raise cause from error
            except ray.exceptions.RayError as error:
                first = str(error).strip().partition("\n")[0]
                raise InternalError(f"a run on Ray came to nothing: {first}") from error
            yield place, done


def _join(ray: Any, most: int | None) -> None:
    address = os.environ.get("RAY_ADDRESS")
    size = {} if address or most is None else {"num_cpus": most}
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
    try:
        # Without an address Ray would look for a cluster that once was begun on this machine.
        ray.init(address or "local", **quiet, **size)
    except (ConnectionError, RuntimeError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"Ray cannot be reached at {address or 'this machine'}: {first}",
            "let RAY_ADDRESS name a cluster that runs, or leave it out to begin one here",
        ) from error
