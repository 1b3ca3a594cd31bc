"""Options of a remote function's tasks: Ray's words, and Fairlead's beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.plain import Plain, plain_job

Amount = int | float | str


@dataclass(frozen=True)
class Options:
    """Ray's: `num_cpus` (1), `num_gpus`, `memory` (bytes, or "2GiB"), `resources`, `name`.
    Fairlead's: `tenant`; the constraint `where`, `machines`, `exclude`, and `spread`; `prefer` with
    `prefer_for`; `gang`; `retries`, `rerunnable`; `time_limit`, `duration` (seconds, or "5m")."""

    num_cpus: Amount = 1
    num_gpus: Amount = 0
    memory: Amount | None = None
    resources: Mapping[str, Amount] = field(default_factory=dict)
    name: str | None = None
    tenant: str | None = None
    where: str = ""
    machines: Iterable[str] | None = None
    exclude: Iterable[str] = ()
    spread: bool = False
    prefer: str = ""
    prefer_for: Amount | None = None
    gang: int = 1
    retries: int | None = None
    rerunnable: bool = True
    time_limit: Amount | None = None
    duration: Amount | None = None


OF_RAY = {
    "max_retries": "write retries: Fairlead tries again, not Ray",
    "scheduling_strategy": "write where, machines or exclude: Fairlead chooses the machine",
    "label_selector": 'write where="label = value"',
    "accelerator_type": 'write where="accelerator-type = A100"',
    "num_returns": "return one value, which may be a tuple",
}
"""Options of Ray's that mean something else here."""


def options_of(base: Options, given: Mapping[str, Any]) -> Options:
    """The options with these changed. Raises InputError."""
    known = Options.__dataclass_fields__
    for name in given:
        if name not in known:
            right = OF_RAY.get(name, f"the options are {', '.join(known)}")
            raise InputError(f"a remote function has no option {name!r}", right)
    changed = Options(**{**{name: getattr(base, name) for name in known}, **given})
    job_tree(changed, "check", 1, "-")  # mistakes are told where they are written
    return changed


def job_tree(options: Options, name: str, tasks: int, call: str) -> Plain:
    """The job that is submitted. Raises InputError."""
    demand: dict[str, Amount] = {**options.resources}
    demand |= {"cpu": options.num_cpus, "gpu": options.num_gpus, "memory": options.memory or 0}
    kept = {each: amount for each, amount in demand.items() if amount not in (0, "0", None)}
    return plain_job(
        Job(
            name,
            kept,
            tenant=options.tenant,
            tasks=tasks,
            where=options.where,
            machines=options.machines,
            exclude=options.exclude,
            spread=options.spread,
            prefer=options.prefer,
            prefer_for=options.prefer_for,
            gang=options.gang,
            duration=options.duration,
            time_limit=options.time_limit,
            retries=options.retries,
            rerunnable=options.rerunnable,
            call=call,
        )
    )


def plain_word(text: str) -> str:
    """A function's name as a part of a job's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "", text.replace("<lambda>", "lambda"))[:80] or "call"
