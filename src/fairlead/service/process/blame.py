"""Requests of which a step failed: they are refused, and not tried again for a while."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from time import monotonic

from fairlead.service.failures import origin
from fairlead.service.requests import Refused, Request, SubmitJobs, Wrong

PAUSE = 60_000_000
"""Microseconds for which a request of which a step failed is not tried again: each time, the core
is made again of the journal, and everybody waits for that."""

FEW = 3
"""So many different requests of one sender that failed within that time are tried as they come:
for each tenant that they name, where the sender is none himself."""

MANY = 4 * FEW
"""So many of one sender are, whatever tenants they name."""

REST = 9
"""From then on others of the kind are tried for one part in so many and one of the time: whoever
sends ever other requests that fail, the loop is everybody else's for the rest."""

MOST = 64
"""Such requests that are remembered."""

WAIT = Refused(
    Wrong.TOO_MANY,
    "Fairlead failed at several requests like this of yours: others of the kind wait for a moment,"
    " as everybody does whenever that happens; ask again later",
)


@dataclass(frozen=True)
class _Failed:
    request: Request
    time: int
    error: str


class Blame:
    """Remembers which requests made a step fail. It knows them by what they ask for, whatever
    their idempotency key is. `clock`: seconds, by which others' waiting is measured."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self._failed: deque[_Failed] = deque(maxlen=MOST)
        self._rest = 0.0  # until then

    def note(self, request: Request, time: int, error: BaseException, began: float) -> Refused:
        """A step failed of this request, and of nothing else; everybody waits since it `began`.
        Returns the answer to it."""
        failed = _Failed(_without_key(request), time, type(error).__name__)
        self._failed.append(failed)
        now = self.clock()
        self._rest = now + REST * (now - began)
        return _refused(failed)

    def refusal(self, request: Request, time: int) -> Refused | None:
        """The same answer, where it is too soon to try that request again; or that others of its
        sender are to wait."""
        recent = [failed for failed in self._failed if 0 <= time - failed.time < PAUSE]
        asked = _without_key(request) if recent else request
        for failed in recent:
            if failed.request == asked:
                return _refused(failed)
        theirs = [each.request for each in recent if _are_of_one(each.request, request)]
        alike = sum(_are_alike(each, request) for each in theirs)
        long = alike >= FEW or len(theirs) >= MANY
        return WAIT if long and self.clock() < self._rest else None


def describe(request: Request, error: BaseException) -> str:
    """A line for the log: the kind of the request, of the error, and where it arose. What was
    asked for, and what the error quotes of it, is somebody's own."""
    return f"{type(request).__name__}: {origin(error)}"


def _are_of_one(one: Request, other: Request) -> bool:
    """Whether they are of a kind, and of one tenant or else of one token, or of none."""
    return _sender(one) == _sender(other) and type(one) is type(other)


def _sender(request: Request) -> tuple[str | None, str | None]:
    """The tenant; or else the token, which may have some tenant's name."""
    caller = request.caller
    return caller.tenant, caller.token if caller.tenant is None else None


def _are_alike(one: Request, other: Request) -> bool:
    """Whether two of one sender are about one tenant, or do not say about whom. Where nobody shows
    a token, or one program asks for all tenants, the others of them need not wait for one."""
    mine, theirs = _named(one), _named(other)
    return mine is None or theirs is None or not mine.isdisjoint(theirs)


def _named(request: Request) -> Set[str | None] | None:
    """The tenants that it names; None: the sender is one himself, or it names none."""
    if request.caller.tenant is not None or not isinstance(request, SubmitJobs):
        return None
    return {job.tenant for job in request.jobs}


def _refused(failed: _Failed) -> Refused:
    return Refused(
        Wrong.FAILED,
        f"Fairlead failed at this request ({failed.error}): nothing of it was done, and the same"
        f" one is not tried again for {PAUSE // 1_000_000} s; that is a mistake in Fairlead",
    )


def _without_key(request: Request) -> Request:
    return replace(request, key=None) if isinstance(request, SubmitJobs) else request
