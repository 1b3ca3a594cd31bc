"""The registry finds policies and mechanisms by what a user writes, as in `kdf(k=3, gpu=2)`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from fairlead.model.errors import FairleadError, InputError, Mistake
from fairlead.model.own_files import OwnFiles
from fairlead.sharing.policy import Policy, Sees, View
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Mechanism
from fairlead.sharing.rules.spec import Spec, Value, arguments, form, read, write
from fairlead.sharing.rules.whole_names import is_whole, whole_names

if TYPE_CHECKING:
    from flint import fmpq

# Read only when somebody asks for them, so that one policy does not pay for all.
POLICIES = {
    "tsf": "tsf",
    "cdrf": "cdrf",
    "drfh": "drfh",
    "drf": "drf",
    "per-machine-drf": "per_machine_drf",
    "cmmf": "cmmf",
    "asset": "asset",
    "kdf": "kdf",
    "2df": "kdf",
}
MECHANISMS = {
    "independent": "independent",
    "market": "market",
    "most-tasks": "most_tasks",
    "ps-dsf": "ps_dsf",
    "slots": "slots",
}
BUILT_IN = {name: f"fairlead.sharing.policies.{file}" for name, file in POLICIES.items()} | {
    name: f"fairlead.sharing.mechanisms.{file}" for name, file in MECHANISMS.items()
}
GROUP = "fairlead.policies"
"""The entry-point group in which an installed package names its policies and mechanisms."""

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Entry:
    """A registered function. `view` is None for a mechanism; `poolable`: has `pooled=true`;
    `check` is called with the parameters' values alone."""

    name: str
    function: Callable[..., object]
    view: View | None
    poolable: bool = False
    sees: Sees = Sees.EACH
    check: Callable[..., None] | None = None


_everybodys: dict[str, Entry] = {}

_files = OwnFiles[Entry]("policy")


def policy(
    name: str,
    *,
    view: View = View.MACHINES,
    poolable: bool = False,
    sees: Sees = Sees.EACH,
    check: Callable[..., None] | None = None,
) -> Callable[[F], F]:
    """Registers a scale: a function of a problem, with the policy's parameters after it.

    The function returns, for each job, the tasks that make one unit of share. What it says of
    jobs that can run nowhere does not matter: their scale is 0. Its parameters may be int,
    float, bool and str; `**parameters` takes any name, as for a number per resource. With
    `poolable`, a user may write `pooled=true` to have one machine that holds everything. `sees`
    says what the scale depends on: less than each machine is less work while a cluster runs.
    `check`, with the parameters alone, raises InputError where there is no scale for any problem,
    so that a service does not begin with it.
    """

    def register(function: F) -> F:
        _register(Entry(name, function, view, poolable, sees, check))
        return function

    return register


def mechanism(name: str) -> Callable[[F], F]:
    """Registers a mechanism: a function of a problem and the tenants' weights, which gives the
    tasks (J, C), with the mechanism's parameters after them (as for `policy`)."""

    def register(function: F) -> F:
        _register(Entry(name, function, None))
        return function

    return register


def _register(entry: Entry) -> None:
    module = getattr(entry.function, "__module__", "")
    if _files.takes(entry.name, entry.function, entry):
        return
    if entry.name in BUILT_IN and module != BUILT_IN[entry.name]:
        raise InputError(f"`{entry.name}` is a built-in name", "choose another one")
    _everybodys[entry.name] = entry


def parse(text: str, names: Callable[[], Iterable[str]] | None = None) -> Policy | Mechanism:
    """The policy or mechanism that a user means: built in, registered by a decorator, in an
    installed package, or in a file of their own (`./mine.py:name(k=2)`). `names`: those that are
    told where there is none of that name; all, if nothing is said."""
    spec = read(text)
    write_so = f'; write @fairlead.policy("{spec.name}") above the function'
    entry = _files.find(spec.file, spec.name, write_so) if spec.file else _find(spec.name, names)
    parameters = _parameters(entry)
    values = arguments(spec, parameters)
    canonical = write(spec, parameters, values)
    if entry.check is not None:
        entry.check(**{key: value for key, value in values.items() if key != "pooled"})
    view = View.POOLED if values.pop("pooled", False) and entry.poolable else entry.view
    function = partial(entry.function, **values)
    built_in = entry.name in BUILT_IN and entry.function.__module__ == BUILT_IN[entry.name]
    if not built_in:
        function = partial(_users_own, canonical, function)
    if view is None:
        # An entry without a view was registered as a mechanism.
        return Mechanism(canonical, function)  # type: ignore[arg-type]
    exact = partial(_exact_scale, canonical, entry.function, values) if built_in else None
    return Policy(canonical, view, partial(_scale, canonical, function), exact, entry.sees)


def describe(name: str) -> tuple[str, str]:
    """The form of a registered name, with its parameters, and the first words on what it is."""
    entry = _find(name)
    first = (inspect.getdoc(entry.function) or "").partition("\n\n")[0]
    return form(Spec(name), _parameters(entry)), " ".join(first.split())


def policy_names() -> tuple[str, ...]:
    """The built-in policies and those registered so far, in the order of the reference."""
    own = (entry.name for entry in _everybodys.values() if entry.view is not None)
    return (*POLICIES, *sorted(set(own) - set(POLICIES)))


