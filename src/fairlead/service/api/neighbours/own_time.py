"""What work cost whoever asked for it, in processor time."""

from __future__ import annotations

import gc
from threading import get_ident
from time import thread_time

_began = 0.0
_spent: dict[int, float] = {}  # by thread


def own_time() -> float:
    """Processor time of this thread, less what looking for garbage took in it: that goes through
    what everybody made, in the thread that happens to make the last of it. Nor does it count what
    was waited for others in the one interpreter."""
    if _note not in gc.callbacks:
        gc.callbacks.append(_note)
    return thread_time() - _spent.get(get_ident(), 0.0)


def _note(phase: str, _info: object) -> None:
    global _began  # noqa: PLW0603  one look at a time, in one thread
    if phase == "start":
        _began = thread_time()
    else:
        _spent[get_ident()] = _spent.get(get_ident(), 0.0) + thread_time() - _began
