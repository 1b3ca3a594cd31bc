"""The registry finds generators of workloads by a user's words, as in `tsf-study(jobs=4500)`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import cast

from fairlead.model.errors import InputError, Mistake
from fairlead.sharing.rules.spec import Spec, arguments, form, read, write
from fairlead.simulation.workload import Workload

# Read only when somebody asks for one: a generator's numbers cost nothing to the others.
GENERATORS = {
    "google-hour": "after_google:google_hour",
    "tsf-study": "after_google:tsf_study",
    "choosy-study": "choosy_study:generate",
    "overload": "after_google:overload",
    "month": "after_google:month",
    "table-ii": "table_ii:generate",
    "kdf-6.3": "kdf_6_3:generate",
    "random": "random_small:generate",
}

Generator = Callable[..., Workload]
"""A function with keyword parameters of the types int, float, bool and str; `seed` is one."""


def names() -> tuple[str, ...]:
    """The names of all generators, in the order in which the docs have them."""
    return tuple(GENERATORS)


def is_generator(text: str) -> bool:
    """Does the text begin with the name of a generator (and is not, say, a file)?"""
    name = text.partition("(")[0].partition(":")[0].strip()
    return name in GENERATORS


def about(name: str) -> str:
    """The generator's form, with its defaults, and the first line of what it says of
    itself."""
    function = _function(name)
    first = (inspect.getdoc(function) or "").partition("\n")[0]
    return f"{form(Spec(name), _parameters(function))}: {first}"


def generate(spec: str, seed: int) -> Workload:
    """The workload that is written, its name in one canonical form. The same text and seed give
    the same bytes. A seed in the text (`tsf-study(seed=7)`) comes before the other one."""
    written = _read(spec)
    if written.file or written.name not in GENERATORS:
        raise InputError(_unknown(written.called))
    function = _function(written.name)
    parameters = _parameters(function)
    values = {"seed": seed} | arguments(written, parameters)
    return function(name=write(Spec(written.name), parameters, dict(values)), **values)


def _read(spec: str) -> Spec:
    try:
        return read(spec)
    except InputError as error:
        raise InputError(
            f"`{spec}` is not how a generator is written",
            "write a name such as tsf-study, or a name with parameters such as "
            "tsf-study(machines=1000, jobs=4500)",
        ) from error


def _function(name: str) -> Generator:
    module, _, function = GENERATORS[name].partition(":")
    found = importlib.import_module(f"fairlead.simulation.workloads.{module}")
    return cast(Generator, getattr(found, function))


def _parameters(function: Generator) -> list[inspect.Parameter]:
    """The parameters of a user: all but the name, which the registry gives."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter for parameter in parameters if parameter.name != "name"]


def _unknown(name: str) -> Mistake:
    close = get_close_matches(name, GENERATORS, n=1)
    right = f"did you mean {close[0]}?" if close else f"there are {', '.join(GENERATORS)}"
    return Mistake(f"there is no generator `{name}`", right)