def mechanism_names() -> tuple[str, ...]:
    """The built-in mechanisms and those registered so far, in the order of the reference."""
    own = (entry.name for entry in _everybodys.values() if entry.view is None)
    return (*MECHANISMS, *sorted(set(own) - set(MECHANISMS)))


def _parameters(entry: Entry) -> list[inspect.Parameter]:
    """The parameters that a user may write in the brackets."""
    leave_out = 1 if entry.view is not None else 2  # problem; problem and weight
    parameters = list(inspect.signature(entry.function).parameters.values())[leave_out:]
    if not entry.poolable:
        return parameters
    pooled = inspect.Parameter(
        "pooled", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool
    )
    named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    return [*named, pooled, *parameters[len(named) :]]


def _users_own(spec: str, function: Callable[..., object], *given: object) -> object:
    """The value that a user's function gives. Where it fails, that is no failure of ours."""
    try:
        return function(*given)
    except FairleadError:
        raise
    except Exception as error:
        import traceback

        calls = traceback.extract_tb(error.__traceback__)[1:]  # the first is the one above
        # Where its file called what failed, not the depths of a library.
        own = [call for call in calls if call.filename == calls[0].filename]
        right = f"see {own[-1].filename}, line {own[-1].lineno}" if own else "check its parameters"
        raise InputError(f"`{spec}` failed: {type(error).__name__}: {error}", right) from error


def _exact_scale(
    spec: str, function: Callable[..., object], values: dict[str, Value], problem: Problem
) -> list[fmpq]:
    """The scale of a built-in policy, whose function takes numbers of any kind."""
    from flint import fmpq

    from fairlead.sharing.problem.rational import in_rationals

    scale = cast(Floats, function(in_rationals(problem), **values)).tolist()
    runs = np.asarray(problem.usable.any(axis=1))
    wrong = [j for j, able in enumerate(runs) if able and not scale[j] > 0]
    if wrong:
        raise InputError(_no_scale(spec, problem.job_names[j], float(scale[j])) for j in wrong)
    return [each if able else fmpq(0) for each, able in zip(scale, runs, strict=True)]


def _scale(spec: str, function: Callable[..., object], problem: Problem) -> Floats:
    given = function(problem)
    jobs = len(problem.job_names)
    try:
        scale = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"policy `{spec}` gives a scale that is not numbers: {error}",
            f"it must be one number for each job, ({jobs},)",
        ) from error
    if scale.shape != (jobs,):
        raise InputError(
            f"policy `{spec}` gives a scale of shape {scale.shape}",
            f"it must be one number for each job, ({jobs},)",
        )
    runs = problem.usable.any(axis=1)
    scale[~runs] = 0.0
    wrong = np.flatnonzero(runs & ~((scale > 0) & np.isfinite(scale)))
    if wrong.size:
        raise InputError(_no_scale(spec, problem.job_names[j], scale[j]) for j in wrong)
    return scale


def _no_scale(spec: str, job: str, scale: float) -> Mistake:
    return Mistake(
        f"policy `{spec}` gives it the scale {scale:g}",
        "a scale must be a positive finite number of tasks",
        about=("job", job),
    )


def scaled(policy: str | Policy, beside: Sequence[str] = ()) -> Policy:
    """The policy that is meant. Refuses what has no one scale for all machines. `beside`: what
    one may write, too."""
    if isinstance(policy, str):
        rule = parse(policy, lambda: (*filter(_has_one_scale, policy_names()), *beside))
    else:
        rule = policy
    if isinstance(rule, Mechanism) or rule.view is View.EACH_MACHINE:
        raise InputError(
            f"`{rule.spec}` has no one scale for all machines, so no run can be led by it",
            "choose a policy such as tsf or drf",
        )
    return rule


def _has_one_scale(name: str) -> bool:
    return _find(name).view not in (None, View.EACH_MACHINE)


def _find(name: str, names: Callable[[], Iterable[str]] | None = None) -> Entry:
    if name in BUILT_IN and name not in _everybodys:
        importlib.import_module(BUILT_IN[name])
    if name not in _everybodys:
        _load_installed(name)
    if name not in _everybodys:
        raise InputError(_unknown(name, names))
    return _everybodys[name]


def _load_installed(name: str) -> None:
    # Imported here because it takes longer than a small allocation.
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        try:
            point.load()
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the entry point `{name}` of {GROUP} ({point.value}) cannot be loaded:"
                f" {type(error).__name__}: {error}",
                "mend or remove the package that names it",
            ) from error
        if name not in _everybodys:
            raise InputError(
                f"the entry point `{name}` of {GROUP} ({point.value}) registers no `{name}`",
                f'it must name a function under @fairlead.policy("{name}")',
            )


def _unknown(name: str, names: Callable[[], Iterable[str]] | None) -> Mistake:
    from difflib import get_close_matches
    from importlib.metadata import entry_points

    if is_whole(name):
        return Mistake(
            f"`{name}` is a mechanism for whole tasks, which this cannot use",
            "share by it with `fairlead allocate`, or take a policy such as tsf",
        )
    installed = (point.name for point in entry_points(group=GROUP))
    there = sorted(names() if names else {*policy_names(), *mechanism_names(), *installed})
    close = get_close_matches(name.lower(), [*there, *(() if names else whole_names())], n=1)
    known = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(there)}"
    return Mistake(f"no policy `{name}`", known)
