"""Prints the kernels that Python calls and `warm` left out under each rule, and whether Numba has
loaded what no kernel needs: a process of its own, in which nothing else was compiled."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import sys
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

import fairlead.scheduling
from fairlead.scheduling.warming import warm

KERNELS = ("fairlead.scheduling.kernels.", "fairlead.scheduling.placement.")


def modules() -> list[ModuleType]:
    """All of the core, with `State`, which is Python among the kernels."""
    found = pkgutil.walk_packages(fairlead.scheduling.__path__, "fairlead.scheduling.")
    names = [each.name for each in found if not f"{each.name}.".startswith(KERNELS)]
    names.append("fairlead.scheduling.kernels.memory.state")
    return [importlib.import_module(name) for name in names]


def called() -> dict[str, Any]:
    """The compiled functions that Python names there, by their names."""
    found: dict[str, Any] = {}
    for module in modules():
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            value: object = None
            if isinstance(node, ast.Name):
                value = getattr(module, node.id, None)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = getattr(module, node.value.id, None)
                value = getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
            if isinstance(value, Dispatcher):
                found[value.py_func.__name__] = value
    return found


def missing(placement: str) -> list[str]:
    """What is left out by a rule."""
    warm(lambda _done, _total: None, placement)
    return sorted(name for name, function in called().items() if not function.overloads)


def main() -> None:
    """Warms by each of the rules that the command line names, in a fork: by one after the other
    the second would find what the first has compiled."""
    print("called", len(called()), flush=True)  # noqa: T201
    if "scipy.linalg" in sys.modules:
        print("the core loads SciPy's linear algebra", flush=True)  # noqa: T201
    for placement in sys.argv[1:]:
        if not os.fork():
            for name in missing(placement):
                print(f"{placement}: missing {name}", flush=True)  # noqa: T201
            os._exit(0)
        _, status = os.wait()
        assert status == 0, placement


if __name__ == "__main__":
    main()
