"""The Python client of a running service.

>>> from fairlead.client import Client
>>> with Client() as client:
...     [job.name for job in client.jobs()]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.client.answers import Output as Output
    from fairlead.client.answers import ServiceEvent as ServiceEvent
    from fairlead.client.client import Client as Client
    from fairlead.client.errors import AnswerError as AnswerError
    from fairlead.client.errors import BusyError as BusyError
    from fairlead.client.errors import FailedError as FailedError
    from fairlead.client.errors import NotAllowedError as NotAllowedError
    from fairlead.client.errors import RefusedError as RefusedError
    from fairlead.client.errors import ServiceError as ServiceError
    from fairlead.client.errors import UnknownNameError as UnknownNameError
    from fairlead.client.errors import UnreachableError as UnreachableError
    from fairlead.client.places import Place as Place
    from fairlead.client.places import find_place as find_place
    from fairlead.client.waiting import wait_for as wait_for

# As in `fairlead` itself: the command line names the errors without loading HTTP.
_HOME = {
    "AnswerError": "errors",
    "BusyError": "errors",
    "Client": "client",
    "FailedError": "errors",
    "NotAllowedError": "errors",
    "Output": "answers",
    "Place": "places",
    "RefusedError": "errors",
    "ServiceError": "errors",
    "ServiceEvent": "answers",
    "UnknownNameError": "errors",
    "UnreachableError": "errors",
    "find_place": "places",
    "wait_for": "waiting",
}

__all__ = sorted(_HOME)  # noqa: PLE0605  one list of names, not two


def __getattr__(name: str) -> object:
    """The public name, imported when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'fairlead.client' has no attribute {name!r}")
    value: object = getattr(import_module(f"fairlead.client.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
