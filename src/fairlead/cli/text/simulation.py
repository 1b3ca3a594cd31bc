"""What `fairlead simulate` prints: the assumptions, and the figures of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.model.words import counted, escaped

if TYPE_CHECKING:
    from fairlead.simulation.measure.result import Result
    from fairlead.simulation.studies.study import Study

HEADER = ("policy", "seed", "tasks", "placed", "finished", "until", "rmse %", "shortfall %", "s")
STOPPED = "stopped"
"""One column more where tasks are stopped for those below their guarantees."""


def lines(
    study: Study,
    results: Sequence[Result],
    notes: Sequence[str],
    screen: Screen,
    never: tuple[int, int] | None = None,
) -> Iterator[str]:
    """The assumptions, and a row for each run, or for each policy where there are many. `never`:
    the jobs, and their tasks, that the machines cannot hold."""
    for note in notes:
        yield from wrap(escaped(note), screen)
    yield ""
    several = len(study.seeds) > 1
    header: tuple[str, ...] = ("policy", "runs", *HEADER[2:]) if several else HEADER
    groups = [[result] for result in results]
    if several:
        groups = [[r for r in results if r.policy == policy] for policy in study.policies]
    rows = [row(group, len(group) if several else group[0].seed) for group in groups]
    if study.options.preempt_after is not None:
        header = (*header, STOPPED)
        stopped = [f"{sum(result.stopped for result in group):,}" for group in groups]
        rows = [(*each, count) for each, count in zip(rows, stopped, strict=True)]
    yield from table(header, rows, "<" + ">" * (len(header) - 1), screen)
    if never is not None and never[0]:
        jobs, tasks = counted(never[0], "job"), counted(never[1], "task")
        yield ""
        yield from wrap(f"{jobs} with {tasks} can never run: more than empty machines hold", screen)
    if study.out is not None:
        yield ""
        chosen = sorted({result.sampled for result in results if result.sampled})
        often = " to ".join(moment(each) for each in dict.fromkeys([*chosen[:1], *chosen[-1:]]))
        every = f", with shares and utilisation every {often}" if chosen else ""
        yield f"kept in {escaped(str(study.out))}{every}"


def row(results: Sequence[Result], number: int) -> tuple[str, ...]:
    """The figures of one run or of several of a policy: sums and means, and the largest
    shortfall. `number` is the seed, or how many there are."""
    rmse = [result.rmse_percent for result in results if result.rmse_percent is not None]
    short = [r.largest_shortfall for r in results if r.largest_shortfall is not None]
    return (
        results[0].policy,
        str(number),
        f"{sum(result.tasks for result in results):,}",
        f"{sum(result.placed for result in results):,}",
        f"{sum(result.finished for result in results):,}",
        moment(max(result.end for result in results)),
        figure(sum(rmse) / len(rmse) if rmse else None),
        figure(max(short, default=None)),
        f"{sum(result.seconds for result in results):.2f}",
    )


def moment(time: int) -> str:
    """Microseconds as people read them: `1d 02:03:04`."""
    seconds = time // 1_000_000
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}d {clock}" if days else clock


def figure(value: float | None) -> str:
    """The number with three decimals; a dash where it was not measured."""
    return "–" if value is None else f"{value:.3f}"
