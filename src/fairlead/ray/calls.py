"""Remote functions, and what is asked of their futures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import ray
from ray import cloudpickle, exceptions

from fairlead.model.errors import InputError
from fairlead.ray.batch import Batch
from fairlead.ray.connection import Connection
from fairlead.ray.errors import CallError
from fairlead.ray.future import Future
from fairlead.ray.options import Options, options_of

_lock = threading.Lock()
_connections: list[Connection] = []


def init(
    url: str | None = None,
    token: str | None = None,
    *,
    ca: str | None = None,
    address: str | None = None,
    **more: Any,
) -> None:
    """Says which service to use: as `fairlead.client` finds it, where nothing is said. `address`:
    the Ray cluster to join as well, so that large values go through its object store (`more` is
    for `ray.init`). Not needed where the defaults do."""
    with _lock:
        if _connections:
            raise CallError("there is a connection already: call shutdown() first")
        if address is not None and not ray.is_initialized():
            ray.init(address=address, **more)
        _connections.append(Connection(url, token, ca))


def shutdown() -> None:
    """Lets go of the service. What was submitted goes on."""
    with _lock:
        while _connections:
            _connections.pop().close()


def _connection() -> Connection:
    with _lock:
        if not _connections:
            _connections.append(Connection(None, None, None))
        return _connections[0]


class RemoteFunction:
    """A function whose calls are tasks in the fair queue."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self._function = function
        self._options = options
        self._pickled: bytes | None = None
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = function.__doc__

    def __call__(self, *_: Any, **__: Any) -> Any:
        """As with Ray, a remote function is not called like any other."""
        raise TypeError(f"write {self.__name__}.submit(...) to run it on the cluster")

    def options(self, **given: Any) -> RemoteFunction:
        """The same function with other options. Raises InputError."""
        return RemoteFunction(self._function, options_of(self._options, given))

    def submit(self, *args: Any, **kwargs: Any) -> Future:
        """Submits one call: a job of one task. Many calls in a row go in one request."""
        (future,) = _connection().submit(
            self._data(), self.__name__, self._options, [(args, kwargs)]
        )
        return future

    def remote(self, *args: Any, **kwargs: Any) -> Future:
        """As `submit`, in Ray's word."""
        return self.submit(*args, **kwargs)

    def map(self, *iterables: Iterable[Any], together: int | None = None) -> Batch:
        """Submits a call for each item (with several iterables: for each of their items together,
        as the built-in `map` does). With `together`: one job with a task for so many of them,
        called one after the other; 1 is a task each. Without it the first calls are a task each and
        are measured; of the others so many are one as take about a tenth of a second, where
        `portions.worthwhile` says so. Raises InputError.

        Each call has its own result, or error. What befalls a task befalls all of its calls: it is
        tried again as a whole, and its time limit is theirs together."""
        if together is not None and together < 1:
            raise InputError(f"{together!r} calls make no task", "write together=100")
        calls: list[tuple[Any, Any]] = [(items, {}) for items in zip(*iterables, strict=False)]
        if not calls:
            return Batch([])
        return Batch(
            _connection().submit(self._data(), self.__name__, self._options, calls, together)
        )

    def _data(self) -> bytes:
        # As Ray does: what the function refers to is taken as it is at the first call.
        if self._pickled is None:
            self._pickled = cloudpickle.dumps(self._function)
        return self._pickled


@overload
def remote(function: Callable[..., Any], /) -> RemoteFunction: ...
@overload
def remote(**given: Any) -> Callable[[Callable[..., Any]], RemoteFunction]: ...
def remote(*args: Any, **given: Any) -> Any:
    """Makes a function remote: `@remote`, or `@remote(num_cpus=2, where="zone = east")` with the
    words of `Options`. Raises InputError."""
    if len(args) == 1 and not given and callable(args[0]):
        return _make_remote(args[0], Options())
    if args:
        raise InputError("remote takes options by name", "write @remote(num_cpus=2)")
    options = options_of(Options(), given)
    return lambda function: _make_remote(function, options)


def _make_remote(function: Callable[..., Any], options: Options) -> RemoteFunction:
    if isinstance(function, type):
        raise InputError(
            f"{function.__name__} is a class, and Fairlead queues functions, not actors",
            "make a function of it, or leave it to Ray on machines that are not shared",
        )
    return RemoteFunction(function, options)


def get(futures: Future | Sequence[Future] | Batch, timeout: float | None = None) -> Any:
    """The result of a future, or of each of several. Raises what a call raised."""
    if isinstance(futures, Future):
        return futures.result(timeout)
    several = futures.futures if isinstance(futures, Batch) else list(futures)
    return Batch(several).results(timeout)


def wait(
    futures: Sequence[Future], *, num_returns: int = 1, timeout: float | None = None
) -> tuple[list[Future], list[Future]]:
    """Those that are over, `num_returns` of them once so many are, and the others."""
    over = threading.Semaphore(0)
    for future in futures:
        future.listeners.append(lambda _: over.release())
    end = None if timeout is None else time.monotonic() + timeout
    while sum(future.done() for future in futures) < num_returns:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            break
        # A future may have been settled while its listener was being added.
        over.acquire(timeout=0.05 if left is None else min(0.05, left))
    done = [future for future in futures if future.done()][:num_returns]
    chosen = set(map(id, done))
    return done, [future for future in futures if id(future) not in chosen]


def as_completed(futures: Sequence[Future], timeout: float | None = None) -> Iterator[Future]:
    """The futures as they come to be over. Raises GetTimeoutError."""
    end = None if timeout is None else time.monotonic() + timeout
    rest = list(futures)
    while rest:
        left = None if end is None else max(0.0, end - time.monotonic())
        done, rest = wait(rest, timeout=left)
        if not done:
            raise exceptions.GetTimeoutError(
                f"{len(rest)} have not finished after {timeout} seconds"
            )
        yield from done


def cancel(future: Future) -> bool:
    """Cancels the job of a future; whether that could still be asked."""
    return future.cancel()
