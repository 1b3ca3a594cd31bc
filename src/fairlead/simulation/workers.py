"""Who does the runs of a study: this process, one process a core, or a Ray cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fairlead.model.errors import InputError, Mistake
from fairlead.simulation.result import Result
from fairlead.simulation.study import Part, Study, done, parts_of, run_part

Told = Callable[[Part, Sequence[Result]], object]
"""Hears of the runs of a part as soon as they are done."""


def run_study(
    study: Study, workers: int, told: Told | None = None, *, ray: bool = False, show: bool = False
) -> list[Result]:
    """All runs of the study, seed by seed, in the order of its policies; those that were done
    before are not done again. Results do not depend on who does them, but for `seconds`."""
    found = {
        (policy, seed): result
        for seed in study.seeds
        for policy in study.policies
        if (result := done(study, policy, seed)) is not None
    }

    def hear(part: Part, results: Sequence[Result]) -> None:
        found.update(
            ((policy, part.seed), result)
            for policy, result in zip(part.policies, results, strict=True)
        )
        if told is not None:
            told(part, results)

    parts = parts_of(study, workers)
    if ray:
        _on_ray(parts, hear)
    elif workers > 1 and len(parts) > 1:
        _in_processes(parts, min(workers, len(parts)), hear)
    else:
        for part in parts:
            hear(part, run_part(part, show=show))
    return [found[policy, seed] for seed in study.seeds for policy in study.policies]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(parts: Sequence[Part], workers: int, hear: Told) -> None:
    # Spawned, not forked: a forked child inherits the locks of threads that it has not.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore) as pool:
        waiting = {pool.submit(_run_interruptibly, part): part for part in parts}
        try:
            for future in as_completed(waiting):
                hear(waiting[future], future.result())
        except BaseException:
            for future in waiting:
                future.cancel()
            for child in multiprocessing.active_children():
                if child.pid is not None:
                    os.kill(child.pid, signal.SIGINT)
            raise


def _ignore() -> None:
    """A worker that waits for work leaves Ctrl-C to whoever gave it work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_interruptibly(part: Part) -> list[Result]:
    with _interruptible():
        return run_part(part)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Within, SIGINT interrupts as it does anywhere in Python."""
    before: Callable[[int, FrameType | None], Any] | int | None = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_ray(parts: Sequence[Part], hear: Told) -> None:
    try:
        import ray
    except ImportError as error:
        raise InputError(
            Mistake("Ray is not installed", "install fairlead[ray], or leave out --on ray")
        ) from error
    begun = not ray.is_initialized()
    if begun:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    try:
        # A task that failed is not tried again: the same run would fail the same way.
        remote = ray.remote(max_retries=0)(run_part)
        waiting = {remote.remote(part): part for part in parts}
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            try:
                results = ray.get(ready[0])
            except ray.exceptions.RayTaskError as error:
                raise _cause(error) from error
            hear(waiting.pop(ready[0]), results)
    finally:
        if begun:
            ray.shutdown()


def _cause(error: Any) -> BaseException:
    """What went wrong in the task: a user's mistake must be shown as one."""
    cause: BaseException = error.cause
    return cause
