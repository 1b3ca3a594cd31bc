"""Where whole-task mechanisms are found by what a user writes, as in `gim-cdrf(seed=3)`."""

from __future__ import annotations

import importlib
import inspect
from functools import partial
from typing import TYPE_CHECKING

from fairlead.sharing.spec import Spec, arguments, form, read, write

if TYPE_CHECKING:
    from fairlead.sharing.integral.outcome import WholeMechanism

# Read only when somebody asks for them: they bring compiled code and solvers.
WHOLE = {
    "cdrf-lottery": ("approximations", "cdrf_lottery"),
    "gim-cdrf": ("approximations", "gim_cdrf"),
    "shapley-folkman": ("approximations", "shapley_folkman"),
    "moving-knife": ("comparison", "moving_knife"),
    "serial-dictatorship": ("comparison", "serial_dictatorship"),
}


def whole_names() -> tuple[str, ...]:
    """The mechanisms for whole tasks, in the order of the reference."""
    return tuple(WHOLE)


def is_whole(text: str) -> bool:
    """Whether that is a mechanism for whole tasks, with or without parameters."""
    return text.partition("(")[0].strip() in WHOLE


def parse_whole(text: str) -> WholeMechanism:
    """The mechanism that a user means. Refuses parameters that it does not have."""
    from fairlead.sharing.integral.outcome import WholeMechanism

    spec = read(text)
    function = _function(spec.name)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    values = arguments(spec, parameters)
    return WholeMechanism(write(spec, parameters, values), partial(function, **values))


def describe_whole(name: str) -> tuple[str, str]:
    """How it is written, with its parameters, and the first words on what it is."""
    function = _function(name)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    first = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return form(Spec(name), parameters), " ".join(first.split())


def _function(name: str):  # type: ignore[no-untyped-def]  # a function of counts, by its name
    module, function = WHOLE[name]
    return getattr(importlib.import_module(f"fairlead.sharing.integral.{module}"), function)
