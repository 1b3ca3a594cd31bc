"""Jobs: tasks that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairlead.model.constraint import Selector
from fairlead.model.quantity import Amount, quantities
from fairlead.model.values import FrozenMap


@dataclass(frozen=True)
class Job:
    """A demand per task, the machines that may run it, a number of tasks (None: unlimited).

    `where`, `machines` and `exclude` are its hard constraint; `prefer` is the soft kind, which
    shares ignore. `tenant` None: the job is its own tenant. `spread`: at most one task a machine.
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

    def __init__(
        self,
        name: str,
        demand: Mapping[str, Amount],
        *,
        tenant: str | None = None,
        tasks: int | None = None,
        where: str | Selector = "",
        machines: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        spread: bool = False,
        prefer: str | Selector = "",
        prefer_for: Amount | None = None,
    ) -> None:
        raise NotImplementedError  # replaced below by the author of the model
