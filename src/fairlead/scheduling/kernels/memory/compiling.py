"""The one way in which a function is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types

from fairlead.compiled import folder

# Before any function is decorated: Numba asks for the folder then.
numba.config.CACHE_DIR = str(folder())

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """The function, compiled when it is first called, and kept for other runs.

    Division by zero gives infinity, as in NumPy; no operation is reordered, so that the same
    input gives the same bits everywhere.
    """
    return _once(numba.njit(cache=True, error_model="numpy")(function))


def inner(function: F) -> F:
    """As `kernel`, but only kernels can call it: it compiles in half the time."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return _once(numba.njit(cache=True, error_model="numpy", **options)(function))


def small(function: F) -> F:
    """As `inner`, and each caller has it within itself."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    return _once(numba.njit(cache=True, error_model="numpy", **options)(function))


def _once(compiled: Any) -> Any:
    """The function, compiled once for all integers that kernels hand it.

    Numba would compile it for 32 bits, for 64, and for every constant: a third of all compiling.
    """
    find = compiled.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return find(tuple(_wide(kind) for kind in args), kws)

    compiled.get_call_template = get_call_template
    return compiled


def _wide(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind
