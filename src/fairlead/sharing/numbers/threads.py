"""Matrix products on one thread: the same digits on any machine, and no waiting for cores."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

# As NumPy's wheels and other builds of OpenBLAS name it.
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


@cache
def _openblas() -> tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer] | None:
    """The functions that ask for and set the number of threads; None where NumPy uses something
    else."""
    library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            try:
                return (
                    getattr(library, f"{prefix}_get_num_threads{suffix}"),
                    getattr(library, f"{prefix}_set_num_threads{suffix}"),
                )
            except AttributeError:
                continue
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, matrix products run on one thread.

    How a sum is split among threads changes its last digits, so an answer would depend on the
    number of cores. And threads that wait for each other lose more than they gain: a product of
    5,000 x 400 takes 12 ms on one thread, 110 ms on two of a machine with other work.
    """
    found = _openblas()
    if found is None:
        yield
        return
    ask, choose = found
    before = ask()
    choose(1)
    try:
        yield
    finally:
        choose(before)
