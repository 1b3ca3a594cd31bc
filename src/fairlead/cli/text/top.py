"""The view of `fairlead top`: one look at the service, and one picture of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairlead.cli.common.remote import ago, count, done, holding, time_of_day
from fairlead.cli.common.screen import widths_of
from fairlead.cli.text.machines import describe_use
from fairlead.cli.text.shares import everybody, tree
from fairlead.client.client import Client
from fairlead.client.errors import BusyError, NotAllowedError, RefusedError
from fairlead.model.words import counted, escaped, number
from fairlead.wire.fairness import Shares
from fairlead.wire.jobs import JobRow
from fairlead.wire.machines import MachineRow, MachineState

MOST_JOBS = 200
"""Jobs that are looked at: no terminal shows more."""

MOST_REASONS = 8
"""Waiting jobs whose reasons are shown."""

PACE = 1.0
"""Seconds between two questions for reasons, however often one looks: each computes for long, and a
tenant may ask two such things a second in all its terminals."""

REST = 10.0
"""Seconds without a question after the service said that there were too many."""

LONGEST = 16
"""Columns that a name gets in any case."""

LEAST = 8
"""Columns that the name of a tenant gets on the narrowest terminal."""

SHORTEST = 4
"""Columns below which no bar of a share is drawn."""

MOST_TENANTS = 20
"""Tenants that are shown."""

NARROW = 72
"""Columns below which bars and labels are left out."""


@dataclass(frozen=True)
class Look:
    """The service at one moment. `reasons` has a sentence for some of the jobs that wait, in the
    order in which they were asked for; `more`: there are jobs beyond these; `trouble`: why the
    service is not ready; `asked`: until when the questions for reasons have used their time."""

    shares: Shares
    machines: tuple[MachineRow, ...]
    jobs: tuple[JobRow, ...]
    more: bool
    reasons: dict[str, str]
    trouble: str = ""
    asked: float = 0.0


def look(
    service: Client,
    before: Look | None = None,
    *,
    each_job: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Look:
    """Looks at the service. Reasons are those of the look before, the oldest asked for anew, at a
    pace that the service allows. `each_job`: with the share of each job, which computes for long,
    too; otherwise of those that are their own tenants. Raises ServiceError."""
    machines = tuple(service.machines())
    jobs = tuple(islice(service.jobs(), MOST_JOBS + 1))
    more = len(jobs) > MOST_JOBS
    shares = service.shares(jobs=each_job and not more, own=not more)
    waiting = [job.name for job in jobs if job.tasks.waiting][:MOST_REASONS]
    known = {} if before is None else before.reasons
    reasons = {name: known[name] for name in known if name in waiting}
    unknown = [name for name in waiting if name not in reasons]
    now = clock()
    asked = now - MOST_REASONS * PACE if before is None else before.asked
    due = min(MOST_REASONS, int((now - asked) / PACE))
    asked = max(asked, now - MOST_REASONS * PACE)
    for name in [*unknown, *reasons][: max(0, due)]:
        asked += PACE
        try:
            why = service.why(name)
        except (NotAllowedError, RefusedError):  # another's, or it is over or its name is taken
            said = ""
        except BusyError:  # who asks beside this one has asked for much: what is known stands
            asked = now + REST
            break
        else:
            said = why.reasons[0].sentence if why.reasons else ""
        reasons.pop(name, None)
        reasons[name] = said
    ready = service.ready()
    trouble = "" if ready.ready else f"not ready: {ready.why or 'the service says no more'}"
    return Look(shares, machines, jobs[:MOST_JOBS], more, reasons, trouble, asked)


def picture(
    seen: Look | None,
    where: str,
    trouble: str,
    width: int,
    height: int | None,
    blocks: bool = True,
    keys: str = "q quits",
    foot: Sequence[str] = (),
) -> RenderableType:
    """The picture on so many columns and lines (None: as many as it takes)."""
    parts: list[RenderableType] = [_title(seen, where, width, keys)]
    trouble = trouble or ("" if seen is None else escaped(seen.trouble))
    if trouble:
        parts.append(Text(trouble, style="bold red"))
    if seen is None:
        return Group(*parts)
    behind = seen.shares.behind
    room = None if height is None else height - 2 - (2 if trouble else 0) - (1 if behind else 0)
    spare = (
        None if room is None else max(6, room - min(MOST_TENANTS, len(everybody(seen.shares))) - 2)
    )
    machines = seen.machines if spare is None else seen.machines[: max(2, spare // 2 - 3)]
    parts += [Text(), _shares(seen.shares, width, blocks)]
    if behind:
        parts.append(_more(escaped(behind)))
    parts += [Text(), _machines(machines, width, blocks)]
    if len(machines) < len(seen.machines):
        parts.append(_more(f"... and {len(seen.machines) - len(machines)} more"))
        spare = None if spare is None else spare - 1
    if seen.jobs:
        left = None if spare is None else max(2, spare - len(machines) - 4)
        ordered = sorted(seen.jobs, key=lambda job: (not job.tasks.waiting, job.submitted))
        jobs = ordered if left is None else ordered[:left]
        parts += [Text(), _jobs(jobs, seen.reasons, width, seen.shares.time / 1e6)]
        if len(jobs) < len(seen.jobs) or seen.more:
            over = "more" if seen.more else f"{len(seen.jobs) - len(jobs)} more"
            parts.append(_more(f"... and {over} (`fairlead jobs` lists all)"))
    else:
        parts += [Text(), Text("no job waits or runs", style="dim")]
    parts += [Text(line, no_wrap=True, overflow="ellipsis") for line in foot]
    return Group(*parts)


def _more(text: str) -> Text:
    return Text(text, style="dim", no_wrap=True, overflow="ellipsis")


def _title(seen: Look | None, where: str, width: int, keys: str) -> Text:
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append("fairlead ", style="bold")
    title.append(where)
    if seen is not None:
        up = sum(machine.state is MachineState.UP for machine in seen.machines)
        running = sum(machine.tasks for machine in seen.machines)
        names = {tenant.name for tenant in seen.shares.tenants}
        top = [each for each in everybody(seen.shares) if each.parent not in names]
        waiting = sum(each.waiting for each in top)
        title.append(f"  {up} of {counted(len(seen.machines), 'machine')} up")
        title.append(f"  tasks: {running} running, {waiting} waiting")
        if width >= NARROW:  # and where there is room beside how it ends
            now = time_of_day(time.time_ns() // 1000)
            for part in (f"  policy {seen.shares.policy}", f"  {now}"):
                if title.cell_len + cell_len(part) + cell_len(keys) + 2 <= width:
                    title.append(part, style="dim")
    if keys:
        title.append(f"  {keys}", style="dim")
    return title


def _table(columns: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=False)
    for name, side in columns:
        table.add_column(
            name,
            justify="right" if side == ">" else "left",
            no_wrap=True,
            overflow="ellipsis",
        )
    return table


def _shares(shares: Shares, width: int, blocks: bool) -> Table:
    columns = [("tenant", "<"), ("running", ">"), ("waiting", ">"), ("share", ">"), ("fair", ">")]
    wide, room = width >= NARROW, max(LONGEST, width // 3)
    columns += [("short of", ">")] if wide else []
    tenants = everybody(shares)
    most = max([1e-9, *(max(each.share or 0.0, each.fair or 0.0) for each in tenants)])
    shown = list(tree(tenants))[:MOST_TENANTS]
    rows = []
    for tenant, depth in shown:
        row = [
            "  " * depth + escaped(tenant.name),
            count(tenant.running),
            count(tenant.waiting),
            number(tenant.share, 3),
            number(tenant.fair, 3),
            number(tenant.shortfall, 3) if tenant.shortfall else "-",
        ]
        rows.append(row[: len(columns)])
    header = [name for name, _ in columns]
    numbers = sum(widths_of([header, *rows])[1:]) + 2 * len(header)
    for row in rows:
        row[0] = _cut(row[0], max(LEAST, min(room, width - numbers)))
    widths = widths_of([header, *rows])
    bar = min(40, width - sum(widths) - 2 * len(widths) - 2) if wide else 0
    table = _table([*columns, *([("", "<")] if bar >= SHORTEST else [])])
    for column, size in zip(table.columns, widths, strict=False):
        column.min_width = size
    for (tenant, _), row in zip(shown, rows, strict=True):
        drawn = [_bar(tenant.share or 0.0, tenant.fair, most, bar, blocks)]
        table.add_row(*row, *(drawn if bar >= SHORTEST else []))
    return table


def _bar(value: float, mark: float | None, most: float, width: int, blocks: bool) -> Text:
    """The value as a bar, with a mark at its fair length."""
    filled = round(width * min(1.0, value / most))
    at = None if mark is None else min(width - 1, round(width * min(1.0, mark / most)))
    text = Text()
    for index in range(width):
        if index == at:
            text.append("┃" if blocks else "|", style="bold yellow")
        elif index < filled:
            text.append("█" if blocks else "=", style="cyan")
        else:
            text.append("·" if blocks else ".", style="dim")
    return text


def _machines(machines: Sequence[MachineRow], width: int, blocks: bool) -> Table:
    resources = list(dict.fromkeys(name for each in machines for name in each.capacity))
    most = 2 if width < NARROW else 4
    columns = [("machine", "<"), ("state", "<"), ("tasks", ">")]
    columns += [(escaped(name), ">") for name in resources[:most]]
    wide = width >= NARROW
    table = _table([*columns, *([("", "<")] if wide else [])])
    for machine in machines:
        state = machine.state.value
        row: list[str | Text] = [
            _cut(escaped(machine.name), max(LONGEST, width // 4)),
            Text(state, style="" if machine.state is MachineState.UP else "yellow"),
            count(machine.tasks),
            *(describe_use(machine, resource) for resource in resources[:most]),
        ]
        if wide:
            row.append(_bar(_fullness(machine), None, 1.0, 12, blocks))
        table.add_row(*row)
    return table


def _fullness(machine: MachineRow) -> float:
    """The used part of the resource of which the machine has the least left."""
    parts = [
        1 - float(machine.free.get(name, has)) / float(has)
        for name, has in machine.capacity.items()
        if float(has) > 0
    ]
    return min(1.0, max([0.0, *parts]))


def _jobs(jobs: Sequence[JobRow], reasons: dict[str, str], width: int, now: float) -> Table:
    """The column of reasons gets what the others leave. `now`: of the service's clock."""
    wide, room = width >= NARROW, max(LONGEST, width // 3)
    header = ["job", *(["tenant"] if width >= 60 else []), "done", "run", "wait"]
    rows = []
    for job in jobs:
        row = [_cut(escaped(job.name), room)]
        if width >= 60:
            row.append(_cut(escaped(job.tenant), room))
        row += [done(job.tasks), count(holding(job.tasks)), count(job.tasks.waiting)]
        rows.append([*row, ago(job.submitted, now)] if wide else row)
    header += ["age"] if wide else []
    widths = widths_of([header, *rows])
    columns = [(name, "<" if name in ("job", "tenant") else ">") for name in header]
    table = _table([*columns, ("why it waits" if wide else "why", "<")])
    for column, size in zip(table.columns, widths, strict=False):
        column.min_width = size
    left = width - sum(widths) - 2 * len(widths)
    for job, row in zip(jobs, rows, strict=True):
        table.add_row(*row, _cut(escaped(reasons.get(job.name, "")), max(8, left)))
    return table


def _cut(text: str, room: int) -> str:
    """The text on so many columns at most, of which some letters take two."""
    if cell_len(text) <= room:
        return text
    while cell_len(text) > room - 1:
        text = text[:-1]
    return text + "…"
