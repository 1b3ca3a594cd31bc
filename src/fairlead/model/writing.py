"""From a cluster and jobs back to YAML that reads as the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from fairlead.model.constraint import Label
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.names import compress
from fairlead.model.quantity import write_amount, write_plain
from fairlead.model.tenant import Tenant
from fairlead.model.times import Times, write_duration
from fairlead.model.values import FrozenMap

# Words that YAML takes for something else than text are put in quotes, for other readers' sake.
_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./()-]+)*")
_WORDS = frozenset(
    "y n yes no on off true false null nan inf".split()  # noqa: SIM905  a table of words
)


def write(cluster: Cluster, jobs: Sequence[Job] = ()) -> str:
    """YAML that `read` turns into equal values. Machines that are alike are written as ranges."""
    lines = ["machines:", *_machines(cluster.machines)]
    if cluster.devices:
        lines.append(f"devices: {_flow(map(_text, sorted(cluster.devices)))}")
    if cluster.tenants:
        lines.append("tenants:")
        for tenant in cluster.tenants:
            lines += _entry(_tenant(tenant))
    if jobs:
        lines.append("jobs:")
        for job in jobs:
            lines += _entry(_job(job))
    return "\n".join(lines) + "\n"


def _machines(machines: Iterable[Machine]) -> Iterator[str]:
    groups: dict[tuple[FrozenMap[Fraction], FrozenMap[Label]], list[str]] = {}
    for machine in machines:
        groups.setdefault((machine.capacity, machine.labels), []).append(machine.name)
    for (capacity, labels), names in groups.items():
        # A name that runs over several ranges would be as long as a page.
        for name in compress(names):
            fields = [("name", _text(name)), ("capacity", _amounts(capacity))]
            if labels:
                fields.append(("labels", _mapping({k: _label(v) for k, v in labels.items()})))
            yield from _entry(fields)


def _tenant(tenant: Tenant) -> Iterator[tuple[str, str]]:
    yield "name", _text(tenant.name)
    if tenant.parent is not None:
        yield "parent", _text(tenant.parent)
    if tenant.weight is not None:
        yield "weight", write_plain(tenant.weight)
    if tenant.pool is not None:
        yield "pool", _names(tenant.pool)
    if tenant.limit:
        yield "limit", _amounts(tenant.limit)
    if tenant.user is not None:
        yield "user", _text(tenant.user)


def _job(job: Job) -> Iterator[tuple[str, str]]:
    yield "name", _text(job.name)
    if job.tenant is not None:
        yield "tenant", _text(job.tenant)
    yield "demand", _amounts(job.demand)
    if job.tasks is not None:
        yield "tasks", write_plain(job.tasks)
    if job.where:
        yield "where", _quoted(str(job.where))
    if job.machines is not None:
        yield "machines", _names(job.machines)
    if job.exclude:
        yield "exclude", _names(job.exclude)
    if job.spread:
        yield "spread", "true"
    if job.prefer:
        yield "prefer", _quoted(str(job.prefer))
    if job.prefer_for is not None:
        yield "prefer_for", write_duration(job.prefer_for)
    if job.gang > 1:
        yield "gang", str(job.gang)
    if job.duration is not None:
        yield "duration", _times(job.duration)
    if job.arrive is not None:
        yield "arrive", _times(job.arrive)
    if job.every is not None:
        yield "every", _times(job.every)
    if job.repeat is not None:
        yield "repeat", str(job.repeat)
    yield from _execution(job)


def _execution(job: Job) -> Iterator[tuple[str, str]]:
    """The fields of a job that engines need."""
    if job.command is not None:
        words = job.command
        yield "command", _quoted(words) if isinstance(words, str) else _flow(map(_quoted, words))
    if job.env:
        yield "env", _mapping({name: _quoted(value) for name, value in job.env.items()})
    if job.cwd is not None:
        yield "cwd", _quoted(job.cwd)
    if job.time_limit is not None:
        yield "time_limit", write_duration(job.time_limit)
    if job.retries is not None:
        yield "retries", str(job.retries)
    if not job.rerunnable:
        yield "rerunnable", "false"
    if job.call is not None:
        yield "call", _quoted(job.call)


def _entry(fields: Iterable[tuple[str, str]]) -> Iterator[str]:
    lead = "  - "
    for key, value in fields:
        yield f"{lead}{key}: {value}"
        lead = "    "


def _amounts(amounts: Mapping[str, Fraction]) -> str:
    return _mapping({key: write_amount(amount) for key, amount in amounts.items()})


def _times(times: Fraction | Times) -> str:
    if isinstance(times, Fraction):
        return write_duration(times)
    numbers = zip(times.shape.value, times.numbers, strict=True)
    return _mapping({key: write_duration(number) for key, number in numbers})


def _mapping(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_text(key)}: {value}" for key, value in values.items()) + "}"


def _names(names: Sequence[str]) -> str:
    return _flow(map(_text, compress(names)))


def _flow(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _label(label: Label) -> str:
    return str(label) if isinstance(label, Decimal) else _text(label)


def _text(text: str) -> str:
    return text if _BARE.fullmatch(text) and text.lower() not in _WORDS else _quoted(text)


def _quoted(text: str) -> str:
    # A JSON string is a YAML one, if characters beyond ASCII are written out as they are.
    return json.dumps(text, ensure_ascii=False)
