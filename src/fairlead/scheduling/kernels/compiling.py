"""The one way in which a function is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

from fairlead.compiled import folder

# Before any function is decorated: Numba asks for the folder then.
numba.config.CACHE_DIR = str(folder())

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """The function, compiled when it is first called, and kept for other runs.

    Division by zero gives infinity, as in NumPy; no operation is reordered, so that the same
    input gives the same bits everywhere.
    """
    compiled: F = numba.njit(cache=True, error_model="numpy")(function)
    return compiled


def inner(function: F) -> F:
    """As `kernel`, but only kernels can call it: it compiles in half the time."""
    compiled: F = numba.njit(
        cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)
    return compiled
