"""Jobs: tasks that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from fractions import Fraction

from fairlead.model.command import Command, call_of, command_of, environment, folder, retries_of
from fairlead.model.constraint import Selector
from fairlead.model.errors import InputError, Mistakes
from fairlead.model.names import expand_all
from fairlead.model.quantity import Amount, exact, quantities, write_amount
from fairlead.model.selector_syntax import parse_selector
from fairlead.model.tenant import some
from fairlead.model.times import Times, Written, read_duration, read_moment, read_times
from fairlead.model.values import FrozenMap, plain_name


@dataclass(frozen=True, slots=True)
class Job:
    """A demand per task, the machines that may run it, a number of tasks (None: unlimited).

    `where`, `machines` and `exclude` are its hard constraint; `prefer` is the soft kind, which
    shares ignore. `tenant` None: the job is its own tenant. `spread`: at most one task a machine.
    `gang`: so many tasks start together or none. `duration`: how long a task is expected to take,
    or how such times are spread.
    Machines may be given in ranges; they are kept as plain names in their order.

    `arrive`, `every` and `repeat` are for simulations alone: when the job comes first, and after
    which times it comes again, so often in all.

    The rest is for engines, which run tasks; shares do not depend on it. `command` is what a task
    runs (or `call`, what a library hands to the engine), with `env` and in the folder `cwd`, for
    no longer than `time_limit`. `retries`: how often a task that failed or was lost is tried again
    (None: one that was lost, as the service chooses). `rerunnable` False: a task that may have
    started is never started again.
    """

    name: str
    demand: FrozenMap[Fraction]
    tenant: str | None = None
    tasks: Fraction | None = None
    where: Selector = Selector()
    machines: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    spread: bool = False
    prefer: Selector = Selector()
    prefer_for: Fraction | None = None  # seconds
    gang: int = 1
    duration: Fraction | Times | None = None  # seconds
    arrive: Fraction | None = None  # seconds
    every: Fraction | Times | None = None  # seconds
    repeat: int | None = None
    command: Command | None = None
    env: FrozenMap[str] = FrozenMap()
    cwd: str | None = None
    time_limit: Fraction | None = None  # seconds
    retries: int | None = None
    rerunnable: bool = True
    call: str | None = None

    def __init__(
        self,
        name: str,
        demand: Mapping[str, Amount],
        *,
        tenant: str | None = None,
        tasks: Amount | None = None,
        where: str | Selector = "",
        machines: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        spread: bool = False,
        prefer: str | Selector = "",
        prefer_for: Amount | None = None,
        gang: Amount = 1,
        duration: Written | None = None,
        arrive: Amount | None = None,
        every: Written | None = None,
        repeat: Amount | None = None,
        command: str | Iterable[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        time_limit: Amount | None = None,
        retries: Amount | None = None,
        rerunnable: bool = True,
        call: str | None = None,
    ) -> None:
        mistakes = Mistakes()
        about = ("job", name)
        mistakes.attempt(about, plain_name, name)
        values = {
            "name": name,
            "demand": mistakes.attempt((*about, "demand"), _demand, demand),
            "tenant": mistakes.attempt_optional((*about, "tenant"), plain_name, tenant),
            "tasks": mistakes.attempt_optional((*about, "tasks"), _tasks, tasks),
            "where": mistakes.attempt((*about, "where"), _selector, where),
            "machines": mistakes.attempt_optional((*about, "machines"), some, machines),
            "exclude": mistakes.attempt((*about, "exclude"), expand_all, exclude)
            if exclude
            else (),
            "spread": mistakes.attempt((*about, "spread"), _boolean, spread),
            "prefer": mistakes.attempt((*about, "prefer"), _selector, prefer),
            "prefer_for": mistakes.attempt_optional(
                (*about, "prefer_for"), read_duration, prefer_for
            ),
            "gang": 1 if gang == 1 else mistakes.attempt((*about, "gang"), _gang, gang),
            "duration": mistakes.attempt_optional((*about, "duration"), read_times, duration),
            "arrive": mistakes.attempt_optional((*about, "arrive"), read_moment, arrive),
            "every": mistakes.attempt_optional((*about, "every"), read_times, every),
            "repeat": mistakes.attempt_optional((*about, "repeat"), _repeat, repeat),
            "command": mistakes.attempt_optional((*about, "command"), command_of, command),
            "env": mistakes.attempt((*about, "env"), environment, env) if env else FrozenMap(),
            "cwd": mistakes.attempt_optional((*about, "cwd"), folder, cwd),
            "time_limit": mistakes.attempt_optional(
                (*about, "time_limit"), read_duration, time_limit
            ),
            "retries": mistakes.attempt_optional((*about, "retries"), retries_of, retries),
            "rerunnable": mistakes.attempt((*about, "rerunnable"), _boolean, rerunnable),
            "call": mistakes.attempt_optional((*about, "call"), call_of, call),
        }
        most, together = values["tasks"], values["gang"]
        if isinstance(most, Fraction) and isinstance(together, int) and together > most:
            mistakes.add(
                (*about, "gang"),
                f"a gang of {together} is more than all {most} tasks",
                f"write at most {most}",
            )
        if repeat is not None and every is None:
            mistakes.add(
                (*about, "repeat"), "nothing says how often it comes", "write for example every: 5m"
            )
        if command is not None and call is not None:
            mistakes.add((*about, "call"), "it has a command too", "leave one of the two out")
        if prefer and prefer_for is None:
            mistakes.add(
                (*about, "prefer"),
                "nothing says how long to wait for what is preferred",
                "write for example prefer_for: 30s",
            )
        if prefer_for is not None and not prefer:
            mistakes.add(
                (*about, "prefer_for"),
                "nothing says what to wait for",
                'write for example prefer: "zone = east"',
            )
        mistakes.report()
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def of(self, tenant: str | None, name: str) -> Job:
        """The same job, but of this tenant and called so: both are names already, and all else was
        looked at when it was made."""
        other = copy(self)
        object.__setattr__(other, "tenant", tenant)
        object.__setattr__(other, "name", name)
        return other


def _demand(demand: Mapping[str, Amount]) -> FrozenMap[Fraction]:
    amounts = quantities(demand)
    if not any(amounts.values()):
        raise InputError(
            "a task that needs nothing at all has no share",
            "write what one task needs, as in {cpu: 1}",
        )
    return amounts


def _tasks(tasks: Amount) -> Fraction:
    right = "write a positive whole number, or leave it out for no limit"
    if isinstance(tasks, str) and not any(char.isdigit() for char in tasks):
        raise InputError(f'"{tasks[:60]}" is not a number of tasks', right)
    number = exact(tasks)
    if number.denominator != 1 or number <= 0:
        raise InputError(f"{write_amount(number)} is not a number of tasks", right)
    return number


def _selector(selector: str | Selector) -> Selector:
    if isinstance(selector, Selector):
        return selector
    if isinstance(selector, str):
        return parse_selector(selector)
    raise InputError(f"{selector!r} is not a constraint", 'write text such as "zone = east"')


def _gang(gang: Amount) -> int:
    number = exact(gang)
    if number.denominator != 1 or number <= 0:
        raise InputError(
            f"{write_amount(number)} is not a number of tasks that start together",
            "write a positive whole number, or leave it out",
        )
    return int(number)


def _repeat(times: Amount) -> int:
    number = exact(times)
    if number.denominator != 1 or number <= 0:
        raise InputError(
            f"{write_amount(number)} is not how often a job comes", "write a positive whole number"
        )
    return int(number)


def _boolean(value: bool) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError(f"{value!r} is neither true nor false", "write true or false")
