"""The registry finds whole-task mechanisms by what a user writes, as in `gim-cdrf(seed=3)`."""

from __future__ import annotations

import importlib
import inspect
from functools import partial
from typing import TYPE_CHECKING

from fairlead.sharing.rules.spec import Spec, arguments, form, read, write
from fairlead.sharing.rules.whole_names import WHOLE, is_whole, whole_names

if TYPE_CHECKING:
    from fairlead.sharing.whole_tasks.outcome import WholeMechanism

__all__ = ["describe_whole", "is_whole", "parse_whole", "whole_names"]


def parse_whole(text: str) -> WholeMechanism:
    """The mechanism that a user means. Refuses parameters that it does not have."""
    from fairlead.sharing.whole_tasks.outcome import WholeMechanism

    spec = read(text)
    function = _function(spec.name)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    values = arguments(spec, parameters)
    return WholeMechanism(write(spec, parameters, values), partial(function, **values))


def describe_whole(name: str) -> tuple[str, str]:
    """The form in which it is written, with its parameters, and the first words on it."""
    function = _function(name)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    first = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return form(Spec(name), parameters), " ".join(first.split())


def _function(name: str):  # type: ignore[no-untyped-def]  # a function of counts, by its name
    module, function = WHOLE[name]
    return getattr(importlib.import_module(f"fairlead.sharing.whole_tasks.{module}"), function)
